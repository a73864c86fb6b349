// Products. With a shared matrix on the right, the rows of all instances are the rows of one product:
//
//   before  %y = matmul(%x, %w)                  %x (k)        %w (k, n)
//   after   %y = matmul(%x, %w)                  %x (r, k)                  (r, n)
//
//   before  %y = matmul(%x, %w)                  %x (m, k)
//   after   %y = reshape(matmul(reshape(%x, (r*m, k)), %w), (r, m, n))
//
// With a batched one, each instance has a product of its own.
#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/vectorize_rules.h"

namespace dyn::passes {

namespace {

// Rows joined: [r, m.., k] seen as [r*m.., k], and the product as [r, m.., n] again.
bool joinedRows(ManyBody& body, const Op& op, ValueId a, ValueId b) {
  OpMaker& make = body.make();
  const int rank = body.module().rankOf(op.operands[0]);
  const auto sizes = [&](ValueId v, int64_t start, int64_t end) {
    return make.make(ops::shapeOp, {v}, {{"start", start}, {"end", end}});
  };
  const auto joined = [&](std::vector<ValueId> parts) {
    return make.make(ops::concatOp, std::move(parts), {{"axis", int64_t{0}}});
  };
  const ValueId rows =
      make.make(ops::reshapeOp, {a, joined({make.integers({-1}), sizes(a, rank, rank + 1)})});
  const ValueId product = make.make(ops::matmulOp, {rows, b}, op.attributes);
  body.give(op, 0, ops::reshapeOp, {product, joined({sizes(a, 0, rank), sizes(product, 1, 2)})},
            {{"allowzero", int64_t{1}}});
  return true;
}

bool productOfMany(ManyBody& body, const Op& op) {
  OpMaker& make = body.make();
  const ValueId left = op.operands[0], right = op.operands[1];
  const int m = body.module().rankOf(left), n = body.module().rankOf(right);
  const bool sharedLeft = body.isShared(left), sharedRight = body.isShared(right);
  const bool exchangedLeft = op.attributes.integer("transpose_a") != 0;
  ValueId a = body.valueOf(left), b = body.valueOf(right);
  if (sharedRight && n == 2 && m == 1) {
    body.giveAll(op, *op.def, {a, b}, op.attributes);
    return true;
  }
  if (sharedRight && n == 2 && !exchangedLeft) return joinedRows(body, op, a, b);
  // A vector is a matrix of one row on the left, of one column on the right, until the product is made.
  const int most = std::max({m, n, 2});
  Attributes attributes = op.attributes;
  const auto asMatrix = [&](ValueId v, int rank, bool isShared, int64_t added) {
    const int64_t first = isShared ? 0 : 1;
    if (rank == 1) v = make.make(ops::unsqueezeOp, {v, make.integers({first + added})});
    std::vector<int64_t> axes;
    for (int axis = std::max(rank, 2); axis < most && !isShared; ++axis)
      axes.push_back(static_cast<int64_t>(axes.size()) + 1);
    return axes.empty() ? v : make.make(ops::unsqueezeOp, {v, make.integers(axes)});
  };
  a = asMatrix(a, m, sharedLeft, 0);
  b = asMatrix(b, n, sharedRight, 1);
  if (m == 1) attributes.erase("transpose_a");
  if (n == 1) attributes.erase("transpose_b");
  if (m > 1 && n > 1) {
    body.giveAll(op, *op.def, {a, b}, std::move(attributes));
    return true;
  }
  const ValueId product = make.make(ops::matmulOp, {a, b}, std::move(attributes));
  std::vector<int64_t> gone;
  if (m == 1) gone.push_back(-2);
  if (n == 1) gone.push_back(-1);
  body.give(op, 0, ops::squeezeOp, {product, make.integers(gone)}, {});
  return true;
}

// A letter that no term has, for the instances.
bool einsum(ManyBody& body, const Op& op) {
  std::string equation = op.attributes.string("equation");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos) return false;
  char letter = 0;
  for (char c = 'a'; c <= 'z' && !letter; ++c)
    if (equation.find(c) == std::string::npos) letter = c;
  for (char c = 'A'; c <= 'Z' && !letter; ++c)
    if (equation.find(c) == std::string::npos) letter = c;
  if (!letter) return false;
  std::string changed;
  size_t at = 0;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const size_t end = std::min(equation.find(',', at), arrow);
    if (!body.isShared(op.operands[i])) changed += letter;
    changed += equation.substr(at, end - at) + (end == arrow ? "" : ",");
    at = end + 1;
    operands.push_back(body.valueOf(op.operands[i]));
  }
  Attributes attributes = op.attributes;
  attributes.set("equation", changed + "->" + letter + equation.substr(arrow + 2));
  body.giveAll(op, *op.def, std::move(operands), std::move(attributes));
  return true;
}

// Matrices in the last two axes.
bool ofMatrices(ManyBody& body, const Op& op) {
  body.giveAll(op, *op.def, {body.batchedOf(op.operands[0])}, op.attributes);
  return true;
}

}  // namespace

std::vector<VectorizeRow> productRules() {
  return {
      {&ops::matmulOp, productOfMany},
      {&ops::einsumOp, einsum},
      {&ops::detOp, ofMatrices},
      {&ops::inverseOp, ofMatrices},
  };
}

}  // namespace dyn::passes
