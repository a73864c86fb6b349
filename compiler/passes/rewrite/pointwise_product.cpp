#include "compiler/passes/rewrite/pointwise_product.h"

#include "compiler/ops/op_table.h"

namespace dyn::passes {

ValueId pointwiseProduct(OpMaker& make, const Op& conv, const Shape& x, const Shape& w,
                         const std::vector<ValueId>& operands) {
  DimContext& dims = w[0].context();
  const Dim groups = dims.constant(conv.attributes.integer("group", 1)), in = x[1], out = w[0];
  const Dim inOfEach = w[1], outOfEach = floorDiv(out, groups);
  const ValueId rows = make.transposed(operands[0], {0, 2, 1});  // [1, n, c]
  ValueId y;
  if (groups.isConstant(1)) {
    const ValueId matrix = make.transposed(make.reshape(operands[1], {out, in}), {1, 0});
    y = make.make(ops::matmulOp, {rows, matrix});
  } else {
    // [1, n, g, c/g] to [g, n, c/g], with [g, c/g, d/g].
    const ValueId count = make.integers({0, 0, conv.attributes.integer("group", 1), -1});
    ValueId parts = make.make(ops::reshapeOp, {rows, count}, {{"allowzero", int64_t{0}}});
    parts = make.gather(make.transposed(parts, {0, 2, 1, 3}), make.integer(0), 0);
    const ValueId matrices =
        make.transposed(make.reshape(operands[1], {groups, outOfEach, inOfEach}), {0, 2, 1});
    const ValueId each = make.transposed(make.make(ops::matmulOp, {parts, matrices}), {1, 0, 2});
    const ValueId first = make.make(ops::unsqueezeOp, {each, make.integers({0})});
    y = make.make(ops::reshapeOp, {first, make.integers({0, 0, *out.constant()})},
                  {{"allowzero", int64_t{0}}});
  }
  if (operands.size() > 2 && operands[2] != kNoValue) y = make.make(ops::addOp, {y, operands[2]});
  return make.transposed(y, {0, 2, 1});
}

}  // namespace dyn::passes
