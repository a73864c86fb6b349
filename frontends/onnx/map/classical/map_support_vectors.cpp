// Support vector machines of ai.onnx.ml.
#include <algorithm>

#include "frontends/onnx/map/classical/model_scores.h"
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

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

// A classifier for each pair of classes i < j, in the order of i, then j.
struct Pairs {
  int64_t classes = 0;
  std::vector<std::pair<int64_t, int64_t>> of;
  explicit Pairs(int64_t count) : classes(count) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = i + 1; j < count; ++j) of.emplace_back(i, j);
  }
  int64_t count() const { return static_cast<int64_t>(of.size()); }
};

struct Machine {
  std::vector<double> coefficients, vectors, rho;
  std::vector<int64_t> vectorsPerClass;
  int64_t vectorCount = 0;
};

// scores [n, pairs] of kernel values [n, vectors]. Row j - 1 of the coefficients holds for the vectors of
// class i, row i for those of class j.
ValueId pairScores(MapContext& c, ValueId kernels, const Machine& machine, const Pairs& pairs) {
  std::vector<int64_t> starts;
  int64_t start = 0;
  for (int64_t count : machine.vectorsPerClass) {
    starts.push_back(start);
    start += count;
  }
  std::vector<double> rows(static_cast<size_t>(pairs.count() * machine.vectorCount), 0);
  for (int64_t p = 0; p < pairs.count(); ++p) {
    const auto [i, j] = pairs.of[static_cast<size_t>(p)];
    const auto take = [&](int64_t owner, int64_t coefficientRow) {
      const int64_t begin = starts[static_cast<size_t>(owner)];
      for (int64_t v = begin; v < begin + machine.vectorsPerClass[static_cast<size_t>(owner)]; ++v)
        rows[static_cast<size_t>(p * machine.vectorCount + v)] =
            machine.coefficients[static_cast<size_t>(coefficientRow * machine.vectorCount + v)];
    };
    take(i, j - 1);
    take(j, i);
  }
  const std::vector<double> shifts(machine.rho.begin(), machine.rho.begin() + pairs.count());
  // Summed in f64, as votes hang on the sign.
  const ValueId wide = castTo(c, kernels, Dtype::f64);
  const ValueId matrix =
      c.constant(HostTensor::vectorReal(Dtype::f64, rows).reshaped({pairs.count(), machine.vectorCount}));
  const ValueId sums = c.emit("matmul", {wide, matrix}, {{"transpose_b", int64_t{1}}});
  return c.emit("add", {sums, c.constant(HostTensor::vectorReal(Dtype::f64, shifts))});
}

// [n]: the class that wins most pairs, the first of several. Above 0 the first of a pair wins.
ValueId mostVotes(MapContext& c, ValueId scores, const Pairs& pairs) {
  std::vector<double> won(static_cast<size_t>(pairs.count() * pairs.classes), 0), lost = won;
  for (size_t p = 0; p < pairs.of.size(); ++p) {
    won[p * static_cast<size_t>(pairs.classes) + static_cast<size_t>(pairs.of[p].first)] = 1;
    lost[p * static_cast<size_t>(pairs.classes) + static_cast<size_t>(pairs.of[p].second)] = 1;
  }
  const auto table = [&](const std::vector<double>& values) {
    return c.constant(HostTensor::vectorReal(Dtype::f32, values).reshaped({pairs.count(), pairs.classes}));
  };
  const ValueId above = c.emit("greater", {scores, c.number(0, scores)});
  const ValueId votes =
      c.emit("add", {c.emit("matmul", {castTo(c, above, Dtype::f32), table(won)}),
                     c.emit("matmul", {castTo(c, c.emit("logical_not", {above}), Dtype::f32), table(lost)})});
  return c.emit("argmax", {votes}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
}

// Probabilities [n, classes] of scores [n, pairs]: of each pair by a logistic function, then of all.
ValueId probabilities(MapContext& c, ValueId scores, const std::vector<double>& a,
                      const std::vector<double>& b, const Pairs& pairs) {
  const auto first = [&](const std::vector<double>& values) {
    return vectorOf(c, {values.begin(), values.begin() + pairs.count()});
  };
  const ValueId line = c.emit("add", {c.emit("mul", {scores, first(a)}), first(b)});
  const auto number = [&](double value) { return c.number(value, line); };
  constexpr double least = 1e-7;
  const ValueId chance = c.emit(
      "clip", {c.emit("sub", {number(1), c.emit("sigmoid", {line})}), number(least), number(1 - least)});
  // [n, classes, classes], out of columns: each pair's, what it leaves to the other class, and 0.
  const ValueId columns = c.emit(
      "concat",
      {chance, c.emit("sub", {number(1), chance}),
       c.emit("mul",
              {c.emit("slice", {chance, c.integersValue({0}), c.integersValue({1}), c.integersValue({1})}),
               number(0)})},
      {{"axis", int64_t{1}}});
  std::vector<int64_t> places(static_cast<size_t>(pairs.classes * pairs.classes), 2 * pairs.count());
  for (int64_t p = 0; p < pairs.count(); ++p) {
    const auto [i, j] = pairs.of[static_cast<size_t>(p)];
    places[static_cast<size_t>(i * pairs.classes + j)] = p;
    places[static_cast<size_t>(j * pairs.classes + i)] = pairs.count() + p;
  }
  const ValueId at =
      c.constant(HostTensor::vectorInt(Dtype::i64, places).reshaped({pairs.classes, pairs.classes}));
  return c.emit("pairwise_coupling", {c.emit("gather", {columns, at}, {{"axis", int64_t{1}}})});
}

Machine machineOf(MapContext& c, int64_t classes) {
  Machine machine{c.reals("coefficients"), c.reals("support_vectors"), c.reals("rho"),
                  c.integers("vectors_per_class")};
  for (int64_t count : machine.vectorsPerClass) {
    if (count < 0) c.fail(DiagnosticId::badAttribute, "a class has " + std::to_string(count) + " vectors");
    if (!c.failed()) machine.vectorCount += std::min<int64_t>(count, INT32_MAX);
  }
  const auto size = [](const std::vector<double>& values) { return static_cast<int64_t>(values.size()); };
  const auto demand = [&](const char* name, int64_t has, int64_t needs) {
    if (has < needs)
      c.fail(DiagnosticId::badAttribute, "attribute " + quotedText(name) + " has " + std::to_string(has) +
                                             " elements, it needs " + std::to_string(needs));
  };
  if (machine.vectorCount == 0) {
    demand("rho", size(machine.rho), 1);
    demand("coefficients", size(machine.coefficients), 1);
    return machine;
  }
  if (static_cast<int64_t>(machine.vectorsPerClass.size()) != classes || classes < 2)
    c.fail(DiagnosticId::badAttribute, "vectors_per_class is of " +
                                           std::to_string(machine.vectorsPerClass.size()) +
                                           " classes, there are " + std::to_string(classes));
  demand("coefficients", size(machine.coefficients), (classes - 1) * machine.vectorCount);
  demand("rho", size(machine.rho), classes * (classes - 1) / 2);
  return machine;
}

}  // namespace

