#include "frontends/onnx/map/classical/tree_nodes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace dyn::onnx {
namespace {

std::vector<double> realsOf(const std::optional<HostTensor>& tensor) {
  std::vector<double> values;
  if (!tensor) return values;
  for (int64_t i = 0; i != tensor->elementCount(); ++i) values.push_back(tensor->realAt(i));
  return values;
}

std::vector<int64_t> integersOf(const std::optional<HostTensor>& tensor) {
  std::vector<int64_t> values;
  if (!tensor) return values;
  for (int64_t i = 0; i != tensor->elementCount(); ++i) values.push_back(tensor->intAt(i));
  return values;
}

// A list as it lies in the model: millions of nodes are not copied to look at them. Empty after a failure.
std::span<const int64_t> integersIn(MapContext& c, const std::string& name) {
  const AttributeProto* found = c.attribute(name);
  if (found && found->type == AttributeType::integers) return found->ints();
  (void)c.integers(name);  // says what is wrong
  return {};
}

std::span<const Text> textsIn(MapContext& c, const std::string& name) {
  const AttributeProto* found = c.attribute(name);
  if (found && found->type == AttributeType::texts) return found->strings();
  (void)c.texts(name);
  return {};
}

void invalid(MapContext& c, std::string message) { c.fail(DiagnosticId::badAttribute, std::move(message)); }

bool sameLength(MapContext& c, std::string_view name, size_t size, size_t expected) {
  if (size == expected) return true;
  invalid(c, "attribute " + quotedText(std::string(name)) + " has " + std::to_string(size) +
                 " elements where " + std::to_string(expected) + " are demanded");
  return false;
}

std::optional<TreeMode> modeNamed(std::string_view name) {
  static constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                                "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (size_t i = 0; i != std::size(kNames); ++i)
    if (kNames[i] == name) return static_cast<TreeMode>(i);
  return std::nullopt;
}

// Where the node of a tree stands among all. Files name them in order, mostly without gaps: that is looked at
// first, anything else is sorted once.
class NodePlaces {
 public:
  NodePlaces(std::span<const int64_t> trees, std::span<const int64_t> names) : trees_(trees), names_(names) {
    const auto before = [&](int64_t a, int64_t b) { return keyOf(a) < keyOf(b); };
    bool ordered = true;
    for (size_t i = 1; i < trees.size() && ordered; ++i)
      ordered = std::pair(trees[i - 1], names[i - 1]) < std::pair(trees[i], names[i]);
    if (!ordered) {
      sorted_.resize(trees.size());
      std::iota(sorted_.begin(), sorted_.end(), int64_t{0});
      std::sort(sorted_.begin(), sorted_.end(), before);
    }
    for (size_t i = 0; i != trees.size(); ++i) {
      const int64_t tree = trees[static_cast<size_t>(at(i))];
      if (starts_.empty() || starts_.back().first != tree) starts_.emplace_back(tree, i);
    }
  }

  // A node of which there is another one with its name.
  std::optional<size_t> twice() const {
    for (size_t i = 1; i < sorted_.size(); ++i)
      if (keyOf(sorted_[i - 1]) == keyOf(sorted_[i]))
        return static_cast<size_t>(std::max(sorted_[i - 1], sorted_[i]));
    return std::nullopt;
  }

  // -1: there is none.
  int64_t find(int64_t tree, int64_t name) const {
    const size_t known = lastTree_;
    if (known >= starts_.size() || starts_[known].first != tree) {
      const auto start = std::lower_bound(starts_.begin(), starts_.end(), std::pair(tree, size_t{0}));
      if (start == starts_.end() || start->first != tree) return -1;
      lastTree_ = static_cast<size_t>(start - starts_.begin());
    }
    size_t low = starts_[lastTree_].second,
           high = lastTree_ + 1 < starts_.size() ? starts_[lastTree_ + 1].second : trees_.size();
    // Without gaps it is as far from the first as its name.
    const int64_t first = names_[static_cast<size_t>(at(low))];
    const uint64_t distance = static_cast<uint64_t>(name) - static_cast<uint64_t>(first);
    if (distance < high - low && names_[static_cast<size_t>(at(low + distance))] == name)
      return at(low + distance);
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      const int64_t there = names_[static_cast<size_t>(at(middle))];
      if (there == name) return at(middle);
      if (there < name)
        low = middle + 1;
      else
        high = middle;
    }
    return -1;
  }

