// OpMaker: operations without types, behind each other; inference gives them theirs.
//
//   OpMaker make(ir, ops);
//   const ValueId y = make.make(ops::addOp, {x, make.integer(1)});
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

// An operation at the end of `ops`. Its result has this type and is `into`, or a new value; without a type
// there is no result.
ValueId appendOp(IrContext& ir, std::vector<const Op*>& ops, const SourceLocation& place, const OpDef& def,
                 std::vector<ValueId> operands, Attributes attributes, Type type, ValueId into = kNoValue);

// The permutation that undoes another.
std::vector<int64_t> inverse(const std::vector<int64_t>& order);

class OpMaker {
 public:
  OpMaker(IrContext& ir, std::vector<const Op*>& ops) : ir_(ir), ops_(ops) {}

  void standAt(SourceLocation place) { place_ = std::move(place); }
  const SourceLocation& place() const { return place_; }
  ValueId make(const OpDef& def, std::vector<ValueId> operands, Attributes attributes = {},
               ValueId into = kNoValue);
  // One as it is.
  void add(Op op) { ops_.push_back(ir_.own(std::move(op))); }
  // One without results.
  void check(const OpDef& def, std::vector<ValueId> operands, Attributes attributes);
  ValueId number(HostTensor value);
  ValueId integer(int64_t value);
  ValueId integers(const std::vector<int64_t>& values);
  ValueId size(Dim d);
  ValueId sizes(Shape dims);
  ValueId reshape(ValueId v, Shape to, ValueId into = kNoValue);
  ValueId cast(ValueId v, Dtype to);
  ValueId transposed(ValueId v, const std::vector<int64_t>& order);
  ValueId gather(ValueId v, ValueId at, int64_t axis);

 private:
  IrContext& ir_;
  std::vector<const Op*>& ops_;
  SourceLocation place_;
};

}  // namespace dyn::passes
