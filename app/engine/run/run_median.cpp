#include "app/engine/run/run_median.h"

#include <algorithm>

namespace dyn {

int64_t medianNs(const RunResult& run) {
  std::vector<int64_t> times = run.runsNs;
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace dyn