 private:
  std::pair<int64_t, int64_t> keyOf(int64_t i) const {
    return {trees_[static_cast<size_t>(i)], names_[static_cast<size_t>(i)]};
  }
  int64_t at(size_t i) const { return sorted_.empty() ? static_cast<int64_t>(i) : sorted_[i]; }

  std::span<const int64_t> trees_, names_;
  std::vector<int64_t> sorted_;                     // places by (tree, name); empty: they stand so
  std::vector<std::pair<int64_t, size_t>> starts_;  // of each tree among them, by tree
  mutable size_t lastTree_ = 0;                     // that was asked for
};

// The nodes that roots lead to, each in one tree; a node may end several branches of it.
std::vector<int64_t> reachable(MapContext& c, TreeNodes& nodes) {
  nodes.treeOf.assign(nodes.count(), -1);
  std::vector<int64_t> reached;
  reached.reserve(nodes.count());
  const auto reach = [&](int64_t node, int64_t tree) {
    int64_t& known = nodes.treeOf[static_cast<size_t>(node)];
    if (known >= 0 && known != tree) invalid(c, "two trees have node " + std::to_string(node));
    if (known < 0) reached.push_back(node);
    known = tree;
  };
  size_t i = 0;  // one tree after the other: its nodes lie side by side
  for (size_t tree = 0; tree != nodes.roots.size(); ++tree) {
    reach(nodes.roots[tree], static_cast<int64_t>(tree));
    for (; i != reached.size(); ++i) {
      const auto node = static_cast<size_t>(reached[i]);
      reach(nodes.onTrue[node], nodes.treeOf[node]);
      reach(nodes.onFalse[node], nodes.treeOf[node]);
    }
  }
  return reached;
}

// The longest way from a root to a leaf; a failure where a branch leads back.
void measureDepth(MapContext& c, TreeNodes& nodes) {
  const std::vector<int64_t> reached = reachable(c, nodes);
  std::vector<int32_t> open(nodes.count(), 0), level(nodes.count(), 0);
  std::vector<int64_t> ready;
  ready.reserve(reached.size());
  for (int64_t node : reached) {
    if (nodes.isLeaf(static_cast<size_t>(node))) continue;
    ++open[static_cast<size_t>(nodes.onTrue[static_cast<size_t>(node)])];
    ++open[static_cast<size_t>(nodes.onFalse[static_cast<size_t>(node)])];
  }
  size_t i = 0;
  for (int64_t root : nodes.roots) {
    if (open[static_cast<size_t>(root)] == 0) ready.push_back(root);
    for (; i != ready.size(); ++i) {
      const auto node = static_cast<size_t>(ready[i]);
      nodes.depth = std::max<int64_t>(nodes.depth, level[node]);
      if (nodes.isLeaf(node)) continue;
      for (int64_t child : {nodes.onTrue[node], nodes.onFalse[node]}) {
        const auto below = static_cast<size_t>(child);
        level[below] = std::max(level[below], level[node] + 1);
        if (--open[below] == 0) ready.push_back(child);
      }
    }
  }
  if (ready.size() != reached.size()) invalid(c, "a branch of a tree leads back to where it came from");
}

// Where a value lies in a set: a chain of nodes that ask for one element each.
void expandMembers(MapContext& c, TreeNodes& nodes, const std::vector<double>& members) {
  size_t at = 0;
  const size_t count = nodes.count();
  for (size_t node = 0; node != count; ++node) {
    if (nodes.mode[node] != TreeMode::member) continue;
    const size_t first = at;
    while (at != members.size() && !std::isnan(members[at])) ++at;
    if (at == members.size() || at == first)
      return invalid(c, "attribute 'membership_values' has no set for node " + std::to_string(node));
    nodes.mode[node] = TreeMode::equal;
    nodes.split[node] = members[first];
    const int64_t otherwise = nodes.onFalse[node];
    size_t last = node;
    for (size_t i = first + 1; i != at; ++i) {
      nodes.onFalse[last] = static_cast<int64_t>(nodes.count());
      last = nodes.count();
      nodes.feature.push_back(nodes.feature[node]);
      nodes.onTrue.push_back(nodes.onTrue[node]);
      nodes.onFalse.push_back(otherwise);
      nodes.split.push_back(members[i]);
      nodes.mode.push_back(TreeMode::equal);
      nodes.missingIsTrue.push_back(nodes.missingIsTrue[node]);
    }
    ++at;
  }
}

