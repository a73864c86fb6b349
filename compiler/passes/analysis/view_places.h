// Where the elements of views lie, asked of the rows of their operators (OpDef::viewRule) with what is known
// where the operation stands: sizes on every way to it, and contents of small operands.
//
//   places.note(op);                                        // each operation, in order
//   places.placeOf(op, types, 0, densePlace(...), here)     // transpose: strides (1, m)
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/op_def.h"
#include "compiler/passes/analysis/path_facts.h"

namespace dyn {

// A value as a view of another one, which is dense.
struct View {
  ValueId base = kNoValue;
  StridedPlace place;
};

// Symbols that stand in the base's shape have values wherever the base has memory, and those of a function's
// parameters everywhere in it: do they say all of the view's shape and place?
bool sizesAreThere(Type type, const StridedPlace& place, Type base,
                   const std::unordered_set<SymbolId>& fromTheStart = {});

class ViewPlaces {
 public:
  ViewPlaces(IrContext& ir, PathFacts& facts) : ir_(ir), facts_(facts) {}

  // Remembers operations whose contents are known.
  void note(const Op& op);
  // `parameter` of a body has the contents of `outer`.
  void standsFor(ValueId parameter, ValueId outer);
  // The elements of a small operand that has been noted; nullopt: unknown.
  std::optional<Contents> contentsOf(ValueId value) const;

  // Where result `result` of `op` lies when its first operand lies at `operand`; nullopt: unknown, or
  // its row has no rule. `types`: of its operands.
  std::optional<StridedPlace> placeOf(const Op& op, std::span<const Type> types, int result,
                                      const StridedPlace& operand, PathFacts::Place here);

  // The values of a kernel's body that are views of its operands, which are dense: parameters, and what views
  // of them give. Its operation stands at `here`.
  std::unordered_map<ValueId, View> viewsIn(const Function& kernel, std::span<const ValueId> operands,
                                            PathFacts::Place here);

 private:
  IrContext& ir_;
  PathFacts& facts_;
  std::unordered_map<ValueId, const Op*> known_;
};

}  // namespace dyn
