// Normalisations by mean and variance. All are reductions and element-by-element arithmetic, so that a row
// stays in one kernel.
#include <cmath>

#include "compiler/ops/op_table.h"
#include "compiler/ops/reduce/moment_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

Expr inverseRoot(LowerContext& c, Expr variance, double epsilon) {
  const Dtype dtype = variance.dtype();
  return c.number(1, dtype) / squareRoot(variance + c.number(epsilon, dtype));
}

// Operand i broadcasts to dims (and does not stretch them).
Status requireFits(InferContext& c, int i, const Shape& dims, std::string_view what) {
  if (!c.hasOperand(i)) return {};
  DYN_TRY(TensorOperand operand, tensorOperand(c, i));
  DYN_CHECK(requireClass(c, operand, {DtypeClass::real}, what));
  if (operand.dims.size() > dims.size())
    return c.error(DiagnosticId::rankMismatch, std::string(what) + " has more axes than what it scales");
  for (size_t k = 0; k < operand.dims.size(); ++k) {
    const Dim own = operand.dims[operand.dims.size() - 1 - k], full = dims[dims.size() - 1 - k];
    DYN_CHECK(requireStretches(c, own, full, what));
  }
  return {};
}

// Operand i is one number per channel.
Status requireChannels(InferContext& c, int i, Dim channels, std::string_view what) {
  DYN_TRY(TensorOperand operand, tensorOperand(c, i, 1));
  DYN_CHECK(requireClass(c, operand, {DtypeClass::real}, what));
  return c.requireEqual(operand.dims[0], channels, what);
}

// --- layer_norm, rms_norm

constexpr AttributeSpec kLayerAttributes[] = {
    {"axis", AttributeKind::integer, false, "the first of the axes normalised over; default -1",
     Allowed::axis()},
    {"epsilon", AttributeKind::real, false, "added to the variance; default 1e-5", Allowed::any()},
};

Result<FoldedAxes> trailingAxes(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    return makeError(DiagnosticId::badAttribute, "axis " + std::to_string(axis) + " is outside the operand");
  std::vector<int> axes;
  for (int k = static_cast<int>(axis < 0 ? axis + rank : axis); k < rank; ++k) axes.push_back(k);
  return foldOnly(rank, axes, true);
}

Status inferLayerNorm(InferContext& c, bool hasStatistics) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  DYN_CHECK(axisOf(c, c.attributes().integer("axis", -1), x.rank()));
  DYN_TRY(FoldedAxes folded, trailingAxes(c.attributes().integer("axis", -1), x.rank()));
  DYN_CHECK(requireFits(c, 1, x.dims, "the scale"));
  if (hasStatistics) DYN_CHECK(requireFits(c, 2, x.dims, "the bias"));
  const size_t results = c.op().results.size();
  if (results < 1 || results > (hasStatistics ? 3 : 1))
    return c.error(DiagnosticId::badOperands, "it has 1 to 3 results: y, mean, inverse deviation");
  c.setResult(0, x.type);
  for (size_t i = 1; i < results; ++i)
    setTensor(c, foldedShape(c, folded, x.dims), Dtype::f32, static_cast<int>(i));
  return {};
}

Status evaluateLayerNorm(EvalContext& c, bool centred) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(FoldedAxes folded, trailingAxes(c.attributes().integer("axis", -1), x.rank()));
  const double epsilon = c.attributes().real("epsilon", 1e-5);
  const Moments m = momentsOf(x, folded);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  std::vector<std::vector<int64_t>> strides(2, std::vector<int64_t>(x.shape().size(), 0));
  for (int i = 1; i <= 2; ++i) {
    if (c.hasOperand(i))
      strides[static_cast<size_t>(i - 1)] = broadcastStrides(c.operand(i).shape(), x.shape());
  }
  OffsetWalk walk(x.shape(), strides);
  for (int64_t i = 0; i < x.elementCount(); ++i, walk.next()) {
    const size_t at = static_cast<size_t>(m.group[static_cast<size_t>(i)]);
    double y = centred ? (x.realAt(i) - m.mean[at]) / std::sqrt(m.variance[at] + epsilon)
                       : x.realAt(i) / std::sqrt(m.meanSquare[at] + epsilon);
    if (c.hasOperand(1)) y *= c.operand(1).realAt(walk.offset(0));
    if (c.hasOperand(2)) y += c.operand(2).realAt(walk.offset(1));
    result.setReal(i, y);
  }
  c.setResult(0, std::move(result));
  for (size_t r = 1; r < c.op().results.size(); ++r) {
    DYN_TRY(HostTensor statistic, newTensor(Dtype::f32, foldedShape(folded, x.shape())));
    for (size_t at = 0; at < m.mean.size(); ++at)
      statistic.setReal(static_cast<int64_t>(at),
                        r == 1 ? m.mean[at] : 1 / std::sqrt(m.variance[at] + epsilon));
    c.setResult(static_cast<int>(r), std::move(statistic));
  }
  return {};
}

