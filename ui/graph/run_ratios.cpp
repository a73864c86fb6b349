#include "ui/graph/run_ratios.h"

#include "app/session/views/graph_views.h"
#include "app/session/views/run_views.h"
#include "ui/graph/kernel_nodes.h"

namespace dyn::ui {

std::vector<double> ratiosOf(const GraphView& view, const GraphScene& scene,
                             const std::vector<RunDifference>& rows) {
  const KernelsOfGraph kernels(view);
  std::vector<int64_t> first(scene.boxes.size(), 0), second(scene.boxes.size(), 0);
  std::vector<char> differs(scene.boxes.size(), 0);
  for (const RunDifference& row : rows) {
    const KernelNodes kernel = kernels.of(row.place, row.members);
    const int box = kernel.head < 0 ? -1 : scene.boxOfNode[static_cast<size_t>(kernel.head)];
    if (box < 0) continue;
    first[static_cast<size_t>(box)] += row.firstNs.value_or(0);
    const bool isNoise = row.change == TimeChange::withinNoise;
    second[static_cast<size_t>(box)] += (isNoise ? row.firstNs : row.secondNs).value_or(0);
    if (!isNoise) differs[static_cast<size_t>(box)] = 1;
  }
  std::vector<double> ratios(scene.boxes.size(), 0);
  for (size_t b = 0; b < ratios.size(); ++b)
    if (first[b] > 0 && second[b] > 0)
      ratios[b] = differs[b] ? static_cast<double>(second[b]) / static_cast<double>(first[b]) : kWithinNoise;
  return ratios;
}

}  // namespace dyn::ui
