// What the memory of a run is by its plan: beside a limit before it, and in its result after it.
#pragma once

#include <optional>

#include "app/engine/run/runner.h"

namespace dyn {

// The shapes of the inputs; nothing where one is no tensor, as the memory depends on what is in it.
std::optional<std::vector<std::vector<int64_t>>> shapesOf(const CallInputs& inputs);

// Of the host and of each device; 0: none.
struct MemoryLimits {
  uint64_t hostBytes = 0, deviceBytes = 0;
  static MemoryLimits of(const EngineOptions& options);
};

struct LimitExcess {
  int64_t peakBytes = 0;  // in the memory whose limit it is
  uint64_t limitBytes = 0;
  bool onDevice = false;
  bool mayFit = false;  // within the limit, but for what the pool itself takes
  Error refused;        // memoryLimit
};
// Nothing where a run with these inputs stays within each limit, or where only the run can tell.
std::optional<LimitExcess> beyondLimit(Runner& runner, const CallInputs& inputs, const MemoryLimits& limits,
                                       Interruption& interruption);

// Fills predictedPeakBytes, or why there is no prediction.
void predictMemory(Runner& runner, const CallInputs& inputs, Runner::Warmth warmth,
                   Interruption& interruption, RunResult& result);

}  // namespace dyn
