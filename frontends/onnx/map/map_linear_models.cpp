// Linear models and support vectors of ai.onnx.ml.
#include "frontends/onnx/map/map_functions.h"
#include "frontends/onnx/map/model_scores.h"

namespace dyn::onnx {
namespace {

ValueId vectorOf(MapContext& c, const std::vector<double>& values) {
  return c.constant(HostTensor::vectorReal(Dtype::f32, values));
}

// x [n, f] times `rows` [k, f] → [n, k]
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

ValueId withIntercepts(MapContext& c, ValueId scores, const std::vector<double>& intercepts, int64_t count) {
  if (intercepts.empty()) return scores;
  if (static_cast<int64_t>(intercepts.size()) != count)
    c.fail(DiagnosticId::badAttribute, "it has " + std::to_string(intercepts.size()) + " intercepts for " +
                                           std::to_string(count) + " scores");
  return c.emit("add", {scores, vectorOf(c, intercepts)});
}

// The kernel function of each row of x and each support vector: [n, k].
ValueId kernelValues(MapContext& c, ValueId x, const std::vector<double>& vectors, int64_t count) {
  const std::string kernel = c.text("kernel_type", "LINEAR");
  std::vector<double> parameters = c.reals("kernel_params");  // gamma, coef0, degree
  parameters.resize(3, 0);
  const ValueId dots = timesRows(c, x, vectors, count, "support_vectors");
  if (c.failed() || kernel == "LINEAR") return dots;
  const auto number = [&](double value) { return c.number(value, dots); };
  const auto affine = [&] {
    return c.emit("add", {c.emit("mul", {dots, number(parameters[0])}), number(parameters[1])});
  };
  if (kernel == "POLY") return c.emit("pow", {affine(), number(parameters[2])});
  if (kernel == "SIGMOID") return c.emit("tanh", {affine()});
  if (kernel != "RBF") {
    c.fail(DiagnosticId::badAttribute, "kernel_type " + quotedText(kernel) + " is not known");
    return dots;
  }
  // exp(-gamma |x - v|²), the distance by its differences: nothing cancels between large squares.
  const auto width = static_cast<int64_t>(vectors.size()) / count;
  const ValueId matrix = c.constant(HostTensor::vectorReal(Dtype::f32, vectors).reshaped({count, width}));
  const ValueId difference = c.emit("sub", {unsqueezed(c, x, {1}), matrix});
  const ValueId distance =
      c.emit("reduce_sum_square", {difference, c.integersValue({2})}, {{"keepdims", int64_t{0}}});
  return c.emit("exp", {c.emit("mul", {distance, number(-parameters[0])})});
}

}  // namespace

void mapLinearRegressor(MapContext& c) {
  const ValueId x = rowsOf(c, c.input(0), DoubleRows::narrow);
  const int64_t targets = c.integer("targets", 1);
  const std::vector<double> intercepts = c.reals("intercepts");
  const std::string transform = c.text("post_transform", "NONE");
  const ValueId scores = withIntercepts(c, timesRows(c, x, c.reals("coefficients"), targets, "coefficients"),
                                        intercepts, targets);
  // Of one target only PROBIT means something else than the number itself.
  c.setOutput(0, targets > 1 || transform == "PROBIT" ? transformedScores(c, scores, transform) : scores);
}

void mapLinearClassifier(MapContext& c) {
  const ValueId x = rowsOf(c, c.input(0), DoubleRows::narrow);
  c.ignoreAttribute("multi_class");
  const HostTensor labels = classLabels(c, "classlabels_ints", "classlabels_strings");
  const std::vector<double> coefficients = c.reals("coefficients"), intercepts = c.reals("intercepts");
  const std::string transform = c.text("post_transform", "NONE");
  const auto scoreCount = static_cast<int64_t>(intercepts.size());
  if (c.failed()) return;
  const int64_t classes = labels.elementCount();
  if (scoreCount == 0)
    return c.unsupported("no intercepts: they say how many scores there are",
                         "write one intercept of 0 for each score");
  const ValueId scores =
      withIntercepts(c, timesRows(c, x, coefficients, scoreCount, "coefficients"), intercepts, scoreCount);
  if (scoreCount == 1 && classes == 2) {
    const ValueId second = c.emit("greater", {scores, c.number(0, scores)});
    c.setOutput(0, labelsAt(c, labels, reshaped(c, second, c.integersValue({-1}))));
    return c.setOutput(1, bothScores(c, scores, false, transform));
  }
  if (scoreCount != classes)
    return c.fail(DiagnosticId::badAttribute, "it has " + std::to_string(scoreCount) + " scores for " +
                                                  std::to_string(classes) + " classes");
  c.setOutput(
      0, labelsAt(c, labels, c.emit("argmax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}})));
  c.setOutput(1, transformedScores(c, scores, transform));
}

void mapSvmRegressor(MapContext& c) {
  const ValueId x = rowsOf(c, c.input(0), DoubleRows::narrow);
  const int64_t supports = c.integer("n_supports", 0);
  const std::vector<double> coefficients = c.reals("coefficients"), vectors = c.reals("support_vectors"),
                            rho = c.reals("rho");
  const std::string transform = c.text("post_transform", "NONE");
  if (rho.size() != 1) return c.fail(DiagnosticId::badAttribute, "attribute 'rho' has to have one element");
  if (supports > 0 && coefficients.size() != static_cast<size_t>(supports))
    return c.fail(DiagnosticId::badAttribute, "it has " + std::to_string(coefficients.size()) +
                                                  " coefficients for " + std::to_string(supports) +
                                                  " support vectors");
  if (supports <= 0 && c.text("kernel_type", "LINEAR") != "LINEAR")
    c.unsupported("a kernel without support vectors");
  const ValueId values = supports > 0 ? kernelValues(c, x, vectors, supports) : x;
  if (supports <= 0) (void)c.reals("kernel_params");
  ValueId y = c.emit("add", {timesRows(c, values, coefficients, 1, "coefficients"), vectorOf(c, rho)});
  if (c.integer("one_class", 0) != 0)
    y = c.emit("where", {c.emit("greater", {y, c.number(0, y)}), c.number(1, y), c.number(-1, y)});
  c.setOutput(0, transform == "PROBIT" ? transformedScores(c, y, transform) : y);
}

}  // namespace dyn::onnx