Result<Expr> scaled(LowerContext& c, Expr y, std::span<const Expr> index) {
  if (c.hasOperand(1)) {
    DYN_TRY(Expr scale, c.readBroadcast(1, index));
    y = y * castTo(scale, y.dtype());
  }
  if (c.hasOperand(2)) {
    DYN_TRY(Expr bias, c.readBroadcast(2, index));
    y = y + castTo(bias, y.dtype());
  }
  return y;
}

Result<Expr> lowerLayerNorm(LowerContext& c, int result, std::span<const Expr> index) {
  const Type type = c.operandType(0);
  DYN_TRY(FoldedAxes folded, trailingAxes(c.attributes().integer("axis", -1), type.rank()));
  const Dtype computed = accumulationDtype(type.dtype());
  DYN_TRY(LoweredMoments m, lowerMoments(c, folded, index, computed));
  if (result == 1) return castTo(m.mean, Dtype::f32);
  const Expr inverse = inverseRoot(c, m.variance, c.attributes().real("epsilon", 1e-5));
  if (result == 2) return castTo(inverse, Dtype::f32);
  DYN_TRY(Expr x, c.read(0, index));
  DYN_TRY(Expr y, scaled(c, (castTo(x, computed) - m.mean) * inverse, index));
  return castTo(y, type.dtype());
}

Result<Expr> lowerRmsNorm(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.operandType(0);
  DYN_TRY(FoldedAxes folded, trailingAxes(c.attributes().integer("axis", -1), type.rank()));
  const Dtype computed = accumulationDtype(type.dtype());
  DYN_TRY(Expr squares, foldRow(c, ReduceOp::sum, folded, index, [&](Expr e, std::span<const Expr>) {
            e = castTo(e, computed);
            return e * e;
          }));
  const Expr mean = squares / castTo(foldedCount(c, folded), computed);
  DYN_TRY(Expr x, c.read(0, index));
  DYN_TRY(Expr y,
          scaled(c, castTo(x, computed) * inverseRoot(c, mean, c.attributes().real("epsilon", 1e-5)), index));
  return castTo(y, type.dtype());
}

// --- batch_norm, instance_norm, group_norm: [n, channels, spatial...], one scale and bias per channel

constexpr AttributeSpec kEpsilonAttributes[] = {
    {"epsilon", AttributeKind::real, false, "added to the variance; default 1e-5", Allowed::any()},
};
constexpr AttributeSpec kGroupAttributes[] = {
    {"num_groups", AttributeKind::integer, true, "groups of channels; divides their number",
     Allowed::atLeast(1)},
    {"epsilon", AttributeKind::real, false, "added to the variance; default 1e-5", Allowed::any()},
};

Result<TensorOperand> channelOperand(InferContext& c, int firstChannelOperand, int lastChannelOperand) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  if (x.rank() < 2)
    return c.error(DiagnosticId::rankMismatch, "it needs [n, channels, ...], not " + x.type.toString());
  static constexpr std::string_view kNames[] = {"", "scale per channel", "bias per channel",
                                                "mean per channel", "variance per channel"};
  for (int i = firstChannelOperand; i <= lastChannelOperand; ++i)
    DYN_CHECK(requireChannels(c, i, x.dims[1], kNames[i]));
  c.setResult(0, x.type);
  return x;
}

