// The loop over slices of rows that stands for a region of a function (row_regions.h).
#pragma once

#include <map>
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/passes/tiling/row_regions.h"

namespace dyn::passes {

class RowLoop {
 public:
  RowLoop(IrContext& ir, const Function& function, const RowMembers& rows, RowLimits limits);

  // In place of the region's operations. Sizes go to `sizes`, which may stand wherever the region's dims have
  // values: at the start of a function the pass `plan` can count on them.
  void make(const RowRegion& region, std::vector<const Op*>& to, std::vector<const Op*>& sizes);

 private:
  // Rows [first, first + count) of an image in an iteration, `most` in any. All but `most` are known in the
  // body.
  struct Rows {
    Dim first, count, most;
    bool operator==(const Rows& other) const { return first == other.first && count == other.count; }
  };

  void chooseSizes(std::vector<const Op*>& to);
  void bindIteration(ValueId iteration);
  void followRows();
  Rows rowsRead(const RowMember& member, const Rows& made);
  Rows both(const Rows& a, const Rows& b, Dim all);
  void fillBody(const std::vector<Parameter>& carried);
  void take(const RowMember& member);
  ValueId operandOf(const RowMember& member, size_t i);
  ValueId rowsOf(ValueId v, const Rows& wanted);
  ValueId imagesOf(ValueId v);
  ValueId captured(ValueId v);
  const Function* ofSlice(const Function& kernel, const RowMember& member);
  const Op* ofSlice(const Op& op, const RowMember& member);
  Type ofSlice(Type type, RowKind kind, const RowMember& member) const;
  const Rows& rowsFor(const RowMember& member, RowKind kind) const;

  bool leaves(ValueId v) const;
  Dim bound(std::vector<const Op*>& to, Dim value, const char* what, int64_t least = 0);
  ValueId emit(std::vector<const Op*>& to, const OpDef& def, std::vector<ValueId> operands,
               Attributes attributes, Type type, ValueId into = kNoValue);
  ValueId reshape(std::vector<const Op*>& to, ValueId v, Type type, ValueId into = kNoValue);
  Type flat(Type type, Dim rows) const;

  IrContext& ir_;
  const Function& function_;
  const RowMembers& rows_;
  const RowLimits limits_;
  std::unordered_map<ValueId, size_t> lastUse_;

  const RowRegion* region_ = nullptr;
  SourceLocation place_;
  std::vector<ValueId> outputs_;
  Dim each_, slices_, whole_,
      images_;  // rows of a slice, slices of an image, 1: all of it is one, images of it
  Dim image_;   // the first one of an iteration
  Rows made_;   // of the results
  std::vector<const Op*>* sizes_ = nullptr;
  Function body_;
  std::vector<Parameter> parameters_;
  std::vector<ValueId> outer_;
  std::unordered_map<ValueId, Rows> of_;    // rows there are of a value in an iteration
  std::unordered_map<ValueId, Rows> read_;  // by result of a member with a window: what it reads
  std::unordered_map<ValueId, ValueId> inside_;
  std::map<std::pair<ValueId, uint32_t>, ValueId> views_;  // by value and the first row
};

}  // namespace dyn::passes
