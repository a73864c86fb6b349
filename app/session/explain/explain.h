// Why launches take the time they take: what each has to do against what the machine can do.
//
// A launch is bound by memory, by compute or by overhead, whichever alone would take longest; it is expected
// to take its overhead and the longer of the other two. Data is where the whole of it fits: activations by
// the size of the arena, packed weights by the size of all constants.
#pragma once

#include "app/engine/run/run_result.h"
#include "app/session/explain/launch_work.h"
#include "app/session/explain/machine_limits.h"

namespace dyn {

struct LaunchTime {
  double memoryNs = 0, computeNs = 0, overheadNs = 0;
  double boundNs() const;
  double expectedNs() const;
  const char* bound() const;  // "memory", "compute", "overhead"
};

struct Footprint {
  double arenaBytes = 0, weightsBytes = 0;
};

Footprint footprintOf(const LoweredModule& lowered, int64_t peakBytes);
LaunchTime timeOf(const LaunchWork& work, const MachineLimits& limits, const Footprint& footprint);

// The work of each launch of a profiled run. The bytes of loop kernels become those that they touch, each
// element once. The runtime sees tensors alone: of a table from which a few rows are taken it counts all.
void countTouchedBytes(const LoweredModule& lowered, RunResult& result);

// Fills what explains each row of a profiled run, and each launch.
void explainKernels(std::vector<TimelineEvent>& events, const LoweredModule& lowered,
                    const MachineLimits& limits, const Footprint& footprint, KernelTable& table);
// Whether most of the time that arithmetic bounds was shorter than an explained run's limits allow, by more
// than its share of noise: they were measured while the machine did something else.
bool isBeyondLimits(const KernelTable& table);
// The rows of a dry run, longest first; their times are those expected. The host program
// has one.
KernelTable predictKernels(const Runner::DryRun& dryRun, const LoweredModule& lowered,
                           const MachineLimits& limits);

}  // namespace dyn
