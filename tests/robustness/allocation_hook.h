// operator new of this program counts, and fails when it is told to: what a thread allocates, and what
// happens when memory gives out.
#pragma once

#include <cstdint>

namespace dyn::robustness {

struct AllocationCount {
  uint64_t count = 0, bytes = 0;
};
// What this thread has allocated so far.
AllocationCount allocationsOfThisThread();

// From now on this thread's allocation number `k` (0 is the next) throws std::bad_alloc; with `repeated` so
// do all after it. Other threads are left alone.
enum class Failing : uint8_t { once, repeated };
void failAllocation(int64_t k, Failing how);
// Ends it; true when an allocation failed.
bool stopFailing();

// What all threads have allocated so far.
AllocationCount allocationsOfAllThreads();

// Blocks that are live in the whole process, allocated by operator new and not yet deleted, and their bytes.
int64_t liveAllocations();
int64_t liveBytes();

}  // namespace dyn::robustness
