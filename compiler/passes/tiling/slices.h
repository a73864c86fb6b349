// What the passes have in common that work through images by slices, of the batch or of rows: operations in
// runs, and a loop that gathers what its iterations make.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/ir/module.h"
#include "compiler/ops/op_table.h"

namespace dyn::passes {

// A size that is open, for estimates: `usual`, or what is nearest to it of what it may be.
inline int64_t usualSize(const Module& module, SymbolId s, int64_t usual) {
  const Interval range = module.context->facts().interval(module.context->dims().symbolById(s));
  return std::clamp(usual, range.low.value_or(0), range.high.value_or(INT64_MAX));
}

// It reads nothing that the run makes, and moving it before the run is not seen.
inline bool mayStandBefore(const Op& op, const std::unordered_set<ValueId>& madeInRun) {
  if (std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return madeInRun.count(v) != 0; }))
    return false;
  if (op.def->traits.contentsKnown || op.def->traits.packsWeights || op.def == &ops::checkOp) return true;
  return !op.def->hasEffects && (op.def == &ops::fusedOp || op.regions.empty()) &&
         op.def->lowering != LoweringKind::structural;
}

// `count` iterations of `body`, which carry lists from `initial` on and see `outer`. Its results are the
// lists.
inline const Op* listLoop(IrContext& ir, const SourceLocation& place, ValueId count,
                          const std::vector<ValueId>& initial, const std::vector<ValueId>& outer,
                          const std::vector<Parameter>& carried, Function body) {
  Op loop;
  loop.def = &ops::loopOp;
  loop.place = place;
  loop.operands = {count, kNoValue};
  loop.operands.insert(loop.operands.end(), initial.begin(), initial.end());
  loop.operands.insert(loop.operands.end(), outer.begin(), outer.end());
  loop.attributes = {{"carried", static_cast<int64_t>(carried.size())}};
  for (const Parameter& p : carried) loop.results.push_back({ir.newValue(), p.type});
  loop.regions = {ir.own(std::move(body))};
  return ir.own(std::move(loop));
}

}  // namespace dyn::passes
