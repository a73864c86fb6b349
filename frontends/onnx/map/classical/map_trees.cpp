// Ensembles of trees: the leaf that each row reaches in each tree (walk_trees), then what the leaves say.
#include <algorithm>
#include <limits>
#include <set>

#include "frontends/onnx/map/classical/model_scores.h"
#include "frontends/onnx/map/classical/tree_nodes.h"
#include "frontends/onnx/map/classical/tree_tables.h"
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

constexpr Dtype kPlace = Dtype::i32;

ValueId realTable(MapContext& c, const std::vector<double>& values, Dtype dtype) {
  return c.constant(HostTensor::vectorReal(dtype, values));
}

ValueId placeTable(MapContext& c, const std::vector<int64_t>& values) {
  return c.constant(HostTensor::vectorInt(kPlace, values));
}

ValueId entriesAt(MapContext& c, ValueId table, ValueId places) {
  return c.emit("gather", {table, places}, {{"axis", int64_t{0}}});
}

// The leaves [n, starts] that the rows of x [n, f] reach from these places.
ValueId leavesReached(MapContext& c, ValueId x, const TreeTables& trees, const std::vector<int64_t>& starts,
                      Dtype dtype) {
  // So many steps are one operation. More of them are iterations of a loop: not every target has a kernel
  // that walks down any number.
  constexpr int64_t kSteps = 64;
  ValueId places = placeTable(c, starts);
  if (trees.depth == 0) {
    const auto count = static_cast<int64_t>(starts.size());
    places = c.emit("expand", {places, joinedShape(c, {dimAt(c, x, 0), c.integersValue({count})})});
    return c.emit("sub", {c.numberOf(-1, kPlace), places});
  }
  const ValueId splits = realTable(c, trees.splits, dtype);
  const ValueId links = c.constant(
      HostTensor::vectorInt(kPlace, trees.links).reshaped({static_cast<int64_t>(trees.splits.size()), 4}));
  const auto walked = [&](ValueId from, int64_t steps) {
    return c.emit("walk_trees", {x, splits, links, from}, {{"steps", steps}});
  };
  if (trees.depth <= kSteps) {
    places = walked(places, trees.depth);
  } else {
    const ValueId iterations = c.integerValue((trees.depth - 1) / kSteps);
    places = c.emitLoop(iterations, {walked(places, kSteps)}, 0, [&](const MapContext::LoopBody& body) {
      return std::vector<ValueId>{walked(body.carried[0], kSteps)};
    })[0];
  }
  return c.emit("sub", {c.numberOf(-1, kPlace), places});
}

enum class Aggregate : uint8_t { sum, average, least, most };

double nothingOf(Aggregate aggregate) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return aggregate == Aggregate::least ? infinity : aggregate == Aggregate::most ? -infinity : 0;
}

ValueId aggregated(MapContext& c, ValueId x, Aggregate aggregate, int64_t axis) {
  const char* op = aggregate == Aggregate::least  ? "reduce_min"
                   : aggregate == Aggregate::most ? "reduce_max"
                                                  : "reduce_sum";
  return c.emit(op, {x, c.integersValue({axis})}, {{"keepdims", int64_t{0}}});
}

// Which targets have a weight in some leaf of each tree: a score whatever the row is.
std::vector<bool> alwaysScored(const TreeNodes& nodes, int64_t targets) {
  const auto trees = static_cast<int64_t>(nodes.roots.size());
  std::vector<int64_t> leaves(static_cast<size_t>(trees), 0);
  for (size_t i = 0; i != nodes.count(); ++i)
    if (nodes.isLeaf(i) && nodes.treeOf[i] >= 0) ++leaves[static_cast<size_t>(nodes.treeOf[i])];
  std::vector<std::pair<int64_t, int64_t>> named;  // leaf and target, each once; mostly they stand in order
  named.reserve(nodes.weights.size());
  for (const TreeNodes::Weight& weight : nodes.weights) named.emplace_back(weight.leaf, weight.target);
  if (!std::is_sorted(named.begin(), named.end())) std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  std::vector<int64_t> scored(static_cast<size_t>(trees * targets), 0);
  std::vector<bool> always(static_cast<size_t>(targets), false);
  for (const auto& [leaf, target] : named) {
    const int64_t tree = nodes.treeOf[static_cast<size_t>(leaf)];
    if (tree < 0) continue;
    if (++scored[static_cast<size_t>(tree * targets + target)] == leaves[static_cast<size_t>(tree)])
      always[static_cast<size_t>(target)] = true;
  }
  return always;
}

