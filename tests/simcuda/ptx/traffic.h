// traffic.h — what a request of a warp costs the memory: sectors of global memory, passes over the banks of
// shared memory.
#pragma once
#include "tests/simcuda/ptx/access.h"
#include "tests/simcuda/simcuda.h"

namespace simcuda {

// Sectors of 32 bytes that the lanes touch; an access is aligned and no wider, so each lane touches one.
void countSectors(const Addresses& addresses, uint32_t lanes, dyn_simcuda_counters_t& counters);

// Shared memory has 32 banks of 4 bytes; a pass serves one word of each. Lanes of 8 bytes go in two halves,
// of 16 in four quarters.
void countWays(const Addresses& offsets, uint32_t lanes, unsigned bytes, dyn_simcuda_counters_t& counters);

}  // namespace simcuda
