#include "vm/device/device.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "vm/isa/isa.h"

namespace dyn::vm {
namespace {

Status copyBytes(void* target, const void* source, uint64_t sizeBytes) {
  if (sizeBytes > 0) memcpy(target, source, sizeBytes);
  return okStatus();
}

// The sim device knows which addresses are its own and refuses copies that confuse the two spaces. The
// registry is the simulated hardware: one per process, as a real device would be.
struct SimMemory {
  std::mutex mutex;
  std::map<uintptr_t, size_t> blocks;  // begin → size
};
SimMemory& simMemory() {
  static SimMemory memory;
  return memory;
}

void* simAllocate(void*, size_t sizeBytes, size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, sizeBytes) != 0) return nullptr;
  SimMemory& sim = simMemory();
  std::lock_guard lock(sim.mutex);
  sim.blocks[reinterpret_cast<uintptr_t>(memory)] = sizeBytes;
  return memory;
}

void simDeallocate(void*, void* memory, size_t) {
  {
    SimMemory& sim = simMemory();
    std::lock_guard lock(sim.mutex);
    sim.blocks.erase(reinterpret_cast<uintptr_t>(memory));
  }
  free(memory);
}

bool simOwns(const void* memory) {
  SimMemory& sim = simMemory();
  std::lock_guard lock(sim.mutex);
  const auto address = reinterpret_cast<uintptr_t>(memory);
  auto after = sim.blocks.upper_bound(address);
  if (after == sim.blocks.begin()) return false;
  --after;
  return address - after->first < after->second;
}

Status simCopy(void* target, bool targetIsSim, const void* source, bool sourceIsSim, uint64_t sizeBytes) {
  if (sizeBytes == 0) return okStatus();
  if (simOwns(target) != targetIsSim || simOwns(source) != sourceIsSim)
    return failure(DYN_INTERNAL, "sim device: an address of the wrong space");
  return copyBytes(target, source, sizeBytes);
}
Status simFromHost(void* target, const void* source, uint64_t sizeBytes) {
  return simCopy(target, true, source, false, sizeBytes);
}
Status simToHost(void* target, const void* source, uint64_t sizeBytes) {
  return simCopy(target, false, source, true, sizeBytes);
}
Status simWithin(void* target, const void* source, uint64_t sizeBytes) {
  return simCopy(target, true, source, true, sizeBytes);
}

bool always() { return true; }
bool hostOwns(const void* memory) { return !simOwns(memory); }

constexpr DeviceRow kDevices[] = {
    {"cpu", "the host", always, nullptr, nullptr, copyBytes, copyBytes, copyBytes, hostOwns},
    {"sim", "a second address space on the CPU, for tests", always, simAllocate, simDeallocate, simFromHost,
     simToHost, simWithin, simOwns},
};
static_assert(sizeof(kDevices) / sizeof(kDevices[0]) == kDeviceCount);

}  // namespace

std::span<const DeviceRow> deviceTable() { return kDevices; }

int32_t findDevice(const char* name) {
  for (size_t i = 0; i < kDeviceCount; ++i)
    if (strcmp(kDevices[i].name, name) == 0) return static_cast<int32_t>(i);
  return -1;
}

Status copyBetweenDevices(int32_t from, const void* source, int32_t to, void* target, uint64_t sizeBytes) {
  const DeviceRow &a = kDevices[from], &b = kDevices[to];
  if (from == to) return a.copyWithin(target, source, sizeBytes);
  if (from == 0) return b.copyFromHost(target, source, sizeBytes);
  if (to == 0) return a.copyToHost(target, source, sizeBytes);
  return failure(DYN_UNSUPPORTED, std::string("copy from ") + a.name + " to " + b.name);
}

}  // namespace dyn::vm
