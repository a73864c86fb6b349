// Element-by-element operators of two and more operands, broadcast as NumPy does.
#include <cmath>

#include "compiler/ops/elementwise_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

Status inferAdd(InferContext& c) {
  TensorOperand a, b;
  DYN_TRY(Shape shape, inferBroadcastPair(c, &a, &b));
  setTensor(c, shape, a.dtype);
  return {};
}

Status evaluateAdd(EvalContext& c) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  auto shape = broadcastConcrete(a.shape(), b.shape());
  if (!shape) {
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(a.shape()) + " and " + shapeText(b.shape()) + " do not broadcast");
  }
  DYN_TRY(HostTensor result, newTensor(a.dtype(), *shape));
  OffsetWalk walk(*shape, {broadcastStrides(a.shape(), *shape), broadcastStrides(b.shape(), *shape)});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    result.setReal(i, a.realAt(walk.offset(0)) + b.realAt(walk.offset(1)));
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerAdd(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr a, c.readBroadcast(0, index));
  DYN_TRY(Expr b, c.readBroadcast(1, index));
  return a + b;
}

}  // namespace

namespace ops {

const OpDef addOp{
    .name = "add",
    .summary = "a + b",
    .cls = OpClass::elementwise,
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferAdd,
    .evaluate = evaluateAdd,
    .lowering = LoweringKind::loops,
    .lower = lowerAdd,
    .doc = "[...a], [...b] -> broadcast(a, b)",
    .example = "fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(3), f32]) { %y = add(%a, %b) return %y }",
};

}  // namespace ops
}  // namespace dyn
