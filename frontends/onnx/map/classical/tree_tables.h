// Trees as walk_trees takes them: splits and links of the inner nodes, which all ask `x <= split`; leaves by
// numbers of their own.
//
//   x <  s    x <= the number before s                 x >= s    the branches of x < s change places
//   x >  s    the branches of x <= s change places     x == s    x <= s, then not x <= the number before s
//
// What NaN does changes places with the branches. A comparison with NaN never holds.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/dtype.h"
#include "frontends/onnx/map/classical/tree_nodes.h"

namespace dyn::onnx {

struct TreeTables {
  std::vector<double> splits;   // of each node; as numbers of the dtype that is compared in
  std::vector<int64_t> links;   // four of each node: feature, places where it holds and where not, NaN holds
  std::vector<int64_t> starts;  // of each tree its first place: a node, or -1 - leaf
  std::vector<int64_t> leafOf;  // by TreeNodes' places; -1: it is none that a root leads to
  int64_t leaves = 0;
  int64_t depth = 0;  // most nodes on the way to a leaf
};

// The nodes of a tree lie side by side, in the order of a walk that always takes the first branch first.
TreeTables tablesOf(const TreeNodes& nodes, Dtype compared);

}  // namespace dyn::onnx
