// The device table: memory of each device and copies between them. Rows: 0 cpu, 1 sim (a second address space
// on the CPU, so that placement, copies and planning are tested without other hardware).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "vm/base/allocator.h"
#include "vm/base/status.h"

namespace dyn::vm {

struct DeviceRow {
  const char* name;     // "cpu"
  const char* meaning;  // one line
  bool (*available)();
  // As AllocatorHooks; null: the host's allocator serves.
  void* (*allocate)(void* user, size_t sizeBytes, size_t alignment);
  void (*deallocate)(void* user, void* memory, size_t sizeBytes);
  Status (*copyFromHost)(void* target, const void* source, uint64_t sizeBytes);
  Status (*copyToHost)(void* target, const void* source, uint64_t sizeBytes);
  Status (*copyWithin)(void* target, const void* source, uint64_t sizeBytes);
  bool (*owns)(const void* memory);  // does the address belong to this device's space?
};

std::span<const DeviceRow> deviceTable();
int32_t findDevice(const char* name);  // -1: unknown

// Device 0 is the host; between two other devices the data goes through the host.
Status copyBetweenDevices(int32_t from, const void* source, int32_t to, void* target, uint64_t sizeBytes);

}  // namespace dyn::vm
