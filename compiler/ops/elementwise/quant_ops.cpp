// Between reals and small integers: quantize_linear, dequantize_linear, dynamic_quantize_linear.
#include <algorithm>
#include <cmath>

#include "compiler/loop/scalar_math.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

constexpr AttributeSpec kQuantizeAttributes[] = {
    {"axis", AttributeKind::integer, false, "the axis of a vector of scales; default 1",
     Allowed::byRule("an axis of operand 0, where the scale is a vector")},
    {"output_dtype", AttributeKind::dtype, false, "when there is no zero point; default u8",
     Allowed::byRule("an element type of results")},
};
constexpr AttributeSpec kDequantizeAttributes[] = {
    {"axis", AttributeKind::integer, false, "the axis of a vector of scales; default 1",
     Allowed::byRule("an axis of operand 0, where the scale is a vector")},
    {"output_dtype", AttributeKind::dtype, false, "default: the scale's",
     Allowed::byRule("an element type of results")},
};

bool isQuantized(Dtype dtype) {
  switch (dtype) {
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::i16:
    case Dtype::u16:
    case Dtype::i4:
    case Dtype::u4:
    case Dtype::i2:
    case Dtype::u2:
    case Dtype::f8e4m3fn:
    case Dtype::f8e4m3fnuz:
    case Dtype::f8e5m2:
    case Dtype::f8e5m2fnuz:
    case Dtype::f4e2m1:
      return true;
    default:
      return false;
  }
}

// One number for all, or one per place of the axis.
Status requireParameter(InferContext& c, int i, const TensorOperand& x, std::string_view what) {
  DYN_TRY(TensorOperand parameter, tensorOperand(c, i));
  if (parameter.rank() == 0) return {};
  if (parameter.rank() > 1) {
    return c.error(DiagnosticId::unsupportedFeature,
                   std::string(what) + " per block is not supported: it is " + parameter.type.toString());
  }
  if (parameter.dims[0].isConstant(1)) return {};
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 1), x.rank()));
  return requireStretches(c, parameter.dims[0], x.dims[static_cast<size_t>(axis)], what);
}

Status inferQuantize(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand scale, tensorOperand(c, 1));
  if (!isReal(x.dtype) && x.dtype != Dtype::i32)
    return c.error(DiagnosticId::dtypeMismatch, "the operand has a real element type or i32");
  DYN_CHECK(requireClass(c, scale, {DtypeClass::real}, "the scale"));
  DYN_CHECK(requireParameter(c, 1, x, "the scale"));
  Dtype dtype = c.attributes().dtype("output_dtype", Dtype::u8);
  if (c.hasOperand(2)) {
    DYN_TRY(TensorOperand zero, tensorOperand(c, 2));
    DYN_CHECK(requireParameter(c, 2, x, "the zero point"));
    dtype = zero.dtype;
  }
  if (!isQuantized(dtype))
    return c.error(DiagnosticId::dtypeMismatch,
                   "numbers are not quantized to " + std::string(toString(dtype)));
  setTensor(c, x.dims, dtype);
  return {};
}

Status inferDequantize(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand scale, tensorOperand(c, 1));
  if (!isQuantized(x.dtype) && x.dtype != Dtype::i32)
    return c.error(DiagnosticId::dtypeMismatch, "the operand is not quantized: it is " + x.type.toString());
  DYN_CHECK(requireClass(c, scale, {DtypeClass::real}, "the scale"));
  DYN_CHECK(requireParameter(c, 1, x, "the scale"));
  if (c.hasOperand(2)) {
    DYN_TRY(TensorOperand zero, tensorOperand(c, 2));
    DYN_CHECK(requireSameDtype(c, x, zero));
    DYN_CHECK(requireParameter(c, 2, x, "the zero point"));
  }
  const Dtype dtype = c.attributes().dtype("output_dtype", scale.dtype);
  if (!isReal(dtype)) return c.error(DiagnosticId::badAttribute, "output_dtype is a real element type");
  setTensor(c, x.dims, dtype);
  return {};
}

// Which element of the scale and of the zero point goes with each element of x.
class ParameterPlace {
 public:
  static Result<ParameterPlace> of(const EvalContext& c) {
    ParameterPlace place;
    const HostTensor& x = c.operand(0);
    for (int i = 1; i <= 2; ++i) {
      if (!c.hasOperand(i) || c.operand(i).elementCount() == 1) continue;
      DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 1), x.rank()));
      place.inner_ = sizeProduct(x.shape(), axis + 1, x.rank());
      place.length_ = x.shape()[static_cast<size_t>(axis)];
      place.single_[i - 1] = false;
      if (c.operand(i).rank() != 1 || c.operand(i).elementCount() != place.length_)
        return c.error(DiagnosticId::shapeMismatch,
                       "a scale or zero point of " + shapeText(c.operand(i).shape()));
    }
    return place;
  }
  int64_t at(int operand, int64_t flat) const { return single_[operand - 1] ? 0 : flat / inner_ % length_; }

 private:
  int64_t inner_ = 1, length_ = 1;
  bool single_[2] = {true, true};
};

