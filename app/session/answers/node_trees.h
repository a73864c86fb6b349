// The trees (or graphs without cycles) that a run was given, node by node, so that they can be drawn: from a
// value of a data type, or from arrays of children (app/engine/inputs/tree_input.h says by which names).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/engine/run/run_result.h"

namespace dyn {

struct NodeTrees {
  struct Node {
    std::vector<uint32_t> children;  // in `nodes`
    uint32_t level = 0;              // 0: a leaf; else one above its highest child
    bool isRoot = true;              // no node here has it as a child
    std::string word;                // of a leaf, "" if nothing says it; of others their constructor, or ""
    int64_t number = 0;              // as the input numbers it
  };
  std::string input;        // "trees", "left and right"
  std::vector<Node> nodes;  // children before their parents
  int64_t allNodes = 0;     // of the input: those that are not here were left out

  uint32_t levelsCount() const;                // above the leaves
  int64_t nodesOfLevel(uint32_t level) const;  // 0: leaves
};

// At most `mostNodes` of each, whole trees where they are values. `specs` are what the run was given by
// --input: a file of words there says what numbers stand for. Empty: the run had no trees.
std::vector<NodeTrees> nodeTrees(const RunResult& run, const std::vector<std::string>& specs,
                                 size_t mostNodes = 4000);

}  // namespace dyn
