#include "app/session/views/text/live_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/engine/run/run_result.h"
#include "app/session/views/text_table.h"

namespace dyn {

namespace {

constexpr size_t kMostOfPlace = 40;

}  // namespace

std::string textOf(const LiveRun& run) {
  std::string text = run.isWarmup ? "warming up, " : "";
  if (run.spreadShare)
    return fmt::format("run {}, spread {:.1f} %", run.runsDone + 1, 100 * *run.spreadShare);
  if (run.runsCount > 1)
    text += "run " + std::to_string(std::min(run.runsDone + 1, run.runsCount)) + " of " +
            std::to_string(run.runsCount) + ", ";
  text += "operation " + std::to_string(run.operationsDone) + " of " + std::to_string(run.operationsCount);
  if (!run.place.empty()) text += ", now " + shortened(run.place, kMostOfPlace);
  if (run.timesHere > run.runsDone + 1) text += ", iteration " + std::to_string(run.timesHere);
  return text;
}

double fractionOf(const LiveRun& run) {
  if (run.runsCount > 1) return static_cast<double>(run.runsDone) / static_cast<double>(run.runsCount);
  if (run.hasLoops || run.operationsCount == 0) return -1;
  return static_cast<double>(run.operationsDone) / static_cast<double>(run.operationsCount);
}

}  // namespace dyn
