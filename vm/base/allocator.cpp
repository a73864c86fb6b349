#include "vm/base/allocator.h"

#include <unistd.h>

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dyn::vm {

void* allocateAligned(const AllocatorHooks& hooks, size_t sizeBytes, size_t alignment) {
  if (hooks.allocate) return hooks.allocate(hooks.user, sizeBytes, alignment);
  constexpr size_t kHugePageBytes = size_t{2} << 20;
  const bool huge = sizeBytes >= 2 * kHugePageBytes;
  if (huge) alignment = kHugePageBytes;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, sizeBytes) != 0) return nullptr;
#if defined(__linux__)
  if (huge) (void)madvise(memory, sizeBytes, MADV_HUGEPAGE);  // a hint: failure costs speed only
#endif
  return memory;
}

void deallocateAligned(const AllocatorHooks& hooks, void* memory, size_t sizeBytes) {
  if (!memory) return;
  if (hooks.allocate) {
    if (hooks.deallocate) hooks.deallocate(hooks.user, memory, sizeBytes);
    return;
  }
  free(memory);
}

void* reserveAddresses(uint64_t& sizeBytes) {
#if defined(__linux__)
  constexpr uint64_t kMost = uint64_t{1} << 42, kLeast = uint64_t{1} << 28;
  for (sizeBytes = kMost; sizeBytes >= kLeast; sizeBytes /= 4) {
    void* memory =
        mmap(nullptr, sizeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) return memory;
  }
#endif
  sizeBytes = 0;
  return nullptr;
}

void returnAddresses(void* memory, uint64_t sizeBytes) {
#if defined(__linux__)
  munmap(memory, sizeBytes);
#else
  (void)memory, (void)sizeBytes;
#endif
}

}  // namespace dyn::vm