// In f32, as kernels compute it.
double quantized(double x, double scale, double zero, Dtype dtype) {
  const float ratio = static_cast<float>(x) / static_cast<float>(scale);
  if (isReal(dtype)) return ratio;
  const double rounded = std::nearbyint(ratio) + zero;
  const double low = static_cast<double>(loop::integerLowest(dtype)),
               high = static_cast<double>(loop::integerHighest(dtype));
  return std::clamp(rounded, low, high);
}

Status evaluateQuantize(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(ParameterPlace place, ParameterPlace::of(c));
  const Dtype dtype =
      c.hasOperand(2) ? c.operand(2).dtype() : c.attributes().dtype("output_dtype", Dtype::u8);
  DYN_TRY(HostTensor result, newTensor(dtype, x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const double zero = c.hasOperand(2) ? c.operand(2).realAt(place.at(2, i)) : 0;
    result.setReal(i, quantized(x.realAt(i), c.operand(1).realAt(place.at(1, i)), zero, dtype));
  }
  c.setResult(0, std::move(result));
  return {};
}

Status evaluateDequantize(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(ParameterPlace place, ParameterPlace::of(c));
  DYN_TRY(HostTensor result,
          newTensor(c.attributes().dtype("output_dtype", c.operand(1).dtype()), x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const double zero = c.hasOperand(2) ? c.operand(2).realAt(place.at(2, i)) : 0;
    result.setReal(i, (x.realAt(i) - zero) * c.operand(1).realAt(place.at(1, i)));
  }
  c.setResult(0, std::move(result));
  return {};
}

// The scale or zero point of the element, in `dtype`; 0 when left out.
Result<Expr> readParameter(LowerContext& c, int operand, std::span<const Expr> index, Dtype dtype) {
  if (!c.hasOperand(operand)) return c.number(0, dtype);
  const Type type = c.operandType(operand);
  std::vector<Expr> at;
  if (type.rank() == 1) {
    int64_t axis = c.attributes().integer("axis", 1);
    if (axis < 0) axis += static_cast<int64_t>(index.size());
    const size_t place = static_cast<size_t>(axis);
    const Dim one = type.dims()[0].context().constant(1);
    // A single number goes with a tensor of any rank.
    const Dim full = place < index.size() ? c.operandType(0).dims()[place] : one;
    at.push_back(place < index.size() ? stretchedPlace(c, type.dims()[0], full, index[place]) : c.integer(0));
  }
  DYN_TRY(Expr value, c.read(operand, at));
  return castTo(value, dtype);
}

Expr quantizedExpr(LowerContext& c, Expr ratio, Expr zero, Dtype dtype) {
  if (isReal(dtype)) return castTo(ratio, dtype);
  const Expr moved = unary(loop::UnaryOp::round, ratio) + zero;
  // A cast of reals cuts to the range of the type by itself, but for types narrower than a byte, which wrap.
  if (loop::integerHighest(dtype) >= INT8_MAX) return castTo(moved, dtype);
  const Expr low = c.number(static_cast<double>(loop::integerLowest(dtype)), Dtype::f32);
  const Expr high = c.number(static_cast<double>(loop::integerHighest(dtype)), Dtype::f32);
  return castTo(min(max(moved, low), high), dtype);
}

Result<Expr> lowerQuantize(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr x, c.read(0, index));
  DYN_TRY(Expr scale, readParameter(c, 1, index, Dtype::f32));
  const Dtype dtype = c.resultType(0).dtype();
  Expr zero;
  if (!isReal(dtype)) {
    DYN_TRY(zero, readParameter(c, 2, index, Dtype::f32));
  }
  return quantizedExpr(c, castTo(x, Dtype::f32) / scale, zero, dtype);
}

Result<Expr> lowerDequantize(LowerContext& c, int, std::span<const Expr> index) {
  // i32 differences are exact in f64 only.
  const Dtype dtype = c.resultType(0).dtype();
  const Dtype computed = c.operandType(0).dtype() == Dtype::i32 ? Dtype::f64 : accumulationDtype(dtype);
  DYN_TRY(Expr x, c.read(0, index));
  DYN_TRY(Expr scale, readParameter(c, 1, index, computed));
  DYN_TRY(Expr zero, readParameter(c, 2, index, computed));
  return castTo((castTo(x, computed) - zero) * scale, dtype);
}

// --- dynamic_quantize_linear

Status inferDynamic(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireDtype(c, x, Dtype::f32, "the operand"));
  setTensor(c, x.dims, Dtype::u8);
  setTensor(c, {}, Dtype::f32, 1);
  setTensor(c, {}, Dtype::u8, 2);
  return {};
}

