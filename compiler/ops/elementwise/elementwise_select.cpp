// Element-by-element choice and conversion: where, clip, prelu, cast.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "compiler/ops/elementwise/elementwise_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using loop::BinaryOp;
using loop::Expr;
using loop::LowerContext;

namespace {

// Contents of an operand spread to `count` elements: known ones as they are, a single one repeated.
std::optional<Contents> spread(const InferContext& c, int i, size_t count) {
  std::optional<Contents> contents = c.operandContents(i);
  if (contents && contents->size() == 1) return Contents(count, contents->front());
  if (contents && contents->size() == count) return contents;
  return std::nullopt;
}

Status inferWhere(InferContext& c) {
  DYN_TRY(TensorOperand condition, tensorOperand(c, 0));
  DYN_TRY(TensorOperand a, tensorOperand(c, 1));
  DYN_TRY(TensorOperand b, tensorOperand(c, 2));
  DYN_CHECK(requireDtype(c, condition, Dtype::boolean, "the condition"));
  DYN_CHECK(requireSameDtype(c, a, b));
  DYN_TRY(Shape values, broadcastShapes(c, a.dims, b.dims));
  DYN_TRY(Shape shape, broadcastShapes(c, condition.dims, values));
  setTensor(c, shape, a.dtype);
  std::optional<int64_t> count = constantElementCount(shape);
  if (!count || *count > kMaxContents || shape.size() > 1) return {};
  auto chosen = spread(c, 0, static_cast<size_t>(*count)), x = spread(c, 1, static_cast<size_t>(*count)),
       y = spread(c, 2, static_cast<size_t>(*count));
  if (!x || !y) return {};
  Contents contents(x->size());
  for (size_t i = 0; i < contents.size(); ++i) {
    const Dim flag = chosen ? (*chosen)[i] : Dim();
    if (flag && flag.isConstant()) {
      contents[i] = *flag.constant() != 0 ? (*x)[i] : (*y)[i];
    } else if ((*x)[i] && (*x)[i] == (*y)[i]) {
      contents[i] = (*x)[i];
    }
  }
  c.setResultContents(0, std::move(contents));
  return {};
}

Status evaluateWhere(EvalContext& c) {
  const HostTensor &condition = c.operand(0), &a = c.operand(1), &b = c.operand(2);
  auto values = broadcastConcrete(a.shape(), b.shape());
  auto shape = values ? broadcastConcrete(condition.shape(), *values) : std::nullopt;
  if (!shape) return c.error(DiagnosticId::shapeMismatch, "the operands do not broadcast");
  DYN_TRY(HostTensor result, newTensor(a.dtype(), *shape));
  const ElementCopier fromA(result, a), fromB(result, b);
  OffsetWalk walk(*shape, {broadcastStrides(condition.shape(), *shape), broadcastStrides(a.shape(), *shape),
                           broadcastStrides(b.shape(), *shape)});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    if (condition.intAt(walk.offset(0)) != 0) {
      fromA.copy(i, walk.offset(1));
    } else {
      fromB.copy(i, walk.offset(2));
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerWhere(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr condition, c.readBroadcast(0, index));
  DYN_TRY(Expr a, c.readBroadcast(1, index));
  DYN_TRY(Expr b, c.readBroadcast(2, index));
  return select(condition, a, b);
}

Status inferClip(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  for (int i : {1, 2}) {
    if (!c.hasOperand(i)) continue;
    DYN_TRY(TensorOperand bound, tensorOperand(c, i, 0));
    DYN_CHECK(requireSameDtype(c, x, bound));
  }
  c.setResult(0, x.type);
  std::optional<Contents> contents = c.operandContents(0);
  if (!contents) return {};
  for (int i : {1, 2}) {
    if (!c.hasOperand(i)) continue;
    std::optional<Contents> bound = c.operandContents(i);
    const Dim limit = bound ? bound->at(0) : Dim();
    for (Dim& d : *contents) {
      if (d) d = !limit ? Dim() : i == 1 ? max(d, limit) : min(d, limit);
    }
  }
  c.setResultContents(0, *contents);
  return {};
}

Status evaluateClip(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  const bool isUnsigned64 = x.dtype() == Dtype::u64;
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    if (isReal(x.dtype())) {
      double value = x.realAt(i);
      const double low = c.hasOperand(1) ? c.operand(1).realAt(0) : -HUGE_VAL;
      const double high = c.hasOperand(2) ? c.operand(2).realAt(0) : HUGE_VAL;
      if (value < low || std::isnan(low)) value = low;
      if (value > high || std::isnan(high)) value = high;
      result.setReal(i, value);
      continue;
    }
    auto less = [&](int64_t a, int64_t b) {
      return isUnsigned64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
    };
    int64_t value = x.intAt(i);
    if (c.hasOperand(1) && less(value, c.operand(1).intAt(0))) value = c.operand(1).intAt(0);
    if (c.hasOperand(2) && less(c.operand(2).intAt(0), value)) value = c.operand(2).intAt(0);
    result.setInt(i, value);
  }
  c.setResult(0, std::move(result));
  return {};
}

// The bound comes first: x stays where they are equal, and whether a bound is NaN is asked once.
Result<Expr> lowerClip(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr x, c.read(0, index));
  if (c.hasOperand(1)) {
    DYN_TRY(Expr low, c.read(1, {}));
    x = max(low, x);
  }
  if (c.hasOperand(2)) {
    DYN_TRY(Expr high, c.read(2, {}));
    x = min(high, x);
  }
  return x;
}