// What both forms share once nodes, roots and weights are known.
TreeNodes finished(MapContext& c, TreeNodes nodes) {
  if (!c.failed() && nodes.roots.empty()) invalid(c, "it has no trees");
  const auto size = static_cast<int64_t>(nodes.count());
  for (size_t i = 0; i != nodes.count() && !c.failed(); ++i) {
    if (nodes.isLeaf(i)) {
      nodes.onTrue[i] = nodes.onFalse[i] = static_cast<int64_t>(i);
      nodes.feature[i] = 0;
      nodes.split[i] = 0;
      nodes.missingIsTrue[i] = 0;
    } else if (nodes.feature[i] < 0 || nodes.onTrue[i] < 0 || nodes.onTrue[i] >= size ||
               nodes.onFalse[i] < 0 || nodes.onFalse[i] >= size) {
      invalid(c, "node " + std::to_string(i) + " names a feature or a branch that does not exist");
    }
  }
  if (!c.failed()) measureDepth(c, nodes);
  return c.failed() ? TreeNodes() : std::move(nodes);
}

}  // namespace

std::vector<double> realsOrTensor(MapContext& c, const std::string& name) {
  std::vector<double> values = c.reals(name);
  return values.empty() ? realsOf(c.tensor(name + "_as_tensor")) : values;
}

TreeNodes readNamedTrees(MapContext& c, std::string_view prefix) {
  TreeNodes nodes;
  nodes.feature = c.integers("nodes_featureids");
  nodes.split = realsOrTensor(c, "nodes_values");
  nodes.onTrue = c.integers("nodes_truenodeids");
  nodes.onFalse = c.integers("nodes_falsenodeids");
  nodes.missingIsTrue = c.integers("nodes_missing_value_tracks_true");
  for (const char* unused : {"nodes_hitrates", "nodes_hitrates_as_tensor"}) c.ignoreAttribute(unused);
  const std::span<const int64_t> trees = integersIn(c, "nodes_treeids"),
                                 names = integersIn(c, "nodes_nodeids");
  const std::span<const Text> modes = textsIn(c, "nodes_modes");
  const size_t count = modes.size();
  if (nodes.missingIsTrue.empty()) nodes.missingIsTrue.assign(count, 0);
  const bool equal = sameLength(c, "nodes_featureids", nodes.feature.size(), count) &&
                     sameLength(c, "nodes_values", nodes.split.size(), count) &&
                     sameLength(c, "nodes_truenodeids", nodes.onTrue.size(), count) &&
                     sameLength(c, "nodes_falsenodeids", nodes.onFalse.size(), count) &&
                     sameLength(c, "nodes_missing_value_tracks_true", nodes.missingIsTrue.size(), count) &&
                     sameLength(c, "nodes_treeids", trees.size(), count) &&
                     sameLength(c, "nodes_nodeids", names.size(), count);
  if (!equal) return {};
  const NodePlaces places(trees, names);
  if (const std::optional<size_t> twice = places.twice())
    invalid(c, "tree " + std::to_string(trees[*twice]) + " has two nodes " + std::to_string(names[*twice]));
  nodes.mode.reserve(count);
  for (size_t i = 0; i != count; ++i) {
    const std::optional<TreeMode> mode = modeNamed(modes[i]);
    if (!mode || *mode == TreeMode::member)
      invalid(c, "mode " + quotedText(modes[i]) + " of a node is not known");
    nodes.mode.push_back(mode.value_or(TreeMode::leaf));
  }
  const auto find = [&](int64_t tree, int64_t name) {
    const int64_t found = places.find(tree, name);
    if (found < 0) invalid(c, "tree " + std::to_string(tree) + " has no node " + std::to_string(name));
    return std::max<int64_t>(found, 0);
  };
  std::vector<bool> isChild(count, false);
  for (size_t i = 0; i != count && !c.failed(); ++i) {
    if (nodes.isLeaf(i)) continue;
    for (std::vector<int64_t>* branch : {&nodes.onTrue, &nodes.onFalse}) {
      (*branch)[i] = find(trees[i], (*branch)[i]);
      isChild[static_cast<size_t>((*branch)[i])] = true;
    }
  }
  for (size_t i = 0; i != count; ++i)
    if (!isChild[i]) nodes.roots.push_back(static_cast<int64_t>(i));
  const std::string start(prefix);
  const std::span<const int64_t> weightTrees = integersIn(c, start + "_treeids"),
                                 weightNodes = integersIn(c, start + "_nodeids"),
                                 targets = integersIn(c, start + "_ids");
  const std::vector<double> weights = realsOrTensor(c, start + "_weights");
  if (!sameLength(c, start + "_treeids", weightTrees.size(), weights.size()) ||
      !sameLength(c, start + "_nodeids", weightNodes.size(), weights.size()) ||
      !sameLength(c, start + "_ids", targets.size(), weights.size()))
    return {};
  nodes.weights.reserve(weights.size());
  for (size_t i = 0; i != weights.size() && !c.failed(); ++i)
    nodes.weights.push_back({find(weightTrees[i], weightNodes[i]), targets[i], weights[i]});
  return finished(c, std::move(nodes));
}

