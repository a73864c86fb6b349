// Decision trees: walk_trees.
#include <cmath>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// Columns of the links of a node.
constexpr int64_t kFeature = 0, kOnTrue = 1, kOnFalse = 2, kMissing = 3, kLinks = 4;
constexpr int64_t kMostSteps = 1 << 30;
constexpr int64_t kMostWritten = 64;  // steps of a generated kernel

Status inferWalkTrees(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0, 2));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the rows"));
  DYN_TRY(TensorOperand splits, tensorOperand(c, 1, 1));
  DYN_CHECK(requireSameDtype(c, x, splits));
  DYN_TRY(TensorOperand links, tensorOperand(c, 2, 2));
  DYN_CHECK(requireDtype(c, links, Dtype::i32, "the links"));
  DYN_CHECK(c.requireEqual(links.dims[0], splits.dims[0], "each node has a split and links"));
  DYN_CHECK(c.requireEqual(links.dims[1], constantDim(c, kLinks), "a node has four links"));
  DYN_CHECK(c.requireLessEqual(constantDim(c, 1), splits.dims[0], "there is a node"));
  DYN_CHECK(c.requireLessEqual(constantDim(c, 1), x.dims[1], "rows have a feature"));
  DYN_TRY(TensorOperand places, tensorOperand(c, 3));
  DYN_CHECK(requireDtype(c, places, Dtype::i32, "the places"));
  if (places.rank() != 1 && places.rank() != 2)
    return c.error(DiagnosticId::rankMismatch, "places are of each tree, or of each row and tree");
  if (places.rank() == 2) DYN_CHECK(c.requireEqual(places.dims[0], x.dims[0], "places are of each row"));
  setTensor(c, {x.dims[0], places.dims.back()}, Dtype::i32);
  return {};
}

// The place behind that of an inner node.
Result<int64_t> stepFrom(const EvalContext& c, int64_t row, int64_t place) {
  const HostTensor &x = c.operand(0), &splits = c.operand(1), &links = c.operand(2);
  const int64_t nodes = splits.elementCount(), features = x.shape()[1];
  if (place >= nodes)
    return c.error(DiagnosticId::runtimeError,
                   "place " + std::to_string(place) + " is not a node of " + std::to_string(nodes));
  const auto link = [&](int64_t column) { return links.intAt(place * kLinks + column); };
  if (link(kFeature) < 0 || link(kFeature) >= features)
    return c.error(DiagnosticId::runtimeError, "feature " + std::to_string(link(kFeature)) +
                                                   " does not exist: there are " + std::to_string(features));
  const double value = x.realAt(row * features + link(kFeature));
  const bool holds = std::isnan(value) ? link(kMissing) != 0 : value <= splits.realAt(place);
  return link(holds ? kOnTrue : kOnFalse);
}

Status evaluateWalkTrees(EvalContext& c) {
  const HostTensor &x = c.operand(0), &places = c.operand(3);
  const int64_t rows = x.shape()[0], trees = places.shape().back(),
                steps = c.attributes().integer("steps", 0);
  const bool eachRow = places.rank() == 2;
  DYN_TRY(HostTensor result, newTensor(Dtype::i32, {rows, trees}));
  for (int64_t i = 0; i < rows * trees; ++i) {
    int64_t place = places.intAt(eachRow ? i : i % trees);
    for (int64_t step = 0; step < steps && place >= 0; ++step) {
      DYN_TRY(place, stepFrom(c, i / trees, place));
    }
    result.setInt(i, place);
  }
  c.setResult(0, std::move(result));
  return {};
}