// The trees of each target, where each tree has one only and they are about equally many; else empty.
std::vector<std::vector<size_t>> treesByTarget(const TreeNodes& nodes, int64_t targets) {
  std::vector<int64_t> targetOf(nodes.roots.size(), -1);
  for (const TreeNodes::Weight& weight : nodes.weights) {
    const int64_t tree = nodes.treeOf[static_cast<size_t>(weight.leaf)];
    if (tree < 0) continue;
    int64_t& target = targetOf[static_cast<size_t>(tree)];
    if (target >= 0 && target != weight.target) return {};
    target = weight.target;
  }
  std::vector<std::vector<size_t>> groups(static_cast<size_t>(targets));
  for (size_t tree = 0; tree != targetOf.size(); ++tree)
    groups[static_cast<size_t>(std::max<int64_t>(targetOf[tree], 0))].push_back(tree);
  size_t most = 0;
  for (const auto& group : groups) most = std::max(most, group.size());
  return most * groups.size() <= 2 * nodes.roots.size() ? groups : std::vector<std::vector<size_t>>();
}

// Scores [n, targets] before base values.
ValueId treeScores(MapContext& c, ValueId x, const TreeNodes& nodes, int64_t targets, Aggregate aggregate,
                   Dtype dtype) {
  const double nothing = nothingOf(aggregate);
  const auto put = [&](double& cell, double value) {
    cell = aggregate == Aggregate::least  ? std::min(cell, value)
           : aggregate == Aggregate::most ? std::max(cell, value)
                                          : cell + value;
  };
  const TreeTables trees = tablesOf(nodes, dtype);
  const auto leafOf = [&](const TreeNodes::Weight& weight) {
    return trees.leafOf[static_cast<size_t>(weight.leaf)];
  };
  const std::vector<std::vector<size_t>> groups = treesByTarget(nodes, targets);
  ValueId scores = kNoValue;
  if (!groups.empty()) {
    size_t most = 0;
    for (const auto& group : groups) most = std::max(most, group.size());
    // One more leaf without weight fills up the groups.
    std::vector<int64_t> starts;
    for (const std::vector<size_t>& group : groups)
      for (size_t i = 0; i != most; ++i)
        starts.push_back(i < group.size() ? trees.starts[group[i]] : -1 - trees.leaves);
    std::vector<double> table(static_cast<size_t>(trees.leaves) + 1, nothing);
    for (const TreeNodes::Weight& weight : nodes.weights)
      if (leafOf(weight) >= 0) put(table[static_cast<size_t>(leafOf(weight))], weight.value);
    const ValueId leaves = leavesReached(c, x, trees, starts, dtype);
    const ValueId grouped = reshaped(
        c, leaves, joinedShape(c, {dimAt(c, x, 0), c.integersValue({targets, static_cast<int64_t>(most)})}));
    scores = aggregated(c, entriesAt(c, realTable(c, table, dtype), grouped), aggregate, 2);
  } else {
    std::vector<double> table(static_cast<size_t>(trees.leaves * targets), nothing);
    for (const TreeNodes::Weight& weight : nodes.weights)
      if (leafOf(weight) >= 0)
        put(table[static_cast<size_t>(leafOf(weight) * targets + weight.target)], weight.value);
    const ValueId weights =
        c.constant(HostTensor::vectorReal(dtype, table).reshaped({trees.leaves, targets}));
    scores =
        aggregated(c, entriesAt(c, weights, leavesReached(c, x, trees, trees.starts, dtype)), aggregate, 1);
  }
  if (aggregate == Aggregate::average)
    scores = c.emit("div", {scores, c.number(static_cast<double>(nodes.roots.size()), scores)});
  const std::vector<bool> always = alwaysScored(nodes, targets);
  const bool mayLack = std::find(always.begin(), always.end(), false) != always.end();
  if (nothing == 0 || !mayLack) return scores;
  return c.emit("where", {c.emit("equal", {scores, c.number(nothing, scores)}), c.number(0, scores), scores});
}

