// Two runs of a model on its graph: how much longer each box takes in the second.
#pragma once

#include <vector>

#include "app/session/views/graph_views.h"
#include "app/session/views/run_views.h"
#include "ui/graph/graph_scene.h"

namespace dyn::ui {

// By box: the second run's time by the first's, of all that the box holds; 0 where one of them has none. What
// differs only within the noise counts as equal; a box that holds nothing else is kWithinNoise. A kernel that
// computes several operations counts once for each box that holds one of them.
inline constexpr double kWithinNoise = -1;
std::vector<double> ratiosOf(const GraphView& view, const GraphScene& scene,
                             const std::vector<RunDifference>& rows);

}  // namespace dyn::ui