Status inferBatchNorm(InferContext& c) {
  DYN_CHECK(channelOperand(c, 1, 4));
  return {};
}

int64_t channelOf(const HostTensor& x, int64_t flat) {
  return flat / sizeProduct(x.shape(), 2, x.rank()) % x.shape()[1];
}

Status evaluateBatchNorm(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const double epsilon = c.attributes().real("epsilon", 1e-5);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  const HostTensor &scales = c.operand(1), &biases = c.operand(2), &means = c.operand(3),
                   &variances = c.operand(4);
  const int64_t place = sizeProduct(x.shape(), 2, x.rank());  // elements of a channel, beside each other
  for (int64_t first = 0; first < x.elementCount(); first += place) {
    const int64_t channel = first / place % x.shape()[1];
    const double mean = means.realAt(channel), deviation = std::sqrt(variances.realAt(channel) + epsilon);
    const double scale = scales.realAt(channel), bias = biases.realAt(channel);
    for (int64_t i = first; i < first + place; ++i)
      result.setReal(i, (x.realAt(i) - mean) / deviation * scale + bias);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> readChannel(LowerContext& c, int operand, Expr channel, Dtype dtype) {
  const Expr at[] = {channel};
  DYN_TRY(Expr value, c.read(operand, at));
  return castTo(value, dtype);
}

Result<Expr> lowerBatchNorm(LowerContext& c, int, std::span<const Expr> index) {
  const Dtype dtype = c.resultType(0).dtype(), computed = accumulationDtype(dtype);
  DYN_TRY(Expr x, c.read(0, index));
  DYN_TRY(Expr scale, readChannel(c, 1, index[1], computed));
  DYN_TRY(Expr bias, readChannel(c, 2, index[1], computed));
  DYN_TRY(Expr mean, readChannel(c, 3, index[1], computed));
  DYN_TRY(Expr variance, readChannel(c, 4, index[1], computed));
  const Expr factor = scale * inverseRoot(c, variance, c.attributes().real("epsilon", 1e-5));
  return castTo((castTo(x, computed) - mean) * factor + bias, dtype);
}

Status inferInstanceNorm(InferContext& c) {
  DYN_CHECK(channelOperand(c, 1, 2));
  return {};
}

Status inferGroupNorm(InferContext& c) {
  DYN_TRY(TensorOperand x, channelOperand(c, 1, 2));
  const int64_t groups = c.attributes().integer("num_groups", 0);
  if (groups < 1) return c.error(DiagnosticId::badAttribute, "num_groups is at least 1");
  return c.requireEqual(mod(x.dims[1], constantDim(c, groups)), constantDim(c, 0),
                        "channels are a multiple of num_groups");
}

// Instance normalisation is group normalisation with one channel per group.
Status evaluateGroups(EvalContext& c, int64_t groups) {
  const HostTensor& x = c.operand(0);
  if (groups == 0 || x.shape()[1] % groups != 0) {
    if (x.elementCount() > 0)
      return c.error(DiagnosticId::shapeCheckFailed, "channels are a multiple of num_groups");
    c.setResult(0, x);
    return {};
  }
  const double epsilon = c.attributes().real("epsilon", 1e-5);
  const int64_t inGroup = x.shape()[1] / groups * sizeProduct(x.shape(), 2, x.rank());
  const Moments m =
      momentsOf(x.reshaped({x.shape()[0], groups, inGroup}), foldOnly(3, std::vector<int>{2}, true));
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const size_t at = static_cast<size_t>(m.group[static_cast<size_t>(i)]);
    const int64_t channel = channelOf(x, i);
    const double normal = (x.realAt(i) - m.mean[at]) / std::sqrt(m.variance[at] + epsilon);
    result.setReal(i, normal * c.operand(1).realAt(channel) + c.operand(2).realAt(channel));
  }
  c.setResult(0, std::move(result));
  return {};
}

// Channels [first, first + extents[0]) of the element's sample, and all of space.
Result<Expr> lowerGroups(LowerContext& c, std::span<const Expr> index, Expr first, Dim channels) {
  const Type type = c.operandType(0);
  const Dtype computed = accumulationDtype(type.dtype());
  Shape extents{channels};
  extents.insert(extents.end(), type.dims().begin() + 2, type.dims().end());
  Expr count = c.integer(1);
  for (Dim d : extents) count = count * c.dim(d);
  DYN_TRY(LoweredMoments m,
          lowerMoments(c, extents, count, computed, [&](std::span<const Expr> k) -> Result<Expr> {
            std::vector<Expr> at{index[0], first + k[0]};
            at.insert(at.end(), k.begin() + 1, k.end());
            return c.read(0, at);
          }));
  DYN_TRY(Expr x, c.read(0, index));
  DYN_TRY(Expr scale, readChannel(c, 1, index[1], computed));
  DYN_TRY(Expr bias, readChannel(c, 2, index[1], computed));
  const Expr normal =
      (castTo(x, computed) - m.mean) * inverseRoot(c, m.variance, c.attributes().real("epsilon", 1e-5));
  return castTo(normal * scale + bias, type.dtype());
}

Result<Expr> lowerInstanceNorm(LowerContext& c, int, std::span<const Expr> index) {
  return lowerGroups(c, index, index[1], c.solver().context().constant(1));
}

Result<Expr> lowerGroupNorm(LowerContext& c, int, std::span<const Expr> index) {
  DimContext& dims = c.solver().context();
  const Dim inGroup =
      floorDiv(c.operandType(0).dims()[1], dims.constant(c.attributes().integer("num_groups", 1)));
  return lowerGroups(c, index, floorDiv(index[1], c.dim(inGroup)) * c.dim(inGroup), inGroup);
}

// --- lrn

constexpr int64_t kWidestWindow = 4096;  // that is walked over where the number of channels is not known

constexpr AttributeSpec kLrnAttributes[] = {
    {"size", AttributeKind::integer, true, "channels summed over", Allowed::atLeast(1)},
    {"alpha", AttributeKind::real, false, "default 1e-4", Allowed::any()},
    {"beta", AttributeKind::real, false, "default 0.75", Allowed::any()},
    {"bias", AttributeKind::real, false, "default 1", Allowed::any()},
};

Status inferLrn(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  if (x.rank() < 2) return c.error(DiagnosticId::rankMismatch, "it needs [n, channels, ...]");
  if (c.attributes().integer("size", 0) < 1) return c.error(DiagnosticId::badAttribute, "size is at least 1");
  c.setResult(0, x.type);
  return {};
}

Status evaluateLrn(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const int64_t size = c.attributes().integer("size", 1), channels = x.shape()[1];
  const int64_t inner = sizeProduct(x.shape(), 2, x.rank());
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const int64_t channel = channelOf(x, i), first = channel - (size - 1) / 2;
    double sum = 0;
    for (int64_t k = std::max<int64_t>(first, 0); k < std::min(first + size, channels); ++k) {
      const double e = x.realAt(i + (k - channel) * inner);
      sum += e * e;
    }
    const double base =
        c.attributes().real("bias", 1) + c.attributes().real("alpha", 1e-4) / static_cast<double>(size) * sum;
    result.setReal(i, x.realAt(i) / std::pow(base, c.attributes().real("beta", 0.75)));
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerLrn(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.operandType(0);
  const Dtype computed = accumulationDtype(type.dtype());
  const int64_t size = c.attributes().integer("size", 1);
  // A window that is wider than there are channels is a test of each channel.
  const Dim channelCount = type.dims()[1];
  const bool overChannels = size >= channelCount.constant().value_or(kWidestWindow);
  const Dim extents[] = {overChannels ? channelCount : c.solver().context().constant(size)};
  const Expr first = index[1] - (size - 1) / 2;
  const Expr zero = c.number(0, computed), channels = c.dim(type.dims()[1]);
  DYN_TRY(Expr sum, reduceOver(c, ReduceOp::sum, extents, [&](std::span<const Expr> k) -> Result<Expr> {
            std::vector<Expr> at(index.begin(), index.end());
            at[1] = overChannels ? k[0] : first + k[0];
            DYN_TRY(Expr e, c.read(0, at));
            e = castTo(e, computed);
            const Expr isInside = overChannels ? at[1] >= first && at[1] < first + size
                                               : at[1] >= c.integer(0) && at[1] < channels;
            return select(isInside, e * e, zero);
          }));
  const double alpha = c.attributes().real("alpha", 1e-4) / static_cast<double>(size);
  const Expr base = c.number(c.attributes().real("bias", 1), computed) + c.number(alpha, computed) * sum;
  DYN_TRY(Expr x, c.read(0, index));
  const Expr power =
      c.loops().binary(loop::BinaryOp::pow, base, c.number(c.attributes().real("beta", 0.75), computed));
  return castTo(castTo(x, computed) / power, type.dtype());
}

// --- mean_variance_normalization

constexpr AttributeSpec kMvnAttributes[] = {
    {"axes", AttributeKind::integers, false, "normalised over; default [0, 2, 3]", Allowed::axes()},
};
constexpr double kMvnEpsilon = 1e-9;  // added to the deviation, as ONNX's function body does

template <typename Context>
std::vector<int64_t> mvnAxes(const Context& c) {
  return c.attributes().has("axes") ? c.attributes().integers("axes") : std::vector<int64_t>{0, 2, 3};
}

FoldedAxes mvnFold(std::span<const int64_t> axes, int rank) {
  std::vector<int> normal;
  for (int64_t axis : axes) normal.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  return foldOnly(rank, normal, true);
}

Status inferMvn(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real}, "the operand"));
  DYN_CHECK(axesOf(c, mvnAxes(c), x.rank()));
  c.setResult(0, x.type);
  return {};
}

