// Gemm, normalisations and losses.
#include <cmath>

#include "frontends/onnx/map/map_functions.h"
#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {

// alpha * a' b' + beta * c
void mapGemm(MapContext& c) {
  for (int i = 0; i < 2; ++i) {
    const int rank = c.rankOf(c.input(i));
    if (rank >= 0 && rank != 2)
      c.fail(DiagnosticId::rankMismatch, "input " + std::to_string(i) + " has " + std::to_string(rank) +
                                             (rank == 1 ? " axis" : " axes") + ", not the two of a matrix");
  }
  Attributes attributes;
  if (c.integer("transA", 0) != 0) attributes.set("transpose_a", int64_t{1});
  if (c.integer("transB", 0) != 0) attributes.set("transpose_b", int64_t{1});
  ValueId y = c.emit("matmul", {c.input(0), c.input(1)}, std::move(attributes));
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const bool adds = c.hasInput(2) && beta != 0;
  ValueId bias = adds ? c.input(2) : kNoValue;
  // Integers times a fraction: real numbers up to the sum.
  const bool isFraction = alpha != std::trunc(alpha) || (adds && beta != std::trunc(beta));
  const std::optional<Dtype> dtype = isFraction ? c.inferredDtype(y) : std::nullopt;
  if (isFraction) y = asReal(c, y);
  if (isFraction && adds) bias = asReal(c, bias);
  if (alpha != 1) y = c.emit("mul", {y, c.number(alpha, y)});
  if (adds && beta != 1) bias = c.emit("mul", {bias, c.number(beta, bias)});
  if (adds) y = c.emit("add", {y, bias});
  c.setOutput(0, dtype ? castTo(c, y, *dtype) : y);
}

namespace {

// BatchNormalization of operator sets 1 to 8 with spatial = 0: a mean, variance, scale and bias for each
// element of a row [channels, ...].
void mapElementwiseNormalization(MapContext& c, double epsilon) {
  const ValueId x = c.input(0), variance = c.input(4);
  const ValueId apart = c.emit("sub", {x, c.input(3)});
  const ValueId deviation = c.emit("sqrt", {c.emit("add", {variance, c.number(epsilon, variance)})});
  const ValueId scaled = c.emit("mul", {c.emit("div", {apart, deviation}), c.input(1)});
  c.setOutput(0, c.emit("add", {scaled, c.input(2)}));
}

}  // namespace

void mapBatchNormalization(MapContext& c) {
  const bool isVector = c.rankOf(c.input(0)) == 1;  // one channel: the standard takes it as [n, 1]
  const ValueId second = isVector ? c.integersValue({1}) : kNoValue;
  const ValueId x = isVector ? c.emit("unsqueeze", {c.input(0), second}) : c.input(0);
  const ValueId scale = c.input(1), bias = c.input(2);
  ValueId mean = c.input(3), variance = c.input(4);
  const Attributes epsilon = {{"epsilon", c.real("epsilon", 1e-5)}};
  if (c.integer("spatial", 1) == 0) return mapElementwiseNormalization(c, c.real("epsilon", 1e-5));
  if (c.integer("training_mode", 0) != 0) {
    const ValueId axes = joinedShape(c, {c.integersValue({0}), axesFrom(c, x, 2)});
    const ValueId centre = c.emit("reduce_mean", {x, axes}, {{"keepdims", int64_t{1}}});
    const ValueId apart = c.emit("sub", {x, centre});
    const ValueId batchMean = c.emit("reduce_mean", {x, axes}, {{"keepdims", int64_t{0}}});
    const ValueId batchVariance =
        c.emit("reduce_mean", {c.emit("mul", {apart, apart}), axes}, {{"keepdims", int64_t{0}}});
    const double momentum = c.real("momentum", 0.9);
    const auto blend = [&](ValueId running, ValueId batch) {
      return c.emit("add", {c.emit("mul", {running, c.number(momentum, running)}),
                            c.emit("mul", {batch, c.number(1 - momentum, batch)})});
    };
    if (c.wantsOutput(1)) c.setOutput(1, blend(mean, batchMean));
    if (c.wantsOutput(2)) c.setOutput(2, blend(variance, batchVariance));
    mean = batchMean;
    variance = batchVariance;
  }
  const ValueId y = c.emit("batch_norm", {x, scale, bias, mean, variance}, epsilon);
  c.setOutput(0, isVector ? c.emit("squeeze", {y, second}) : y);
}

void mapGroupNormalization(MapContext& c) {
  const ValueId x = c.input(0);
  ValueId scale = c.input(1), bias = c.input(2);
  const int64_t groups = c.requiredInteger("num_groups");
  if (c.version() < 21) {  // scale and bias were per group
    const ValueId channels = dimAt(c, x, 1);
    const ValueId perGroup = c.emit("div", {channels, c.integerValue(groups)});
    const ValueId shape = joinedShape(c, {c.integersValue({groups}), perGroup});
    const auto perChannel = [&](ValueId value) {
      return reshaped(c, c.emit("expand", {unsqueezed(c, value, {1}), shape}), channels);
    };
    scale = perChannel(scale);
    bias = perChannel(bias);
  }
  c.setOutput(0, c.emit("group_norm", {x, scale, bias},
                        {{"num_groups", groups}, {"epsilon", c.real("epsilon", 1e-5)}}));
}

// NegativeLogLikelihoodLoss on log-probabilities [n, c, d...] and classes [n, d...]; SoftmaxCrossEntropyLoss
// makes the former first.
void mapLosses(MapContext& c) {
  ValueId scores = c.input(0);
  ValueId target = c.input(1);
  const std::string reduction = c.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    c.fail(DiagnosticId::badAttribute, "reduction is " + quotedText(reduction));
  if (c.node().opType == "SoftmaxCrossEntropyLoss") {
    scores = c.emit("log_softmax", {scores}, {{"axis", int64_t{1}}});
    if (c.wantsOutput(1)) c.setOutput(1, scores);
  }
  ValueId ignored = kNoValue;
  if (c.hasAttribute("ignore_index")) {
    const ValueId wide = castTo(c, target, Dtype::i64);  // which has any number that the attribute may be
    ignored = c.emit("equal", {wide, c.integerValue(c.integer("ignore_index", 0))});
    target = c.emit("where", {ignored, c.number(0, target), target});
  }
  const ValueId axis = c.integersValue({1});
  const ValueId picked =
      c.emit("gather_elements", {scores, c.emit("unsqueeze", {target, axis})}, {{"axis", int64_t{1}}});
  ValueId loss = c.emit("neg", {c.emit("squeeze", {picked, axis})});
  ValueId weight = c.hasInput(2) ? c.emit("gather", {c.input(2), target}, {{"axis", int64_t{0}}}) : kNoValue;
  if (ignored != kNoValue) {
    const ValueId zero = c.number(0, scores);
    weight = c.emit("where", {ignored, zero, weight == kNoValue ? c.number(1, scores) : weight});
  }
  if (weight != kNoValue) loss = c.emit("mul", {loss, weight});
  const Attributes all = {{"keepdims", int64_t{0}}};
  if (reduction == "sum") loss = c.emit("reduce_sum", {loss}, all);
  if (reduction == "mean" && weight == kNoValue) loss = c.emit("reduce_mean", {loss}, all);
  if (reduction == "mean" && weight != kNoValue)
    loss = c.emit("div", {c.emit("reduce_sum", {loss}, all), c.emit("reduce_sum", {weight}, all)});
  c.setOutput(0, loss);
}

}  // namespace dyn::onnx
