// Which operations of a graph a kernel computes, and which one of them stands for it: its time is there,
// once, so that the times of all boxes add up to those of the run.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "app/session/views/graph_views.h"

namespace dyn::ui {

struct KernelNodes {
  std::vector<int> all;  // indices of GraphView::nodes, ascending; empty: none is in this graph
  int head = -1;         // the operation that the kernel is placed at, else the last of them
};

class KernelsOfGraph {
 public:
  explicit KernelsOfGraph(const GraphView& view);
  // Of the kernels launched at `place`, which compute these members, too.
  KernelNodes of(const std::string& place, const std::vector<std::string>& members) const;

 private:
  std::unordered_map<std::string, std::vector<int>> byPlace_;
  std::vector<char> holds_;  // by node: a body of operations, of which it is the kernel
};

}  // namespace dyn::ui
