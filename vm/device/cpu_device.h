// The row "cpu": the host itself. Its memory is the host's, and its streams are all one: work is done when the
// call returns, so that every order of events holds.
#pragma once

#include "vm/include/dyn_device.h"

namespace dyn::vm {

const DynDevice& cpuDevice();

// How many tasks a launch on host code is worth (DynLaunch::gridX).
inline int64_t hostTasks(int64_t units, int64_t steps, int64_t threads) {
  constexpr int64_t kMinimumStepsPerTask = int64_t{1}
                                           << 15;  // below, a task costs more to start than it saves
  int64_t tasks = steps / kMinimumStepsPerTask;
  if (tasks > units) tasks = units;
  if (tasks > threads) tasks = threads;
  return tasks < 1 ? 1 : tasks;
}

}  // namespace dyn::vm
