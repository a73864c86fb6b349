// What the simulated GPU exports beside the driver's entry points, as tests/simcuda/simcuda.h declares it: it
// is found at run time, so nothing of it is needed to build. A test compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dyn::simulated {

struct Counters {
  uint64_t launches, warpInstructions, laneInstructions, globalRequests, globalSectors, sharedRequests,
      sharedWays, barriers, atomics, branches, divergentBranches;
};
struct Launch {
  const char* kernel;
  uint32_t grid[3], threads[3], sharedBytes, done;
  Counters counters;
};
struct Stop {
  const char* kernel;
  uint32_t grid[3], threads[3], block, warp, warps, active, exists, ended, parked, line;
  const char *text, *file;
  uint32_t sourceLine, barriers;
  uint64_t instructions;
  const char* fault;
  uint32_t sharedBytes, registers;
};
struct Register {
  const char* name;
  uint32_t bits, used;
  uint64_t values[32];
};

}  // namespace dyn::simulated