Status inferPrelu(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand slope, tensorOperand(c, 1));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  DYN_CHECK(requireSameDtype(c, x, slope));
  if (slope.rank() > x.rank())
    return c.error(DiagnosticId::rankMismatch, "the slope has more axes than the operand");
  DYN_TRY(Shape shape, broadcastShapes(c, x.dims, slope.dims));
  // The broadcast goes one way only.
  for (size_t i = 0; i < shape.size(); ++i) {
    DYN_CHECK(
        c.requireEqual(shape[i], x.dims[i], "dim " + std::to_string(i) + " of the slope fits the operand"));
  }
  c.setResult(0, x.type);
  return {};
}

Status evaluatePrelu(EvalContext& c) {
  const HostTensor &x = c.operand(0), &slope = c.operand(1);
  auto shape = broadcastConcrete(x.shape(), slope.shape());
  if (!shape || *shape != x.shape())
    return c.error(DiagnosticId::shapeMismatch, "the slope does not fit the operand");
  DYN_TRY(HostTensor result, newTensor(x.dtype(), *shape));
  OffsetWalk walk(*shape, {broadcastStrides(slope.shape(), *shape)});
  for (int64_t i = 0; i < x.elementCount(); ++i, walk.next()) {
    if (isReal(x.dtype())) {
      const double value = x.realAt(i);
      result.setReal(i, value < 0 ? value * slope.realAt(walk.offset(0)) : value);
    } else {
      const int64_t value = x.intAt(i);
      const bool isNegative = isSigned(x.dtype()) && value < 0;
      result.setInt(i, isNegative ? static_cast<int64_t>(static_cast<uint64_t>(value) *
                                                         static_cast<uint64_t>(slope.intAt(walk.offset(0))))
                                  : value);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerPrelu(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr x, c.read(0, index));
  DYN_TRY(Expr slope, c.readBroadcast(1, index));
  return select(x < c.number(0, x.dtype()), x * slope, x);
}

Status inferCast(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  const Dtype to = c.attributes().dtype("to");
  for (Dtype dtype : {x.dtype, to}) {
    if (dtypeClass(dtype) == DtypeClass::complex) {
      return c.error(DiagnosticId::unsupportedDtype, "complex numbers cannot be cast");
    }
  }
  setTensor(c, x.dims, to);
  std::optional<Contents> contents = c.operandContents(0);
  if (!contents) return {};
  for (Dim& d : *contents) {
    if (!d || to == Dtype::i64 || to == x.dtype) continue;
    if (to == Dtype::boolean) {
      d = d.isConstant() ? constantDim(c, *d.constant() != 0 ? 1 : 0) : Dim();
    } else if (to == Dtype::i32) {
      // A size that does not fit in 32 bits would wrap: it is checked, not assumed.
      DYN_CHECK(c.requireLessEqual(d, constantDim(c, INT32_MAX), "the value fits in i32"));
      DYN_CHECK(c.requireLessEqual(constantDim(c, INT32_MIN), d, "the value fits in i32"));
    } else {
      d = isInteger(to) && d.isConstant() && *d.constant() >= 0 && *d.constant() < 128 ? d : Dim();
    }
  }
  if (isInteger(to) || to == Dtype::boolean) c.setResultContents(0, *contents);
  return {};
}

// As NumPy writes numbers: the shortest digits that read back.
std::string numberText(const HostTensor& x, int64_t i) {
  if (x.dtype() == Dtype::boolean) return x.intAt(i) ? "True" : "False";
  if (x.dtype() == Dtype::u64) return std::to_string(static_cast<uint64_t>(x.intAt(i)));
  if (!isReal(x.dtype())) return std::to_string(x.intAt(i));
  const double value = x.realAt(i);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  char text[64];
  const auto end = x.dtype() == Dtype::f64
                       ? std::to_chars(text, text + sizeof text, value)
                       : std::to_chars(text, text + sizeof text, static_cast<float>(value));
  return std::string(text, end.ptr);
}

Status castFromText(const EvalContext& c, HostTensor& result, int64_t i, const std::string& text) {
  char* end = nullptr;
  if (isReal(result.dtype())) {
    result.setReal(i, std::strtod(text.c_str(), &end));
  } else {
    result.setInt(i, std::strtoll(text.c_str(), &end, 10));
  }
  if (end != text.c_str() && *end == 0) return {};
  return c.error(DiagnosticId::runtimeError, "\"" + text + "\" is not a number");
}

Status evaluateCast(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const Dtype to = c.attributes().dtype("to");
  DYN_TRY(HostTensor result, newTensor(to, x.shape()));
  const bool saturate = c.attributes().integer("saturate", 1) != 0;
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    if (x.dtype() == Dtype::string && to == Dtype::string) {
      result.mutableStringValues()[i] = x.stringValues()[i];
    } else if (x.dtype() == Dtype::string) {
      DYN_CHECK(castFromText(c, result, i, x.stringValues()[i]));
    } else if (to == Dtype::string) {
      result.mutableStringValues()[i] = numberText(x, i);
    } else if (to == Dtype::boolean) {
      result.setInt(i, x.realAt(i) != 0 ? 1 : 0);
    } else if (isReal(to)) {
      if (saturate || storageBytes(to) != 1) {
        result.setReal(i, x.realAt(i));
      } else {
        result.mutableAs<uint8_t>()[i] = static_cast<uint8_t>(encodeReal(to, x.realAt(i), false));
      }
    } else if (isReal(x.dtype())) {
      setTruncated(result, i, x.realAt(i));
    } else {
      result.setInt(i, x.intAt(i));
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerCast(LowerContext& c, int, std::span<const Expr> index) {
  const Dtype to = c.attributes().dtype("to");
  if (to == Dtype::string || c.operandType(0).dtype() == Dtype::string) {
    return c.error(DiagnosticId::unsupportedDtype, "strings are not compiled");
  }
  if (isReal(to) && storageBytes(to) == 1 && c.attributes().integer("saturate", 1) == 0) {
    return c.error(DiagnosticId::unsupportedFeature, "kernels saturate; the builtin does not");
  }
  DYN_TRY(Expr x, c.read(0, index));
  return x.dtype() == to ? x : c.loops().cast(x, to);
}

// Generated code knows no reals of 8 or 4 bits.
bool builtinCastTakes(const Op& op, std::span<const Type> operandTypes) {
  const auto isNarrow = [](Dtype dtype) { return isReal(dtype) && storageBytes(dtype) == 1; };
  return isNarrow(operandTypes[0].dtype()) || isNarrow(op.attributes.dtype("to"));
}

Status fillCast(const BuiltinRequest& request, CallFields<calls::Cast>& call) {
  call.numbers.saturate = request.op.attributes.integer("saturate", 1) != 0;
  return {};
}

constexpr AttributeSpec kCastAttributes[] = {
    {"to", AttributeKind::dtype, true, "the element type of the result", Allowed::any()},
    {"saturate", AttributeKind::integer, false,
     "1: 8-bit reals end at their largest value; 0: infinity or NaN; default 1", Allowed::flag()}};

}  // namespace

namespace ops {

const OpDef whereOp{
    .name = "where",
    .summary = "a where the condition holds, else b",
    .cls = OpClass::elementwise,
    .minOperands = 3,
    .maxOperands = 3,
    .infer = inferWhere,
    .evaluate = evaluateWhere,
    .lowering = LoweringKind::loops,
    .lower = lowerWhere,
    .doc = "condition [...c] bool, [...a], [...b] -> broadcast(c, a, b)",
    .example =
        "fn @main(%c: Tensor[(n, 1), bool], %a: Tensor[(n, 3), f32], %b: Tensor[(3), f32]) "
        "{ %y = where(%c, %a, %b) return %y }",
};

const OpDef clipOp{
    .name = "clip",
    .summary = "x between min and max",
    .cls = OpClass::elementwise,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 3,
    .infer = inferClip,
    .evaluate = evaluateClip,
    .lowering = LoweringKind::loops,
    .lower = lowerClip,
    .doc = "x [...], min [] | none, max [] | none -> [...]; where min > max: max",
    .example = "fn @main(%x: Tensor[(n), f32], %low: Tensor[(), f32]) { %y = clip(%x, %low) return %y }",
};

const OpDef preluOp{
    .name = "prelu",
    .summary = "x, below 0 slope * x",
    .cls = OpClass::elementwise,
    .traits = {.keepsRank = true},
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferPrelu,
    .evaluate = evaluatePrelu,
    .lowering = LoweringKind::loops,
    .lower = lowerPrelu,
    .doc = "x [...], slope (broadcast to x) -> [...]",
    .example = "fn @main(%x: Tensor[(n, 3), f32], %s: Tensor[(3), f32]) { %y = prelu(%x, %s) return %y }",
};

const OpDef castOp{
    .name = "cast",
    .summary = "x in another element type",
    .cls = OpClass::elementwise,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kCastAttributes,
    .infer = inferCast,
    .evaluate = evaluateCast,
    .lowering = LoweringKind::loops,
    .lower = lowerCast,
    .builtin = calling<calls::Cast, fillCast>,
    .builtinTakes = builtinCastTakes,
    .doc =
        "[...] -> [...]; real to integer truncates, out of range ends at the type's limits (types under a "
        "byte wrap), NaN is 0; integers wrap",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = cast(%x) {to = i32} return %y }",
};

}  // namespace ops
}  // namespace dyn
