// What of the machine this process may use: its affinity, and the limits of its control groups, which
// `docker run --cpus 1.5 --memory 2g`, Kubernetes and systemd set. Control groups of versions 1 and 2.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace dyn::vm {

struct GroupLimits {
  double cores = std::numeric_limits<double>::infinity();  // processor time per time; infinite: no limit
  uint64_t memoryBytes = UINT64_MAX;                       // UINT64_MAX: no limit
};

// The least limits of the groups of this process and of those above them. What cannot be read sets no limit.
// root: before the paths of /proc and of the mounts; "" outside of tests.
GroupLimits groupLimits(const std::string& root = "");

// Physical cores of those in the affinity, at most the limit of the groups, rounded up; at least 1. Hardware
// threads of one core count once.
int32_t usableCores();
// The machine's memory, at most the limit of the groups; UINT64_MAX when unknown. Read once.
uint64_t usableMemoryBytes();
// What of that the system could give now.
uint64_t availableMemoryBytes();
// "affinity: 4 of 8 processors; control group: 1.5 cores, 512 MiB"; "": all of the machine is usable.
std::string usableLimits();

}  // namespace dyn::vm