Status evaluateDynamic(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  float low = 0, high = 0;
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    low = std::min(low, x.as<float>()[i]);
    high = std::max(high, x.as<float>()[i]);
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const double zero = std::clamp(std::nearbyint((0.0f - low) / scale), 0.0f, 255.0f);
  DYN_TRY(HostTensor result, newTensor(Dtype::u8, x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i)
    result.setReal(i, quantized(x.realAt(i), scale, zero, Dtype::u8));
  c.setResult(0, std::move(result));
  c.setResult(1, HostTensor::scalar(Dtype::f32, scale));
  c.setResult(2, HostTensor::scalar(Dtype::u8, zero));
  return {};
}

Result<Expr> lowerDynamic(LowerContext& c, int result, std::span<const Expr> index) {
  const int rank = c.operandType(0).rank();
  FoldedAxes folded;
  folded.keepDims = false;
  folded.folds.assign(static_cast<size_t>(rank), true);
  const ElementMap element = [](Expr x, std::span<const Expr>) { return x; };
  DYN_TRY(Expr least, foldAxes(c, ReduceOp::minimum, folded, {}, element));
  DYN_TRY(Expr most, foldAxes(c, ReduceOp::maximum, folded, {}, element));
  const Expr none = c.number(0, Dtype::f32), top = c.number(255, Dtype::f32);
  const Expr low = min(least, none), high = max(most, none);
  const Expr scale = select(high == low, c.number(1, Dtype::f32), (high - low) / top);
  if (result == 1) return scale;
  const Expr zero = min(max(unary(loop::UnaryOp::round, (none - low) / scale), none), top);
  if (result == 2) return castTo(zero, Dtype::u8);
  DYN_TRY(Expr x, c.read(0, index));
  return quantizedExpr(c, x / scale, zero, Dtype::u8);
}

constexpr OperandRule kQuantizeLinearRules[] = {{1, ElementsAre::positive}};
constexpr OperandRule kDequantizeLinearRules[] = {{1, ElementsAre::numbers}};

}  // namespace

namespace ops {

const OpDef quantize_linearOp{
    .name = "quantize_linear",
    .summary = "round(x / scale) + zero point, saturated to a small integer (or x / scale in 8 bits)",
    .cls = OpClass::elementwise,
    .traits = {.keepsRank = true, .channelOperands = true},
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kQuantizeAttributes,
    .infer = inferQuantize,
    .evaluate = evaluateQuantize,
    .lowering = LoweringKind::loops,
    .lower = lowerQuantize,
    .operandRules = kQuantizeLinearRules,
    .doc =
        "x [..., a, ...], scale [] or [a], zero [] or [a] -> [..., a, ...] of the zero point's element type. "
        "Rounds half to even.",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32], %s: Tensor[(), f32], %z: Tensor[(), i8]) "
        "{ %y = quantize_linear(%x, %s, %z) return %y }",
};

const OpDef dequantize_linearOp{
    .name = "dequantize_linear",
    .summary = "(x - zero point) * scale",
    .cls = OpClass::elementwise,
    .traits = {.keepsRank = true, .channelOperands = true},
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kDequantizeAttributes,
    .infer = inferDequantize,
    .evaluate = evaluateDequantize,
    .lowering = LoweringKind::loops,
    .lower = lowerDequantize,
    .operandRules = kDequantizeLinearRules,
    .doc = "x [..., a, ...], scale [] or [a], zero [] or [a] -> [..., a, ...] of the scale's element type",
    .example =
        "fn @main(%x: Tensor[(n, 3), i8], %s: Tensor[(3), f32], %z: Tensor[(3), i8]) "
        "{ %y = dequantize_linear(%x, %s, %z) {axis = 1} return %y }",
};

const OpDef dynamic_quantize_linearOp{
    .name = "dynamic_quantize_linear",
    .summary = "quantization to u8 by the range of the data, zero being exact",
    .cls = OpClass::reduction,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 3,
    .infer = inferDynamic,
    .evaluate = evaluateDynamic,
    .lowering = LoweringKind::loops,
    .lower = lowerDynamic,
    .operandRules = kAnyElements,
    .doc = "[...] f32 -> [...] u8, scale [] f32, zero point [] u8",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32]) { %y, %s, %z = dynamic_quantize_linear(%x) return %y, %s, %z }",
};

}  // namespace ops
}  // namespace dyn
