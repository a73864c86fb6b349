// What a test may ask beside the driver's entry points (simcuda.h).
#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

#define SIMCUDA_EXTRA extern "C" __attribute__((visibility("default")))

SIMCUDA_EXTRA int dyn_simcuda_next_buffers(const dyn_simcuda_buffer* buffers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (buffers[i].begin >= buffers[i].end || buffers[i].writable > DYN_SIMCUDA_INPUT_OUTPUT) return 1;
  }
  nextBuffers.assign(buffers, buffers + count);
  return 0;
}

SIMCUDA_EXTRA const char* dyn_simcuda_fault() {
  std::lock_guard<std::mutex> lock(theLock());
  return theDriver() ? theDriver()->lastFault.c_str() : "";
}

SIMCUDA_EXTRA void dyn_simcuda_counters(dyn_simcuda_counters_t* counters) {
  std::lock_guard<std::mutex> lock(theLock());
  *counters = theDriver() ? theDriver()->counters : dyn_simcuda_counters_t{};
}

SIMCUDA_EXTRA void dyn_simcuda_memory(uint64_t* bytes, uint64_t* allocations) {
  std::lock_guard<std::mutex> lock(theLock());
  *bytes = 0;
  *allocations = theDriver() ? static_cast<uint64_t>(theDriver()->memory->count()) : 0;
  for (size_t i = 0; theDriver() && i < theDriver()->devices.size(); i++)
    *bytes += theDriver()->memory->used(static_cast<int>(i));
}

SIMCUDA_EXTRA void dyn_simcuda_reset() {
  std::lock_guard<std::mutex> lock(theLock());
  theDriver().reset();
  currentDevice = -1;
  nextBuffers.clear();
}
