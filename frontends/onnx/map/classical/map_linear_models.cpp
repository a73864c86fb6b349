// Linear models of ai.onnx.ml.
#include "frontends/onnx/map/classical/model_scores.h"
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

ValueId withIntercepts(MapContext& c, ValueId scores, const std::vector<double>& intercepts, int64_t count) {
  if (intercepts.empty()) return scores;
  if (static_cast<int64_t>(intercepts.size()) != count)
    c.fail(DiagnosticId::badAttribute, "it has " + std::to_string(intercepts.size()) + " intercepts for " +
                                           std::to_string(count) + " scores");
  return c.emit("add", {scores, vectorOf(c, intercepts)});
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

}  // namespace dyn::onnx
