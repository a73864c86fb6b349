// The trees of ai.onnx.ml's ensembles as tables: what the attributes of both forms of the operators say, read
// and checked.
//
//   TreeEnsembleRegressor, TreeEnsembleClassifier: nodes named by (tree, node), weights apart
//   TreeEnsemble: nodes by their place, leaves in a table of their own
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "frontends/onnx/map/map_context.h"

namespace dyn::onnx {

enum class TreeMode : uint8_t { lessEqual, less, greaterEqual, greater, equal, notEqual, member, leaf };

struct TreeNodes {
  // By place of the node. A leaf leads to itself, so that a walk of `depth` steps ends in one.
  std::vector<int64_t> feature, onTrue, onFalse;
  std::vector<double> split;
  std::vector<TreeMode> mode;
  std::vector<int64_t> missingIsTrue;  // 0 or 1
  std::vector<int64_t> roots;          // one a tree
  std::vector<int64_t> treeOf;         // by place of the node; -1: no root leads there
  int64_t depth = 0;                   // steps from a root to the deepest leaf

  struct Weight {
    int64_t leaf = 0, target = 0;
    double value = 0;
  };
  std::vector<Weight> weights;

  size_t count() const { return mode.size(); }
  bool isLeaf(size_t node) const { return mode[node] == TreeMode::leaf; }
};

// Empty after a failure. `prefix` is that of the weights' attributes: "target" or "class".
TreeNodes readNamedTrees(MapContext& c, std::string_view prefix);
TreeNodes readPlacedTrees(MapContext& c);
// The elements of attribute `name`_as_tensor where it is given, else of `name`.
std::vector<double> realsOrTensor(MapContext& c, const std::string& name);

}  // namespace dyn::onnx
