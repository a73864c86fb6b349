#include "ui/graph/kernel_nodes.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"

namespace dyn::ui {

KernelsOfGraph::KernelsOfGraph(const GraphView& view) : holds_(view.nodes.size(), 0) {
  std::unordered_set<NodeId> owners;
  for (const GraphGroup& group : view.groups)
    if (group.kind == GroupKind::region && group.owner != kNoNode) owners.insert(group.owner);
  for (size_t n = 0; n < view.nodes.size(); ++n) {
    const GraphNode& node = view.nodes[n];
    if (node.kind != NodeKind::operation || node.managesMemory) continue;
    byPlace_[node.place].push_back(static_cast<int>(n));
    holds_[n] = owners.count(node.id) > 0;
  }
}

KernelNodes KernelsOfGraph::of(const std::string& place, const std::vector<std::string>& members) const {
  KernelNodes kernel;
  std::set<int> nodes;
  const auto take = [&](const std::string& from) {
    const auto found = byPlace_.find(from);
    if (found != byPlace_.end()) nodes.insert(found->second.begin(), found->second.end());
    return found == byPlace_.end() ? nullptr : &found->second;
  };
  // Several operations may come from one node of the model: that which holds the others is the kernel.
  if (const std::vector<int>* own = take(place)) {
    const auto holder = std::find_if(own->begin(), own->end(),
                                     [&](int node) { return holds_[static_cast<size_t>(node)] != 0; });
    kernel.head = holder == own->end() ? own->back() : *holder;
  }
  for (const std::string& member : members) take(member);
  kernel.all.assign(nodes.begin(), nodes.end());
  if (kernel.head < 0 && !kernel.all.empty()) kernel.head = kernel.all.back();
  return kernel;
}

}  // namespace dyn::ui
