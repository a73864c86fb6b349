#include "tests/robustness/allocation_hook.h"

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace dyn::robustness {
namespace {

thread_local AllocationCount counted;
thread_local int64_t countdown = -1;  // below zero: nothing fails
thread_local bool repeats = false, failed = false;
std::atomic<int64_t> live{0}, liveSize{0};
std::atomic<uint64_t> allCount{0}, allBytes{0};

bool mustFail() {
  if (countdown < 0) return false;
  if (countdown > 0) {
    --countdown;
    return false;
  }
  if (!repeats) countdown = -1;
  failed = true;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (mustFail()) return nullptr;
  if (size == 0) size = 1;
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(size)
                     : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!memory) return nullptr;
  ++counted.count;
  counted.bytes += size;
  allCount.fetch_add(1, std::memory_order_relaxed);
  allBytes.fetch_add(size, std::memory_order_relaxed);
  live.fetch_add(1, std::memory_order_relaxed);
  liveSize.fetch_add(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

void* allocateOrThrow(std::size_t size, std::size_t alignment) {
  void* memory = allocate(size, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void deallocate(void* memory) noexcept {
  if (!memory) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  liveSize.fetch_sub(static_cast<int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

AllocationCount allocationsOfThisThread() { return counted; }

void failAllocation(int64_t k, Failing how) {
  failed = false;
  repeats = how == Failing::repeated;
  countdown = k;
}

bool stopFailing() {
  countdown = -1;
  return failed;
}

AllocationCount allocationsOfAllThreads() {
  return {allCount.load(std::memory_order_relaxed), allBytes.load(std::memory_order_relaxed)};
}

int64_t liveAllocations() { return live.load(std::memory_order_relaxed); }
int64_t liveBytes() { return liveSize.load(std::memory_order_relaxed); }

}  // namespace dyn::robustness

using dyn::robustness::allocate;
using dyn::robustness::allocateOrThrow;
using dyn::robustness::deallocate;

constexpr std::size_t kPlain = alignof(std::max_align_t);

void* operator new(std::size_t size) { return allocateOrThrow(size, kPlain); }
void* operator new[](std::size_t size) { return allocateOrThrow(size, kPlain); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocateOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocateOrThrow(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, kPlain); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, kPlain); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { deallocate(memory); }
void operator delete[](void* memory) noexcept { deallocate(memory); }
void operator delete(void* memory, std::size_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::size_t) noexcept { deallocate(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { deallocate(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { deallocate(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { deallocate(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { deallocate(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { deallocate(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { deallocate(memory); }
