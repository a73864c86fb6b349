// dft: the discrete Fourier transform along one axis. Compiled it takes n log n operations
// (vm/kernels/fourier/fourier.cpp); here it is evaluated by its definition.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

namespace {

constexpr int kLength = 1, kAxis = 2;

constexpr AttributeSpec kDftAttributes[] = {
    {"inverse", AttributeKind::integer, false, "1: the inverse transform, divided by the length; default 0",
     Allowed::flag()},
    {"onesided", AttributeKind::integer, false,
     "1: the half of a spectrum that determines the other; with inverse it is the operand's and the result "
     "is real; "
     "default 0",
     Allowed::flag()},
};

struct DftOptions {
  bool inverse = false, onesided = false;
  bool makesReals() const { return inverse && onesided; }
};

DftOptions dftOptions(const Attributes& attributes) {
  return {attributes.integer("inverse", 0) != 0, attributes.integer("onesided", 0) != 0};
}

// The sizes of a transform whose axis is a dim too: what does not depend on the axis is said by expressions
// that do.
struct DftPlan {
  std::vector<Dim> isAxis;  // 1 for the axis, 0 for the others
  Dim length;               // of the transform
  Dim outputs;              // elements of the result along the axis
};

Dim constantOf(Dim like, int64_t value) { return like.context().constant(value); }

DftPlan planOf(const Shape& x, Dim axis, Dim length, const DftOptions& o) {
  DftPlan plan;
  const Dim zero = constantOf(axis, 0), one = constantOf(axis, 1);
  const Dim place = axis + min(one, max(zero, zero - axis)) * static_cast<int64_t>(x.size());
  Dim size = zero;
  for (size_t i = 0; i < x.size(); ++i) {
    const Dim away = place - static_cast<int64_t>(i);
    plan.isAxis.push_back(max(zero, one - max(away, zero - away)));
    size = size + plan.isAxis.back() * x[i];
  }
  plan.length = length ? length : o.makesReals() ? (size - 1) * 2 : size;
  const Dim half = floorDiv(plan.length, constantOf(axis, 2)) + 1;
  plan.outputs = o.onesided && !o.inverse ? half : plan.length;
  return plan;
}

Shape dftShape(const Shape& x, const DftPlan& plan, const DftOptions& o) {
  Shape shape;
  for (size_t i = 0; i + 1 < x.size(); ++i) shape.push_back(x[i] + plan.isAxis[i] * (plan.outputs - x[i]));
  shape.push_back(constantOf(x[0], o.makesReals() ? 1 : 2));
  return shape;
}

Status inferDft(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  if (x.rank() < 2)
    return c.error(DiagnosticId::rankMismatch,
                   "the operand is [..., 1] or [..., 2], it is " + x.type.toString());
  const DftOptions o = dftOptions(c.attributes());
  const std::optional<int64_t> parts = c.solver().canonical(x.dims.back()).constant();
  if (parts && *parts != 1 && *parts != 2)
    return c.error(
        DiagnosticId::shapeMismatch,
        "the last axis holds real parts or real and imaginary parts, it has " + x.dims.back().toString());
  const bool takesReals = o.onesided && !o.inverse;
  if (parts && *parts == 2 && takesReals)
    return c.error(DiagnosticId::badAttribute, "only the spectrum of reals has one side");
  DYN_CHECK(c.requireLessEqual(constantDim(c, 1), x.dims.back(), "the last axis holds parts of numbers"));
  DYN_CHECK(c.requireLessEqual(x.dims.back(), constantDim(c, takesReals ? 1 : 2),
                               takesReals ? "only the spectrum of reals has one side"
                                          : "the last axis holds real parts or real and imaginary parts"));
  Dim axis = constantDim(c, -2), length;
  if (c.hasOperand(kAxis)) {
    DYN_TRY(TensorOperand given, indexOperand(c, kAxis, "the axis"));
    DYN_CHECK(requireSingle(c, given, "the axis"));
    axis = elementDim(c, kAxis, 0, "the axis of dft");
  }
  if (c.hasOperand(kLength)) {
    DYN_TRY(TensorOperand given, indexOperand(c, kLength, "the length"));
    DYN_CHECK(requireSingle(c, given, "the length"));
    DYN_TRY(length, sizeDim(c, kLength, 0, "the length of dft"));
  }
  DYN_CHECK(c.requireLessEqual(constantDim(c, -x.rank()), axis, "the axis is one of the operand's"));
  DYN_CHECK(c.requireLessEqual(axis, constantDim(c, x.rank() - 2), "the axis is not that of the parts"));
  const DftPlan plan = planOf(x.dims, axis, length, o);
  DYN_CHECK(c.requireEqual(plan.isAxis.back(), constantDim(c, 0), "the axis is not that of the parts"));
  DYN_CHECK(c.requireLessEqual(constantDim(c, 1), plan.length, "the length is at least 1"));
  setTensor(c, dftShape(x.dims, plan, o), x.dtype);
  return {};
}

Status evaluateDft(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const DftOptions o = dftOptions(c.attributes());
  const int64_t parts = x.shape().back();
  if (parts < 1 || parts > (o.onesided && !o.inverse ? 1 : 2))
    return c.error(DiagnosticId::shapeCheckFailed,
                   "the last axis holds real parts or real and imaginary parts");
  DYN_TRY(int axis, axisOf(c, c.hasOperand(kAxis) ? c.operand(kAxis).intAt(0) : -2, x.rank()));
  if (axis == x.rank() - 1)
    return c.error(DiagnosticId::shapeCheckFailed, "the axis is not that of the parts");
  const int64_t size = x.shape()[static_cast<size_t>(axis)];
  int64_t length = o.makesReals() ? 2 * (size - 1) : size;
  if (c.hasOperand(kLength)) length = c.operand(kLength).intAt(0);
  if (length < 1) return c.error(DiagnosticId::shapeCheckFailed, "the length is at least 1");
  const int64_t half = length / 2 + 1, terms = std::min(size, o.makesReals() ? half : length);
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(axis)] = o.onesided && !o.inverse ? half : length;
  shape.back() = o.makesReals() ? 1 : 2;
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const int64_t step = sizeProduct(x.shape(), axis + 1, x.rank() - 1),
                outputs = shape[static_cast<size_t>(axis)];
  const int64_t rows = sizeProduct(x.shape(), 0, axis), partsOut = shape.back();
  std::vector<double> cosines, sines;
  for (int64_t k = 0; k < length; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    cosines.push_back(std::cos(angle));
    sines.push_back(o.inverse ? std::sin(angle) : -std::sin(angle));
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < outputs; ++k) {
      for (int64_t inner = 0; inner < step; ++inner) {
        double real = 0, imaginary = 0;
        for (int64_t n = 0; n < terms; ++n) {
          const int64_t at = ((row * size + n) * step + inner) * parts;
          const auto turn = static_cast<size_t>(k * n % length);
          const double weight = o.makesReals() && n != 0 && 2 * n != length ? 2 : 1;
          const double a = x.realAt(at) * weight, b = parts == 2 ? x.realAt(at + 1) * weight : 0;
          real += a * cosines[turn] - b * sines[turn];
          imaginary += a * sines[turn] + b * cosines[turn];
        }
        const double scale = o.inverse ? 1 / static_cast<double>(length) : 1;
        const int64_t to = ((row * outputs + k) * step + inner) * partsOut;
        result.setReal(to, real * scale);
        if (partsOut == 2) result.setReal(to + 1, imaginary * scale);
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillDft(const BuiltinRequest& request, CallFields<calls::Dft>& call) {
  const DftOptions o = dftOptions(request.op.attributes);
  call.numbers.inverse = o.inverse;
  call.numbers.oneSided = o.onesided;
  return {};
}

constexpr OperandRule kDftRules[] = {{1, ElementsAre::byRule, "at least 1"},
                                     {2, ElementsAre::byRule, "an axis of operand 0 but the last"}};

}  // namespace

namespace ops {

const OpDef dftOp{
    .name = "dft",
    .summary = "the discrete Fourier transform along an axis",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 3,
    .attributes = kDftAttributes,
    .infer = inferDft,
    .evaluate = evaluateDft,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Dft, fillDft>,
    .operandRules = kDftRules,
    .doc =
        "x [..., n, ..., 1 or 2] (real, or real and imaginary parts), length [] i64 (default n; x is cut or "
        "padded with "
        "0), axis [] i64 (default -2) -> [..., length, ..., 2]; onesided: length/2 + 1; both onesided and "
        "inverse: "
        "[..., length, ..., 1] with default length 2*(n - 1)",
    .example = "fn @main(%x: Tensor[(b, n, 1), f32]) { %y = dft(%x) {onesided = 1} return %y }",
};

}  // namespace ops
}  // namespace dyn
