// The operations of one function, over all instances: made one behind the other from those of one instance.
//
// An operation whose operands are shared stays as it is. One that has a rule (vectorize_rules.h) is made once
// for all instances. Any other runs for each instance by itself: such operations are put off and stand
// together in one loop over the instances (instance_loop.h) as long as nothing else needs their results.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/passes/many/many_module.h"
#include "compiler/passes/rewrite/op_maker.h"

namespace dyn::passes {

class ManyBody {
 public:
  // `lead`: the size of the leading axis where it has a name, else null.
  ManyBody(ManyModule& module, Dim lead) : module_(module), maker_(module.ir(), ops_), lead_(lead) {}

  ManyModule& module() { return module_; }
  IrContext& ir() { return module_.ir(); }
  OpMaker& make() { return maker_; }
  // The number of instances, an i64 of one element: given before the first operation.
  void setCount(ValueId count) { count_ = count; }
  ValueId count() const { return count_; }
  ValueId countVector();  // the same as i64[1]

  // Makes what the function's operations are over all instances. Its parameters are held already.
  void translate(const Function& function);
  // The operations made; those put off are among them.
  std::vector<const Op*> takeOps();

  void hold(ValueId old, Held held) { held_[old] = held; }
  // Values by their ids in the function of one instance.
  Layout layoutOf(ValueId old) const;
  bool isShared(ValueId old) const { return layoutOf(old) == Layout::shared; }
  // All operands but the first: sizes, places, scales that all instances have in common.
  bool othersAreShared(const Op& op) const;
  ValueId valueOf(ValueId old);              // in the layout that it has
  ValueId batchedOf(ValueId old);            // precondition: not listed. (r, ...); a shared one is repeated
  ValueId batchedOf(ValueId old, int rank);  // (r, 1, ..., ...): of so many axes behind the first
  ValueId spread(ValueId value, int rank);   // a shared value of that rank, repeated: (r, ...)

  // The operation that makes result `k` of `op`, batched; and the one that makes all of its results.
  void give(const Op& op, size_t k, const OpDef& def, std::vector<ValueId> operands, Attributes attributes);
  void giveAll(const Op& op, const OpDef& def, std::vector<ValueId> operands, Attributes attributes);
  void give(const Op& op, size_t k, ValueId value);        // a value made before
  void giveShared(const Op& op, size_t k, ValueId value);  // the same for all instances
  void giveListed(ValueId old, ValueId value) { held_[old] = {Layout::listed, value}; }
  ValueId emptyList(Type element);
  // (r, dims...) of a value of these dims; null for no tensor.
  Type batchedType(Type type);

  // Runs for each instance by itself, in the loop that is put off.
  void putOff(const Op& op, const std::string& why);

 private:
  void translate(const Op& op);
  bool byRule(const Op& op);
  void asItIs(const Op& op);
  void runPutOff();

  ManyModule& module_;
  std::vector<const Op*> ops_;
  OpMaker maker_;
  Dim lead_;
  ValueId count_ = kNoValue, countVector_ = kNoValue;
  std::unordered_map<ValueId, Held> held_;
  std::vector<const Op*> putOff_;
  std::unordered_set<ValueId> madeByPutOff_;
};

}  // namespace dyn::passes
