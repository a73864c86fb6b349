#include "app/session/answers/node_trees.h"

#include <algorithm>
#include <fstream>
#include <optional>

namespace dyn {

namespace {

using DrawnNode = NodeTrees::Node;

// The lines of the file that a specification names as `words=FILE`.
std::vector<std::string> wordLines(const std::vector<std::string>& specs) {
  constexpr size_t kMostWords = 1'000'000;
  constexpr std::string_view kWords = ",words=";
  std::vector<std::string> words;
  for (const std::string& spec : specs) {
    const size_t at = spec.find(kWords);
    if (at == std::string::npos) continue;
    const size_t begin = at + kWords.size();
    std::ifstream file(spec.substr(begin, spec.find(',', begin) - begin));
    for (std::string line; words.size() < kMostWords && std::getline(file, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      words.push_back(std::move(line));
    }
  }
  return words;
}

std::string wordAt(const std::vector<std::string>& words, int64_t number) {
  if (number >= 0 && number < static_cast<int64_t>(words.size())) return words[static_cast<size_t>(number)];
  return words.empty() ? "" : std::to_string(number);
}

void raiseAbove(std::vector<DrawnNode>& nodes, DrawnNode& node) {
  node.level = 0;
  for (const uint32_t child : node.children) {
    node.level = std::max(node.level, nodes[child].level + 1);
    nodes[child].isRoot = false;
  }
}

// --- values of a data type

// The first whole number of a node that is no part: a word's line, or the word.
std::optional<int64_t> firstNumber(const Value& value) {
  for (const Value& part : value.parts())
    if (part.isTensor() && part.tensor().elementCount() == 1 && isInteger(part.tensor().dtype()))
      return part.tensor().intAt(0);
  return std::nullopt;
}

int64_t partsCount(const Value& value) {
  return std::count_if(value.parts().begin(), value.parts().end(),
                       [](const Value& part) { return part.kind() == ValueKind::data; });
}

// From a list of what is to be done, as trees may be as deep as there is memory.
void addValue(const Value& root, const std::vector<std::string>& words, std::vector<DrawnNode>& nodes) {
  struct Task {
    const Value* value;
    size_t part = 0;
    std::vector<uint32_t> children = {};
  };
  std::vector<Task> tasks{{&root}};
  std::optional<uint32_t> made;
  while (!tasks.empty()) {
    Task& task = tasks.back();
    if (made) task.children.push_back(*std::exchange(made, std::nullopt));
    const std::span<const Value> parts = task.value->parts();
    while (task.part < parts.size() && parts[task.part].kind() != ValueKind::data) ++task.part;
    if (task.part < parts.size()) {
      tasks.push_back({&parts[task.part++]});
      continue;
    }
    DrawnNode node;
    node.children = std::move(task.children);
    node.number = static_cast<int64_t>(nodes.size());
    const std::optional<int64_t> number = firstNumber(*task.value);
    node.word = node.children.empty() && number ? wordAt(words, *number) : "";
    if (node.word.empty()) node.word = task.value->constructor();
    raiseAbove(nodes, node);
    made = static_cast<uint32_t>(nodes.size());
    nodes.push_back(std::move(node));
    tasks.pop_back();
  }
}

int64_t countNodes(const Value& root) {
  int64_t count = 0;
  std::vector<const Value*> open{&root};
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    ++count;
    for (const Value& part : value->parts())
      if (part.kind() == ValueKind::data) open.push_back(&part);
  }
  return count;
}

std::optional<NodeTrees> treesOfValue(const NamedValue& input, const std::vector<std::string>& words,
                                      size_t mostNodes) {
  std::vector<const Value*> roots;
  if (input.value.kind() == ValueKind::data) roots.push_back(&input.value);
  if (input.value.kind() == ValueKind::list)
    for (const Value& one : input.value.parts())
      if (one.kind() == ValueKind::data) roots.push_back(&one);
  NodeTrees trees;
  trees.input = input.name;
  bool isTree = false;
  for (const Value* root : roots) {
    const int64_t count = countNodes(*root);
    trees.allNodes += count;
    isTree = isTree || partsCount(*root) > 0;
    if (trees.nodes.size() + static_cast<size_t>(count) <= mostNodes) addValue(*root, words, trees.nodes);
  }
  // A value without parts, such as an option, is no tree.
  if (!isTree) return std::nullopt;
  return trees;
}

// --- arrays of children

const HostTensor* integersNamed(const RunResult& run, std::string_view name, size_t rank) {
  for (const NamedValue& input : run.inputs)
    if (input.name == name && input.value.isTensor() && input.value.tensor().shape().size() == rank &&
        isInteger(input.value.tensor().dtype()))
      return &input.value.tensor();
  return nullptr;
}

// Leaves are numbered first, then the nodes that have two children, each behind its own.
std::optional<NodeTrees> treesOfPairs(const RunResult& run, const std::vector<std::string>& words,
                                      size_t mostNodes) {
  const HostTensor *left = integersNamed(run, "left", 1), *right = integersNamed(run, "right", 1);
  const auto leavesDim = run.dims.find("leaves");
  if (!left || !right || leavesDim == run.dims.end() || left->elementCount() != right->elementCount())
    return std::nullopt;
  const int64_t leaves = leavesDim->second, inner = left->elementCount();
  NodeTrees trees;
  trees.input = "left and right";
  trees.allNodes = leaves + inner;
  const HostTensor* lines = integersNamed(run, "words", 1);
  for (int64_t i = 0; i < leaves + inner && trees.nodes.size() < mostNodes; ++i) {
    DrawnNode node;
    node.number = i;
    if (i >= leaves)
      for (const HostTensor* side : {left, right}) {
        int64_t child = side->intAt(i - leaves);
        if (child < 0 || child >= i) return std::nullopt;  // the model reads these numbers in another way
        node.children.push_back(static_cast<uint32_t>(child));
      }
    else if (lines && i < lines->elementCount())
      node.word = wordAt(words, lines->intAt(i));
    raiseAbove(trees.nodes, node);
    trees.nodes.push_back(std::move(node));
  }
  return trees;
}

// [nodes, k], children first; what a node lacks is a number that no node has.
std::optional<NodeTrees> treesOfTable(const RunResult& run, const std::vector<std::string>& words,
                                      size_t mostNodes) {
  const HostTensor* table = integersNamed(run, "children", 2);
  if (!table) return std::nullopt;
  const int64_t count = table->shape()[0], each = table->shape()[1];
  const HostTensor* lines = integersNamed(run, "words", 1);
  NodeTrees trees;
  trees.input = "children";
  trees.allNodes = count;
  for (int64_t i = 0; i < count && trees.nodes.size() < mostNodes; ++i) {
    DrawnNode node;
    node.number = i;
    for (int64_t k = 0; k < each; ++k) {
      const int64_t child = table->intAt(i * each + k);
      if (child < 0 || child >= count) continue;
      if (child >= i) return std::nullopt;
      node.children.push_back(static_cast<uint32_t>(child));
    }
    if (node.children.empty() && lines && i < lines->elementCount())
      node.word = wordAt(words, lines->intAt(i));
    raiseAbove(trees.nodes, node);
    trees.nodes.push_back(std::move(node));
  }
  return trees;
}

}  // namespace

uint32_t NodeTrees::levelsCount() const {
  uint32_t most = 0;
  for (const Node& node : nodes) most = std::max(most, node.level);
  return most;
}

int64_t NodeTrees::nodesOfLevel(uint32_t level) const {
  return std::count_if(nodes.begin(), nodes.end(), [&](const Node& node) { return node.level == level; });
}

std::vector<NodeTrees> nodeTrees(const RunResult& run, const std::vector<std::string>& specs,
                                 size_t mostNodes) {
  std::vector<NodeTrees> all;
  const std::vector<std::string> words = wordLines(specs);
  for (const NamedValue& input : run.inputs)
    if (auto trees = treesOfValue(input, words, mostNodes)) all.push_back(*std::move(trees));
  if (auto trees = treesOfPairs(run, words, mostNodes)) all.push_back(*std::move(trees));
  if (auto trees = treesOfTable(run, words, mostNodes)) all.push_back(*std::move(trees));
  return all;
}

}  // namespace dyn