ValueId withBase(MapContext& c, ValueId scores, const std::vector<double>& base, Dtype dtype) {
  return base.empty() ? scores : c.emit("add", {scores, realTable(c, base, dtype)});
}

bool targetsAreThere(MapContext& c, const TreeNodes& nodes, int64_t targets) {
  if (targets < 1) c.fail(DiagnosticId::badAttribute, "it has no targets");
  for (const TreeNodes::Weight& weight : nodes.weights)
    if (weight.target < 0 || weight.target >= targets)
      c.fail(DiagnosticId::badAttribute, "target " + std::to_string(weight.target) +
                                             " of a leaf is outside [0, " + std::to_string(targets) + ")");
  if (!nodes.weights.empty()) return !c.failed();
  c.fail(DiagnosticId::badAttribute, "its leaves have no weights");
  return false;
}

Aggregate aggregateNamed(MapContext& c, const std::string& name) {
  if (name == "AVERAGE") return Aggregate::average;
  if (name == "MIN") return Aggregate::least;
  if (name == "MAX") return Aggregate::most;
  if (name != "SUM")
    c.fail(DiagnosticId::badAttribute, "aggregate_function " + quotedText(name) + " is not known");
  return Aggregate::sum;
}

// Two classes whose leaves name one of them.
void classifyByOne(MapContext& c, ValueId score, bool isSecond, bool signedScores, const HostTensor& labels,
                   const std::string& transform) {
  const ValueId bound = c.number(signedScores ? 0 : 0.5, score);
  const ValueId above = c.emit("greater", {score, bound});
  c.setOutput(0, labelsAt(c, labels, reshaped(c, above, c.integersValue({-1}))));
  if (!isSecond) return c.setOutput(1, castTo(c, bothScores(c, score, signedScores, transform), Dtype::f32));
  const ValueId none = c.emit("mul", {score, c.number(0, score)});
  const ValueId both = c.emit("concat", {none, score}, {{"axis", int64_t{1}}});
  c.setOutput(1, castTo(c, transformedScores(c, both, transform), Dtype::f32));
}

}  // namespace

void mapTreeEnsembleRegressor(MapContext& c) {
  const ValueId x = rowsOf(c, c.input(0), DoubleRows::keep);
  const Dtype dtype = c.dtypeOr(x, Dtype::f32);
  TreeNodes nodes = readNamedTrees(c, "target");
  const int64_t targets = c.integer("n_targets", 1);
  const Aggregate aggregate = aggregateNamed(c, c.text("aggregate_function", "SUM"));
  const std::vector<double> base = realsOrTensor(c, "base_values");
  const std::string transform = c.text("post_transform", "NONE");
  if (c.failed() || !targetsAreThere(c, nodes, targets)) return;
  if (!base.empty() && base.size() != static_cast<size_t>(targets))
    return c.fail(DiagnosticId::badAttribute, "it has " + std::to_string(base.size()) + " base values for " +
                                                  std::to_string(targets) + " targets");
  ValueId scores = withBase(c, treeScores(c, x, nodes, targets, aggregate, dtype), base, dtype);
  // Of one target only PROBIT means something else than the number itself.
  if (targets > 1 || transform == "PROBIT") scores = transformedScores(c, scores, transform);
  c.setOutput(0, castTo(c, scores, Dtype::f32));
}

