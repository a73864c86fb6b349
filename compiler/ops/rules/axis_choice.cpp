#include "compiler/ops/rules/axis_choice.h"

#include <algorithm>

#include "compiler/ops/rules/index_rules.h"

namespace dyn {

namespace {

// 1 where a == k, else 0.
Dim isEqual(const InferContext& c, Dim a, int64_t k) {
  const Dim one = constantDim(c, 1), away = max(a - k, constantDim(c, k) - a);
  return one - min(away, one);
}

}  // namespace

Dim AxisChoice::any(int axis) const {
  const std::vector<Dim>& here = names[static_cast<size_t>(axis)];
  Dim sum = here.front();
  for (size_t k = 1; k < here.size(); ++k) sum = sum + here[k];
  return sum;
}

Result<AxisChoice> axisChoice(InferContext& c, int operand, int rank) {
  DYN_TRY(Contents known, vectorContents(c, operand, "the axes"));
  AxisChoice choice;
  std::vector<Dim> axes;
  for (size_t k = 0; k < known.size(); ++k) {
    const Dim axis = elementDim(c, operand, static_cast<int64_t>(k), "an axis given as a value");
    const std::string what = "axis " + std::to_string(k) + " of the operand is in its rank";
    // A scalar is reduced along its one element.
    const int64_t places = std::max(rank, 1);
    DYN_CHECK(c.requireLessEqual(constantDim(c, -places), axis, what));
    DYN_CHECK(c.requireLessEqual(axis, constantDim(c, places - 1), what));
    axes.push_back(axis);
  }
  for (int axis = 0; axis < rank; ++axis) {
    choice.names.emplace_back();
    for (Dim given : axes)
      choice.names.back().push_back(isEqual(c, given, axis) + isEqual(c, given, axis - rank));
    if (axes.size() > 1)
      DYN_CHECK(c.requireLessEqual(choice.any(axis), constantDim(c, 1),
                                   "axis " + std::to_string(axis) + " is given once"));
  }
  return choice;
}

}  // namespace dyn
