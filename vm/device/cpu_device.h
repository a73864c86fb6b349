// The row "cpu": the host itself. Its memory is the host's, and its streams are all one: work is done when
// the call returns, so that every order of events holds.
#pragma once

#include "vm/include/abi/dyn_device.h"

namespace dyn::vm {

const DynDevice& cpuDevice();

// A launch is cut into pieces of about this many elementary steps, so that cancelling does not wait for a
// long kernel.
inline constexpr int64_t kHostStepsPerPiece = int64_t{1} << 26;
// Below this a task costs more to start than it saves.
inline constexpr int64_t kHostStepsPerTask = int64_t{1} << 15;

// How many tasks a launch on host code is worth (DynLaunch::gridX).
inline int64_t hostTasks(int64_t units, int64_t steps, int64_t threads) {
  int64_t tasks = steps / kHostStepsPerTask;
  if (tasks > units) tasks = units;
  if (tasks > threads) tasks = threads;
  return tasks < 1 ? 1 : tasks;
}

}  // namespace dyn::vm