void mapTreeEnsembleClassifier(MapContext& c) {
  const ValueId x = rowsOf(c, c.input(0), DoubleRows::keep);
  const Dtype dtype = c.dtypeOr(x, Dtype::f32);
  TreeNodes nodes = readNamedTrees(c, "class");
  const HostTensor labels = classLabels(c, "classlabels_int64s", "classlabels_strings");
  const std::vector<double> base = realsOrTensor(c, "base_values");
  const std::string transform = c.text("post_transform", "NONE");
  const int64_t classes = labels.elementCount();
  if (c.failed() || !targetsAreThere(c, nodes, classes)) return;
  std::set<int64_t> named;
  bool signedScores = false;
  for (const TreeNodes::Weight& weight : nodes.weights) {
    named.insert(weight.target);
    signedScores |= weight.value < 0;
  }
  if (classes == 2 && named.size() == 1) {
    const bool isSecond = *named.begin() == 1;
    if (base.size() > 1 || (isSecond && !base.empty()))
      return c.unsupported(
          "base values where the leaves name one of two classes: the standard does not say what they mean");
    for (TreeNodes::Weight& weight : nodes.weights) weight.target = 0;
    const ValueId score = withBase(c, treeScores(c, x, nodes, 1, Aggregate::sum, dtype), base, dtype);
    return classifyByOne(c, score, isSecond, signedScores, labels, transform);
  }
  if (!base.empty() && base.size() != static_cast<size_t>(classes))
    return c.fail(DiagnosticId::badAttribute, "it has " + std::to_string(base.size()) + " base values for " +
                                                  std::to_string(classes) + " classes");
  const std::vector<bool> always = alwaysScored(nodes, classes);
  const bool mayLack = base.empty() && std::find(always.begin(), always.end(), false) != always.end();
  ValueId judged = kNoValue;
  if (mayLack) {
    // A class that no leaf named has no chance, even where the others are below 0.
    TreeNodes counted = nodes;
    for (TreeNodes::Weight& weight : counted.weights) weight.value = 1;
    judged = treeScores(c, x, counted, classes, Aggregate::sum, dtype);
  }
  const ValueId scores = withBase(c, treeScores(c, x, nodes, classes, Aggregate::sum, dtype), base, dtype);
  if (mayLack) {
    const ValueId lacks = c.emit("equal", {judged, c.number(0, judged)});
    judged = c.emit("where", {lacks, c.number(-std::numeric_limits<double>::infinity(), scores), scores});
  } else {
    judged = scores;
  }
  c.setOutput(
      0, labelsAt(c, labels, c.emit("argmax", {judged}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}})));
  c.setOutput(1, castTo(c, transformedScores(c, scores, transform), Dtype::f32));
}

void mapTreeEnsemble(MapContext& c) {
  static constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::optional<Dtype> given = c.inferredDtype(c.input(0));
  const ValueId x = rowsOf(c, c.input(0), DoubleRows::keep);
  const Dtype dtype = c.dtypeOr(x, Dtype::f32);
  TreeNodes nodes = readPlacedTrees(c);
  const int64_t targets = c.integer("n_targets", 1), aggregate = c.integer("aggregate_function", 1),
                transform = c.integer("post_transform", 0);
  if (aggregate < 0 || aggregate >= static_cast<int64_t>(std::size(kAggregates)) || transform < 0 ||
      transform >= static_cast<int64_t>(std::size(kTransforms)))
    return c.fail(DiagnosticId::badAttribute, "aggregate_function or post_transform is outside its numbers");
  if (c.failed() || !targetsAreThere(c, nodes, targets)) return;
  ValueId scores = treeScores(c, x, nodes, targets, aggregateNamed(c, kAggregates[aggregate]), dtype);
  if (targets > 1 || transform == 4) scores = transformedScores(c, scores, kTransforms[transform]);
  c.setOutput(0, castTo(c, scores, given.value_or(dtype)));
}

}  // namespace dyn::onnx
