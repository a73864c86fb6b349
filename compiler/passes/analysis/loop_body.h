// The body of a loop, seen from the function around it: what makes a value of the body, and what a value
// that the body captures is outside.
#pragma once

#include <optional>
#include <unordered_map>

#include "compiler/infer/infer.h"

namespace dyn::passes {

using Makers = std::unordered_map<ValueId, const Op*>;

class LoopBody {
 public:
  // `outer`: what makes the values around the loop. What it is given outlives it.
  LoopBody(const InferredModule& inferred, const Makers& outer, const Op& loop);

  const Op& loop() const { return loop_; }
  const Function& function() const { return *loop_.regions[0]; }
  size_t carried() const { return static_cast<size_t>(loop_.attributes.integer("carried")); }
  ValueId stepNumber() const { return function().parameters[0].id; }
  ValueId stateOf(size_t k) const { return function().parameters[1 + k].id; }
  // Of values of the body.
  Type typeOf(ValueId v) const { return types_.at(v); }
  const Op* maker(ValueId v) const;  // null: a parameter
  const Op* maker(ValueId v, const OpDef& def) const;
  // What a captured value is around the loop; kNoValue: it is not one.
  ValueId outerOf(ValueId v) const;
  // The constant that makes it, in the body or around it; null: none does.
  const HostTensor* constantOf(ValueId v) const;
  // Of a value around the loop that is a size.
  std::optional<Dim> knownSize(ValueId outer) const;
  // No step may end it before all are made.
  bool goesOn() const;

 private:
  const InferredModule& inferred_;
  const Makers& outer_;
  const Op& loop_;
  Makers makers_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, ValueId> captured_;
};

}  // namespace dyn::passes
