// A picture of latency over load: requests per second to the right, the time from arrival to answer upwards,
// on a logarithmic scale. SVG, which a browser or a document shows.
#pragma once

#include <string>
#include <vector>

#include "app/session/views/bench_views.h"

namespace dyn {

struct LoadCurve {
  std::string name, colour;       // "one by one", "#c2410c"
  std::vector<LoadPoint> points;  // by rising load
};

// Points without an answer are left out.
std::string loadPlot(const std::vector<LoadCurve>& curves, const std::string& title);

}  // namespace dyn