void mapSvmClassifier(MapContext& c) {
  const ValueId x = rowsOf(c, c.input(0), DoubleRows::narrow);
  const HostTensor labels = classLabels(c, "classlabels_ints", "classlabels_strings");
  const std::string transform = c.text("post_transform", "NONE");
  const std::vector<double> a = c.reals("prob_a"), b = c.reals("prob_b");
  if (c.failed()) return;
  const int64_t classes = labels.elementCount();
  const Machine machine = machineOf(c, classes);
  if (a.size() != b.size()) return c.fail(DiagnosticId::badAttribute, "prob_a and prob_b differ in size");
  if (c.failed()) return;
  const auto best = [&](ValueId values) {
    return c.emit("argmax", {values}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  };
  if (machine.vectorCount == 0) {
    // One row of coefficients for each class.
    (void)c.text("kernel_type", "LINEAR");
    (void)c.reals("kernel_params");
    const ValueId products = timesRows(c, x, machine.coefficients, classes, "coefficients");
    const ValueId scores = c.emit("add", {products, c.number(machine.rho[0], products)});
    ValueId place = best(scores);
    if (classes == 2 && a.empty()) {
      const bool noneNegative = std::all_of(machine.coefficients.begin(), machine.coefficients.end(),
                                            [](double value) { return value >= 0; });
      const ValueId most = c.emit("reduce_max", {scores, c.integersValue({1})}, {{"keepdims", int64_t{0}}});
      const ValueId second = noneNegative ? c.emit("greater_equal", {most, c.number(0.5, most)})
                                          : c.emit("greater", {most, c.number(0, most)});
      place = c.emit("where", {second, c.integerValue(1), place});
    }
    c.setOutput(0, labelsAt(c, labels, place));
    return c.setOutput(1, transformedScores(c, scores, transform));
  }
  const Pairs pairs(classes);
  if (!a.empty() && static_cast<int64_t>(a.size()) < pairs.count())
    return c.fail(DiagnosticId::badAttribute, "prob_a has " + std::to_string(a.size()) + " elements for " +
                                                  std::to_string(pairs.count()) + " pairs of classes");
  const ValueId kernels = kernelValues(c, x, machine.vectors, machine.vectorCount);
  const ValueId wide = pairScores(c, kernels, machine, pairs);
  const ValueId scores = castTo(c, wide, Dtype::f32);
  c.setOutput(0, labelsAt(c, labels, mostVotes(c, wide, pairs)));
  if (!a.empty())
    return c.setOutput(1, transformedScores(c, probabilities(c, scores, a, b, pairs), transform));
  c.setOutput(1, classes == 2 ? bothScores(c, scores, transform == "NONE", transform)
                              : transformedScores(c, scores, transform));
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
