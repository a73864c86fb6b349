// What the rules of control-flow operators ask of the inference driver beyond InferContext.
//
// Such a rule may be run several times for one operation: when it asks for the types of a region that is not
// inferred yet, the driver does that first (on its own stack, not the C++ one) and starts the rule again; all
// earlier answers, `?` symbols too, are the same.
#pragma once

#include "compiler/ir/op_def.h"

namespace dyn {

class ControlInferContext : public InferContext {
 public:
  // `annotation` when it is a symbol that nothing defines yet (so a `?` keeps its number from run to run),
  // else a fresh `?`.
  virtual Dim freshOr(Dim annotation, std::string_view reason) = 0;
  // Every symbol of the dim has a value here: it belongs to a parameter or an earlier operation of this or an
  // enclosing body.
  virtual bool inScope(Dim dim) const = 0;
  // Result types of a call with these arguments (the first parameters, when fewer than the callee has:
  // captures of a closure; then `restParameters` gets the types of the others). Demands at the boundary
  // become checks.
  virtual Result<std::vector<Type>> instantiateCall(std::string_view callee, std::span<const Type> arguments,
                                                    std::vector<Type>* restParameters) = 0;
  // The same for a function value of that type.
  virtual Result<std::vector<Type>> instantiateValue(Type function, std::span<const Type> arguments) = 0;
  // Whether result k of an inferred region is known to be this constant.
  virtual bool regionResultIs(int region, int k, int64_t constant) const = 0;
  // The value type `actual` must fit `expected`; dims of `expected` that nothing defines accept anything.
  virtual Status requireType(Type expected, Type actual, std::string_view what) = 0;
  // Result k of the region must have type expected[k] (null: anything); what cannot be proved is checked at
  // the end of the body.
  virtual void expectResults(int region, std::vector<Type> expected) = 0;
  // An axis of a carried value whose size differs between iterations of a loop.
  struct WidenedAxis {
    size_t carried = 0, axis = 0;
  };
  // Those that an earlier inference of the loop at hand found, as a part of a loop around it that is inferred
  // again; and what this one found.
  virtual std::vector<WidenedAxis> widenedBefore() = 0;
  virtual void rememberWidened(std::vector<WidenedAxis> axes) = 0;
  // Nothing is left to do at run time: the operation at hand is left out of the program.
  virtual void leaveOut() = 0;
  // Values learnt from a check or binding operation.
  virtual void learnContents(int operand, int64_t index, Dim value) = 0;
  virtual Status learnRelation(std::string_view relation, Dim a, Dim b, std::string_view what) = 0;
};

// The context of an operation that is inferred as part of a module.
inline ControlInferContext& control(InferContext& c) { return static_cast<ControlInferContext&>(c); }

// How many operands at the end of an if, loop, match or fused group are captures: they are also the last
// parameters of each of its regions.
int captureCount(const Op& op);

}  // namespace dyn
