// Where memory comes from: the system, or hooks (a host's arena, a test that fails the k-th allocation).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dyn::vm {

struct AllocatorHooks {
  void* user = nullptr;
  void* (*allocate)(void* user, size_t sizeBytes, size_t alignment) = nullptr;  // null: the system
  void (*deallocate)(void* user, void* memory, size_t sizeBytes) = nullptr;
};

// Null when there is no memory. alignment: a power of two ≥ 64. Blocks of 4 MB and more ask for huge pages.
void* allocateAligned(const AllocatorHooks& hooks, size_t sizeBytes, size_t alignment);
void deallocateAligned(const AllocatorHooks& hooks, void* memory, size_t sizeBytes);

// Addresses with memory behind them only where they are written; `sizeBytes` becomes how many they are, a
// multiple of 64. Null: the system gives none.
void* reserveAddresses(uint64_t& sizeBytes);
void returnAddresses(void* memory, uint64_t sizeBytes);

}  // namespace dyn::vm
