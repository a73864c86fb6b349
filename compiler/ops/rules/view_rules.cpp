#include "compiler/ops/rules/view_rules.h"

namespace dyn {

namespace {

struct Group {
  size_t fromEnd, toEnd;
};

// The fewest axes from `i` and `j` on that hold as many elements on both sides, those before running through.
std::optional<Group> nextGroup(const ViewContext& c, const Shape& from, const Shape& strides, size_t i,
                               const Shape& to, size_t j) {
  Dim left = from[i];
  for (size_t fromEnd = i + 1;; left = left * from[fromEnd++]) {
    Dim right = to[j];
    for (size_t toEnd = j + 1;; right = right * to[toEnd++]) {
      if (c.equal(left, right)) return Group{fromEnd, toEnd};
      if (toEnd == to.size()) break;
    }
    if (fromEnd == from.size() || !c.equal(strides[fromEnd - 1], strides[fromEnd] * from[fromEnd]))
      return std::nullopt;
  }
}

}  // namespace

std::optional<StridedPlace> viewInSameOrder(const ViewContext& c, int result) {
  const Shape& to = c.op.results[static_cast<size_t>(result)].type.dims();
  Shape from, strides;  // without axes of one element
  const Shape& all = c.operandTypes[0].dims();
  for (size_t axis = 0; axis < all.size(); ++axis) {
    if (all[axis].isConstant(1)) continue;
    from.push_back(all[axis]);
    strides.push_back(c.operand.strides[axis]);
  }
  StridedPlace place{c.operand.offset, Shape(to.size(), c.constant(0))};
  size_t i = 0, j = 0;
  while (true) {
    while (j < to.size() && to[j].isConstant(1)) ++j;
    if (i == from.size() || j == to.size()) break;
    const std::optional<Group> group = nextGroup(c, from, strides, i, to, j);
    if (!group) return std::nullopt;
    Dim stride = strides[group->fromEnd - 1];
    for (size_t axis = group->toEnd; axis-- > j;) {
      place.strides[axis] = stride;
      stride = stride * to[axis];
    }
    i = group->fromEnd;
    j = group->toEnd;
  }
  if (i != from.size() || j != to.size()) return std::nullopt;
  return place;
}

}  // namespace dyn