Status evaluateMvn(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const Moments m = momentsOf(x, mvnFold(mvnAxes(c), x.rank()));
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const size_t at = static_cast<size_t>(m.group[static_cast<size_t>(i)]);
    result.setReal(i, (x.realAt(i) - m.mean[at]) / (std::sqrt(m.variance[at]) + kMvnEpsilon));
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerMvn(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.operandType(0);
  const Dtype computed = accumulationDtype(type.dtype());
  DYN_TRY(LoweredMoments m, lowerMoments(c, mvnFold(mvnAxes(c), type.rank()), index, computed));
  DYN_TRY(Expr x, c.read(0, index));
  return castTo((castTo(x, computed) - m.mean) / (squareRoot(m.variance) + c.number(kMvnEpsilon, computed)),
                type.dtype());
}

}  // namespace

namespace ops {

const OpDef layer_normOp{
    .name = "layer_norm",
    .summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over the last axes",
    .cls = OpClass::reduction,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 3,
    .results = -1,
    .attributes = kLayerAttributes,
    .infer = [](InferContext& c) { return inferLayerNorm(c, true); },
    .evaluate = [](EvalContext& c) { return evaluateLayerNorm(c, true); },
    .lowering = LoweringKind::loops,
    .lower = lowerLayerNorm,
    .operandRules = kAnyElements,
    .doc =
        "x [..., a, ...], scale and bias broadcast to x -> y as x; also mean and 1/deviation [..., 1, ...] "
        "f32 when asked",
    .example =
        "fn @main(%x: Tensor[(n, 8), f32], %s: Tensor[(8), f32], %b: Tensor[(8), f32]) "
        "{ %y = layer_norm(%x, %s, %b) {axis = -1} return %y }",
};

const OpDef rms_normOp{
    .name = "rms_norm",
    .summary = "x / sqrt(mean(x * x) + epsilon) * scale over the last axes",
    .cls = OpClass::reduction,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 2,
    .attributes = kLayerAttributes,
    .infer = [](InferContext& c) { return inferLayerNorm(c, false); },
    .evaluate = [](EvalContext& c) { return evaluateLayerNorm(c, false); },
    .lowering = LoweringKind::loops,
    .lower = lowerRmsNorm,
    .operandRules = kAnyElements,
    .doc = "x [..., a, ...], scale broadcast to x -> as x",
    .example = "fn @main(%x: Tensor[(n, 8), f32], %s: Tensor[(8), f32]) { %y = rms_norm(%x, %s) return %y }",
};

const OpDef batch_normOp{
    .name = "batch_norm",
    .summary = "normalisation by given means and variances, one per channel",
    .cls = OpClass::elementwise,
    .traits = {.keepsRank = true, .channelOperands = true},
    .minOperands = 5,
    .maxOperands = 5,
    .attributes = kEpsilonAttributes,
    .infer = inferBatchNorm,
    .evaluate = evaluateBatchNorm,
    .lowering = LoweringKind::loops,
    .lower = lowerBatchNorm,
    .doc = "x [n, c, ...], scale, bias, mean, variance [c] -> as x",
    .example =
        "fn @main(%x: Tensor[(n, 4, h, w), f32], %s: Tensor[(4), f32], %b: Tensor[(4), f32], %m: Tensor[(4), "
        "f32], "
        "%v: Tensor[(4), f32]) { %y = batch_norm(%x, %s, %b, %m, %v) return %y }",
};

const OpDef instance_normOp{
    .name = "instance_norm",
    .summary = "normalisation over space, each sample and channel on its own",
    .cls = OpClass::reduction,
    .traits = {.keepsRank = true},
    .minOperands = 3,
    .maxOperands = 3,
    .attributes = kEpsilonAttributes,
    .infer = inferInstanceNorm,
    .evaluate = [](EvalContext& c) { return evaluateGroups(c, c.operand(0).shape()[1]); },
    .lowering = LoweringKind::loops,
    .lower = lowerInstanceNorm,
    .operandRules = kAnyElements,
    .doc = "x [n, c, ...], scale, bias [c] -> as x",
    .example =
        "fn @main(%x: Tensor[(n, 4, h, w), f32], %s: Tensor[(4), f32], %b: Tensor[(4), f32]) "
        "{ %y = instance_norm(%x, %s, %b) return %y }",
};

const OpDef group_normOp{
    .name = "group_norm",
    .summary = "normalisation over space and groups of channels, each sample on its own",
    .cls = OpClass::reduction,
    .traits = {.keepsRank = true},
    .minOperands = 3,
    .maxOperands = 3,
    .attributes = kGroupAttributes,
    .infer = inferGroupNorm,
    .evaluate = [](EvalContext& c) { return evaluateGroups(c, c.attributes().integer("num_groups", 0)); },
    .lowering = LoweringKind::loops,
    .lower = lowerGroupNorm,
    .operandRules = kAnyElements,
    .doc = "x [n, c, ...], scale, bias [c] -> as x; c is a multiple of num_groups",
    .example =
        "fn @main(%x: Tensor[(n, 4, h, w), f32], %s: Tensor[(4), f32], %b: Tensor[(4), f32]) "
        "{ %y = group_norm(%x, %s, %b) {num_groups = 2} return %y }",
};

const OpDef lrnOp{
    .name = "lrn",
    .summary =
        "local response normalisation: x / (bias + alpha / size * sum of squares of near channels) ^ beta",
    .cls = OpClass::reduction,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kLrnAttributes,
    .infer = inferLrn,
    .evaluate = evaluateLrn,
    .lowering = LoweringKind::loops,
    .lower = lowerLrn,
    .operandRules = kAnyElements,
    .doc = "[n, c, ...] -> as x",
    .example = "fn @main(%x: Tensor[(n, 4, h, w), f32]) { %y = lrn(%x) {size = 3} return %y }",
};

const OpDef mean_variance_normalizationOp{
    .name = "mean_variance_normalization",
    .summary = "(x - mean) / deviation over axes",
    .cls = OpClass::reduction,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kMvnAttributes,
    .infer = inferMvn,
    .evaluate = evaluateMvn,
    .lowering = LoweringKind::loops,
    .lower = lowerMvn,
    .operandRules = kAnyElements,
    .doc = "[...] -> [...]",
    .example = "fn @main(%x: Tensor[(n, 4, h, w), f32]) { %y = mean_variance_normalization(%x) return %y }",
};

}  // namespace ops
}  // namespace dyn
