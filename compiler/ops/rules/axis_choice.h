// Axes that are values: which axis of a tensor each of them names is a dim of 0 or 1, so that sizes which depend on it are dims as well.
//
//   DYN_TRY(AxisChoice choice, axisChoice(c, 1, x.rank()));      // operand 1: axes [k], negative ones count from the end
//   const Dim folded = choice.any(axis);                         // 1 where one of them is this axis
#pragma once

#include <vector>

#include "compiler/ops/rules/op_rules.h"

namespace dyn {

struct AxisChoice {
  std::vector<std::vector<Dim>> names;  // [axis][k]: 1 where given axis k is this axis, else 0
  // The sum over k: at most 1, as no axis is given twice.
  Dim any(int axis) const;
};

// Demands (by run-time checks where nothing is known) that each axis is in [-rank, rank) and none is given twice.
// Error operandNeeded when the number of axes is not known.
Result<AxisChoice> axisChoice(InferContext& c, int operand, int rank);

}  // namespace dyn
