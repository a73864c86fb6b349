#include "ui/graph/run_ratios.h"

#include <set>
#include <string_view>
#include <unordered_map>

namespace dyn::ui {

std::vector<double> ratiosOf(const GraphView& view, const GraphScene& scene,
                             const std::vector<RunDifference>& rows) {
  std::unordered_map<std::string_view, std::vector<int>> boxesOfPlace;
  for (size_t n = 0; n < view.nodes.size(); ++n)
    if (view.nodes[n].kind == NodeKind::operation && scene.boxOfNode[n] >= 0)
      boxesOfPlace[view.nodes[n].place].push_back(scene.boxOfNode[n]);
  std::vector<int64_t> first(scene.boxes.size(), 0), second(scene.boxes.size(), 0);
  for (const RunDifference& row : rows) {
    std::set<int> boxes;
    const auto add = [&](const std::string& place) {
      if (const auto found = boxesOfPlace.find(place); found != boxesOfPlace.end())
        boxes.insert(found->second.begin(), found->second.end());
    };
    add(row.place);
    for (const std::string& member : row.members) add(member);
    for (const int box : boxes) {
      first[static_cast<size_t>(box)] += row.firstNs.value_or(0);
      second[static_cast<size_t>(box)] += row.secondNs.value_or(0);
    }
  }
  std::vector<double> ratios(scene.boxes.size(), 0);
  for (size_t b = 0; b < ratios.size(); ++b)
    if (first[b] > 0 && second[b] > 0)
      ratios[b] = static_cast<double>(second[b]) / static_cast<double>(first[b]);
  return ratios;
}

}  // namespace dyn::ui
