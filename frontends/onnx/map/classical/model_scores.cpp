#include "frontends/onnx/map/classical/model_scores.h"

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// sqrt(2) * erfinv(2x - 1), the inverse error function by Winitzki's approximation.
ValueId probit(MapContext& c, ValueId x) {
  const auto number = [&](double value) { return c.number(value, x); };
  const ValueId y = c.emit("sub", {c.emit("mul", {x, number(2)}), number(1)});
  const ValueId squared = c.emit("sub", {number(1), c.emit("mul", {y, y})});
  const ValueId logarithm = c.emit("log", {squared});
  constexpr double a = 0.147, pi = 3.14159265358979323846;
  const ValueId half = c.emit("add", {c.emit("mul", {logarithm, number(0.5)}), number(2 / (pi * a))});
  const ValueId inner =
      c.emit("sub", {c.emit("mul", {half, half}), c.emit("mul", {logarithm, number(1 / a)})});
  const ValueId size = c.emit("sqrt", {c.emit("sub", {c.emit("sqrt", {inner}), half})});
  return c.emit("mul", {c.emit("mul", {c.emit("sign", {y}), size}), number(1.41421356)});
}

// exp(s - max) / sum over those that are not 0; those stay next to 0.
ValueId softmaxOfOthers(MapContext& c, ValueId scores) {
  const ValueId axis = c.integersValue({-1});
  const ValueId largest = c.emit("reduce_max", {scores, axis});
  const ValueId taken = c.emit("greater", {c.emit("abs", {scores}), c.number(0.0000001, scores)});
  const ValueId weight = c.emit("exp", {c.emit("sub", {scores, largest})});
  const ValueId sum = c.emit("reduce_sum", {c.emit("where", {taken, weight, c.number(0, scores)}), axis});
  const ValueId left = c.emit("mul", {scores, c.emit("exp", {c.emit("neg", {largest})})});
  const ValueId nonZero = c.emit("where", {c.emit("equal", {sum, c.number(0, sum)}), c.number(1, sum), sum});
  return c.emit("div", {c.emit("where", {taken, weight, left}), nonZero});
}

}  // namespace

ValueId transformedScores(MapContext& c, ValueId scores, const std::string& transform) {
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return c.emit("sigmoid", {scores});
  if (transform == "SOFTMAX") return c.emit("softmax", {scores}, {{"axis", int64_t{-1}}});
  if (transform == "SOFTMAX_ZERO") return softmaxOfOthers(c, scores);
  if (transform == "PROBIT") return probit(c, scores);
  c.fail(DiagnosticId::badAttribute, "post_transform " + quotedText(transform) + " is not known");
  return scores;
}

ValueId bothScores(MapContext& c, ValueId score, bool signedScores, const std::string& transform) {
  if (transform == "PROBIT") {
    c.unsupported("PROBIT of the one score of two classes: nothing says what the other class has then");
    return score;
  }
  const ValueId negative = c.emit("neg", {score});
  const bool logistic = transform == "LOGISTIC";
  const ValueId other = logistic || signedScores ? negative : c.emit("sub", {c.number(1, score), score});
  const ValueId both = c.emit("concat", {other, score}, {{"axis", int64_t{1}}});
  return logistic ? c.emit("sigmoid", {both}) : both;
}

HostTensor classLabels(MapContext& c, const std::string& integers, const std::string& strings) {
  std::vector<std::string> texts = c.texts(strings);
  const std::vector<int64_t> numbers = c.integers(integers);
  if (texts.empty() == numbers.empty())
    c.fail(DiagnosticId::badAttribute, "of the attributes " + quotedText(integers) + " and " +
                                           quotedText(strings) + " one has to be given");
  const auto count = static_cast<int64_t>(texts.size());
  return texts.empty() ? HostTensor::vectorInt(Dtype::i64, numbers)
                       : HostTensor::strings({count}, std::move(texts));
}

ValueId labelsAt(MapContext& c, const HostTensor& labels, ValueId place) {
  return elementsAt(c, c.constant(labels), castTo(c, place, Dtype::i64), 0);
}

ValueId rowsOf(MapContext& c, ValueId x, DoubleRows doubles) {
  const int rank = c.inferredRank(x);
  const std::optional<Dtype> dtype = c.inferredDtype(x);
  if (rank != 1 && rank != 2)
    c.unsupported("an operand that is neither a matrix nor a vector, or of unknown rank");
  if (rank == 1) x = unsqueezed(c, x, {0});
  return dtype == Dtype::f64 && doubles == DoubleRows::keep ? x : castTo(c, x, Dtype::f32);
}

ValueId vectorOf(MapContext& c, const std::vector<double>& values) {
  return c.constant(HostTensor::vectorReal(Dtype::f32, values));
}

ValueId timesRows(MapContext& c, ValueId x, const std::vector<double>& values, int64_t rows,
                  std::string_view what) {
  const auto count = static_cast<int64_t>(values.size());
  if (rows < 1 || count == 0 || count % rows != 0) {
    c.fail(DiagnosticId::badAttribute, std::string(what) + " has " + std::to_string(count) +
                                           " elements for " + std::to_string(rows) + " rows");
    return kNoValue;
  }
  const ValueId matrix =
      c.constant(HostTensor::vectorReal(Dtype::f32, values).reshaped({rows, count / rows}));
  return c.emit("matmul", {x, matrix}, {{"transpose_b", int64_t{1}}});
}

}  // namespace dyn::onnx
