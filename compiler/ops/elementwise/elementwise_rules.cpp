#include "compiler/ops/elementwise/elementwise_rules.h"

namespace dyn {

Status inferSame(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  c.setResult(0, x.type);
  if (std::optional<Contents> contents = c.operandContents(0)) c.setResultContents(0, *contents);
  return {};
}

namespace {
Status inferSameOf(InferContext& c, std::initializer_list<DtypeClass> classes) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, classes, "the operand"));
  c.setResult(0, x.type);
  return {};
}
}  // namespace

Status inferSameReal(InferContext& c) { return inferSameOf(c, {DtypeClass::real}); }
Status inferSameSigned(InferContext& c) { return inferSameOf(c, {DtypeClass::real, DtypeClass::integer}); }
Status inferSameNumber(InferContext& c) {
  return inferSameOf(c, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural});
}

Status evaluateRealMap(EvalContext& c, const std::function<double(double)>& function) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) result.setReal(i, function(x.realAt(i)));
  c.setResult(0, std::move(result));
  return {};
}

Status evaluateIntegerMap(EvalContext& c, const std::function<int64_t(int64_t)>& function) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) result.setInt(i, function(x.intAt(i)));
  c.setResult(0, std::move(result));
  return {};
}

Result<Shape> inferBroadcastPair(InferContext& c, TensorOperand* a, TensorOperand* b) {
  DYN_TRY(*a, tensorOperand(c, 0));
  DYN_TRY(*b, tensorOperand(c, 1));
  DYN_CHECK(requireSameDtype(c, *a, *b));
  return broadcastShapes(c, a->dims, b->dims);
}

Result<loop::Expr> readSame(loop::LowerContext& c, std::span<const loop::Expr> index) {
  return c.read(0, index);
}

std::optional<ContentPair> broadcastContents(const InferContext& c, const Shape& result) {
  std::vector<std::vector<int64_t>> shapes;
  for (int i = 0; i < 2; ++i) {
    std::vector<int64_t> shape;
    for (Dim d : c.operandType(i).dims()) {
      std::optional<int64_t> value = c.solver().canonical(d).constant();
      if (!value) return std::nullopt;
      shape.push_back(*value);
    }
    shapes.push_back(std::move(shape));
  }
  std::vector<int64_t> resultShape;
  for (Dim d : result) {
    std::optional<int64_t> value = c.solver().canonical(d).constant();
    if (!value) return std::nullopt;
    resultShape.push_back(*value);
  }
  std::optional<std::vector<int64_t>> joined = broadcastConcrete(shapes[0], shapes[1]);
  if (!joined || *joined != resultShape) return std::nullopt;
  int64_t count = 1;
  for (int64_t size : resultShape) {
    std::optional<int64_t> product = checkedMul(count, size);
    if (!product || *product > kMaxContents) return std::nullopt;
    count = *product;
  }
  std::optional<Contents> a = c.operandContents(0), b = c.operandContents(1);
  if (!a || !b) return std::nullopt;
  ContentPair pair;
  OffsetWalk walk(resultShape,
                  {broadcastStrides(shapes[0], resultShape), broadcastStrides(shapes[1], resultShape)});
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    pair.a.push_back((*a)[walk.offset(0)]);
    pair.b.push_back((*b)[walk.offset(1)]);
  }
  return pair;
}

}  // namespace dyn