// As many steps as there are, one inside the other: a walk that has ended stays where it is.
Result<Expr> lowerWalkTrees(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0), splits = c.operandType(1), links = c.operandType(2);
  if (c.attributes().integer("steps", 0) > kMostWritten)
    return c.error(DiagnosticId::unsupportedFeature, "unsupported: walk_trees of more than " +
                                                         std::to_string(kMostWritten) +
                                                         " steps in a generated kernel");
  const Expr nodes = c.dim(splits.dims()[0]), features = c.dim(x.dims()[1]), zero = c.integer(0);
  const bool eachRow = c.operandType(3).rank() == 2;
  DYN_TRY(Expr start, c.read(3, eachRow ? index : index.subspan(1)));
  Expr place = indexExpr(c, start);
  for (int64_t step = c.attributes().integer("steps", 0); step > 0; --step) {
    // One that has ended reads the first node, and none of it is used.
    const Expr node = max(place, zero);
    const auto link = [&](int64_t column) -> Result<Expr> {
      const std::vector<Expr> at = {node, c.integer(column)};
      DYN_TRY(Expr entry, c.read(2, at));
      return indexExpr(c, c.checked(inRange(c, node, nodes), entry, indexCheck(place, links, 0)));
    };
    DYN_TRY(Expr feature, link(kFeature));
    DYN_TRY(Expr onTrue, link(kOnTrue));
    DYN_TRY(Expr onFalse, link(kOnFalse));
    DYN_TRY(Expr missing, link(kMissing));
    const Expr asked = select(place < zero, zero, feature);
    const std::vector<Expr> of = {node}, from = {index[0], asked};
    DYN_TRY(Expr split, c.read(1, of));
    DYN_TRY(Expr element, c.read(0, from));
    const Expr value = c.checked(inRange(c, asked, features), element, indexCheck(asked, x, 1));
    const Expr holds = value <= split || (isNotANumber(value) && missing != zero);
    place = select(place < zero, place, select(holds, onTrue, onFalse));
  }
  return castTo(place, Dtype::i32);
}

bool takesWalkTrees(const Op&, std::span<const Type> operandTypes) {
  const Dtype dtype = operandTypes[0].dtype();
  return dtype == Dtype::f32 || dtype == Dtype::f64;
}

Status fillWalkTrees(const BuiltinRequest& request, CallFields<calls::WalkTrees>& call) {
  call.numbers.steps = static_cast<int32_t>(request.op.attributes.integer("steps", 0));
  return {};
}

constexpr AttributeSpec kWalkTreesAttributes[] = {{"steps", AttributeKind::integer, true,
                                                   "most nodes that a walk passes",
                                                   Allowed::between(0, kMostSteps)}};
constexpr OperandRule kWalkTreesRules[] = {
    {2, ElementsAre::byKernel, "a feature of operand 0, two places, and whether NaN goes to the first"},
    {3, ElementsAre::byKernel, "below the number of nodes"}};

}  // namespace

namespace ops {

const OpDef walk_treesOp{
    .name = "walk_trees",
    .summary = "the places that rows reach in decision trees",
    .cls = OpClass::opaque,
    .minOperands = 4,
    .maxOperands = 4,
    .attributes = kWalkTreesAttributes,
    .infer = inferWalkTrees,
    .evaluate = evaluateWalkTrees,
    .lowering = LoweringKind::builtin,
    .lower = lowerWalkTrees,
    .builtin = calling<calls::WalkTrees, fillWalkTrees>,
    .builtinTakes = takesWalkTrees,
    .operandRules = kWalkTreesRules,
    .doc =
        "x [n, f], splits [m] of its dtype, links [m, 4] i32, places [t] or [n, t] i32 -> places [n, t] i32. "
        "A place p from 0 on is node p, a negative one a leaf. From node p a walk of row i goes on to "
        "links[p, 1] where x[i, links[p, 0]] <= splits[p], or where that element is NaN and links[p, 3] is "
        "not 0; else to links[p, 2]. It ends in a leaf, or after `steps` steps.",
    .example =
        "fn @main(%x: Tensor[(n, f), f32], %s: Tensor[(m), f32], %l: Tensor[(m, 4), i32], %p: Tensor[(t), "
        "i32]) "
        "{ %y = walk_trees(%x, %s, %l, %p) {steps = 4} return %y }",
};

}  // namespace ops
}  // namespace dyn