TreeNodes readPlacedTrees(MapContext& c) {
  TreeNodes nodes;
  nodes.roots = c.integers("tree_roots");
  nodes.feature = c.integers("nodes_featureids");
  nodes.split = realsOf(c.tensor("nodes_splits"));
  nodes.onTrue = c.integers("nodes_truenodeids");
  nodes.onFalse = c.integers("nodes_falsenodeids");
  nodes.missingIsTrue = c.integers("nodes_missing_value_tracks_true");
  c.ignoreAttribute("nodes_hitrates");
  const std::vector<int64_t> modes = integersOf(c.tensor("nodes_modes")),
                             trueLeaves = c.integers("nodes_trueleafs"),
                             falseLeaves = c.integers("nodes_falseleafs"),
                             targets = c.integers("leaf_targetids");
  const std::vector<double> weights = realsOf(c.tensor("leaf_weights")),
                            members = realsOf(c.tensor("membership_values"));
  const size_t count = modes.size();
  if (nodes.missingIsTrue.empty()) nodes.missingIsTrue.assign(count, 0);
  const bool equal = sameLength(c, "nodes_featureids", nodes.feature.size(), count) &&
                     sameLength(c, "nodes_splits", nodes.split.size(), count) &&
                     sameLength(c, "nodes_truenodeids", nodes.onTrue.size(), count) &&
                     sameLength(c, "nodes_falsenodeids", nodes.onFalse.size(), count) &&
                     sameLength(c, "nodes_missing_value_tracks_true", nodes.missingIsTrue.size(), count) &&
                     sameLength(c, "nodes_trueleafs", trueLeaves.size(), count) &&
                     sameLength(c, "nodes_falseleafs", falseLeaves.size(), count) &&
                     sameLength(c, "leaf_targetids", targets.size(), weights.size());
  if (!equal) return {};
  for (int64_t mode : modes) {
    if (mode < 0 || mode >= static_cast<int64_t>(TreeMode::leaf))
      invalid(c, "mode " + std::to_string(mode) + " of a node is not known");
    nodes.mode.push_back(static_cast<TreeMode>(mode));
  }
  // Each branch to a leaf gets a node of its own.
  const auto lead = [&](std::vector<int64_t>& branch, size_t i, bool toLeaf) {
    const int64_t there = branch[i];
    const size_t limit = toLeaf ? weights.size() : count;
    if (there < 0 || static_cast<size_t>(there) >= limit)
      return invalid(c, "node " + std::to_string(i) + " leads to a node or leaf that does not exist");
    if (!toLeaf) return;
    branch[i] = static_cast<int64_t>(nodes.count());
    for (std::vector<int64_t>* column : {&nodes.feature, &nodes.onTrue, &nodes.onFalse, &nodes.missingIsTrue})
      column->push_back(0);
    nodes.split.push_back(0);
    nodes.mode.push_back(TreeMode::leaf);
    nodes.weights.push_back({static_cast<int64_t>(nodes.count()) - 1, targets[static_cast<size_t>(there)],
                             weights[static_cast<size_t>(there)]});
  };
  for (size_t i = 0; i != count && !c.failed(); ++i) {
    lead(nodes.onTrue, i, trueLeaves[i] != 0);
    lead(nodes.onFalse, i, falseLeaves[i] != 0);
  }
  if (!c.failed()) expandMembers(c, nodes, members);
  for (int64_t root : nodes.roots)
    if (root < 0 || root >= static_cast<int64_t>(count)) invalid(c, "a tree's root is not there");
  return finished(c, std::move(nodes));
}

}  // namespace dyn::onnx
