// Trees (and graphs without cycles) as people write them, one or many in a file:
//
//   (3 (2 It) (4 (2 is) (3 good)))      s-expressions, as of the Stanford treebank: a label, then words or nodes
//   2 2 4 4 -1                          a line of parents, -1 at the root
//   [["It", ["is", "good"]], "No"]      JSON: a list of trees; a tree is a word, a number, a list of trees, or
//                                       {"label": 3, "children": [...]}, {"word": "It"}, {"value": [0.5, 1]},
//                                       {"parents": [2, 2, -1], "words": ["It", "is"]}
//
// Which of these it is follows from the file's ending (.json) and its first sign.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

struct TreeNode {
  std::string label, word;     // "" if absent
  std::vector<double> values;  // of {"value": ...}
  bool hasValues = false;
  std::vector<uint32_t> children;
  uint32_t tree = 0, line = 0;  // which of the file's trees; line 0: JSON
};

struct TreeFile {
  std::vector<TreeNode> nodes;  // children before their parents, a tree behind the other
  std::vector<uint32_t> roots;
  std::string path;

  // "trees.txt:3", or "trees.json: tree 2".
  SourceLocation placeOf(const TreeNode& node) const;
};

// Errors: fileError; fileFormat with the line (brackets that do not match, a parent that is not there, a
// cycle of parents, JSON that is none or no tree).
Result<TreeFile> readTrees(const std::string& path);
Result<TreeFile> parseTrees(std::string_view text, const std::string& path);

}  // namespace dyn
