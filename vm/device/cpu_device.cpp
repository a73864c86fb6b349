#include "vm/device/cpu_device.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "vm/base/allocator.h"
#include "vm/base/device_text.h"
#include "vm/base/machine_share.h"

namespace dyn::vm {
namespace {

struct Work {
  const DynLaunch* launch;
  DynKernelFunction function;
  int64_t unitsPerPiece;
  std::atomic<int32_t> fault{0};

  void runTask(int64_t task) {
    const DynLaunch& l = *launch;
    const int64_t base = l.units / l.gridX, more = l.units % l.gridX;
    int64_t begin = base * task + std::min(task, more);
    const int64_t end = begin + base + (task < more ? 1 : 0);
    std::byte* scratch =
        l.scratch ? static_cast<std::byte*>(l.scratch) + l.scratchBytes * static_cast<uint64_t>(task)
                  : nullptr;
    while (begin < end) {
      const int64_t pieceEnd = end - begin > unitsPerPiece ? begin + unitsPerPiece : end;
      const int32_t result = function(l.buffers, l.scalars, begin, pieceEnd, scratch);
      if (result != DYN_KERNEL_OK) {
        fault.store(result, std::memory_order_relaxed);
        return;
      }
      begin = pieceEnd;
      // What a cancelled run leaves undone is never seen.
      if (begin < end && l.context && l.context->cancelled(l.context)) return;
    }
  }
  static void runTasks(void* work, int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) static_cast<Work*>(work)->runTask(task);
  }
};

int32_t cpuLaunch(const DynDevice*, uint32_t, const DynLaunch* launch, DynDeviceText* text) {
  const auto* kernel = reinterpret_cast<const DynKernelEntry*>(launch->kernel);
  if (!kernel) return deviceFailure(text, DYN_INVALID_ARGUMENT, "launch of no kernel");
  if (launch->units <= 0 || launch->gridX == 0)
    return deviceFailure(text, DYN_INVALID_ARGUMENT, "a launch without units or tasks");
  // Short work is done as it comes, with nothing to divide.
  if (launch->gridX == 1 && launch->steps <= kHostStepsPerPiece && launch->units <= kHostStepsPerPiece) {
    const int32_t fault =
        kernel->function(launch->buffers, launch->scalars, 0, launch->units, launch->scratch);
    return fault == DYN_KERNEL_OK ? DYN_OK : kernelFailure(text, kernel->name, fault);
  }
  Work work{launch, kernel->function, 0};
  const int64_t stepsPerUnit = std::max<int64_t>(1, launch->steps / launch->units);
  work.unitsPerPiece = std::max<int64_t>(1, kHostStepsPerPiece / stepsPerUnit);
  if (launch->gridX == 1)
    work.runTask(0);
  else if (launch->context)
    launch->context->parallel(launch->context, launch->gridX, static_cast<int32_t>(launch->gridX),
                              Work::runTasks, &work);
  else
    Work::runTasks(&work, 0, launch->gridX);
  const int32_t fault = work.fault.load(std::memory_order_relaxed);
  return fault == DYN_KERNEL_OK ? DYN_OK : kernelFailure(text, kernel->name, fault);
}

int32_t cpuOpen(const DynDevice*, DynDeviceText*) { return DYN_OK; }

int32_t allocate(const DynDevice*, uint32_t, uint64_t bytes, void** memory, DynDeviceText* text) {
  *memory = bytes == 0 ? nullptr : allocateAligned({}, bytes, 64);
  return bytes == 0 || *memory ? DYN_OK
                               : deviceFailure(text, DYN_OUT_OF_MEMORY, "the system gives no memory");
}
int32_t deallocate(const DynDevice*, uint32_t, void* memory, DynDeviceText*) {
  deallocateAligned({}, memory, 0);
  return DYN_OK;
}
int32_t memoryInfo(const DynDevice*, uint64_t* freeBytes, uint64_t* totalBytes, DynDeviceText*) {
  *totalBytes = usableMemoryBytes();
  *freeBytes = availableMemoryBytes();
  return DYN_OK;
}

int32_t cpuCopy(const DynDevice*, uint32_t, void* target, const void* source, uint64_t bytes,
                DynDeviceText* text) {
  if (bytes == 0) return DYN_OK;
  if (overlap(target, source, bytes))
    return deviceFailure(text, DYN_INVALID_ARGUMENT, "source and target of a copy overlap");
  memcpy(target, source, bytes);
  return DYN_OK;
}
int32_t fill(const DynDevice*, uint32_t, void* target, uint8_t value, uint64_t bytes, DynDeviceText*) {
  if (bytes > 0) memset(target, value, bytes);
  return DYN_OK;
}

int32_t loadCode(const DynDevice*, const void* code, uint64_t bytes, uint64_t* module, DynDeviceText* text) {
  if (!code || bytes != sizeof(DynHostCode))
    return deviceFailure(text, DYN_BAD_PROGRAM, "code that is not a table of functions");
  auto* loaded = static_cast<DynHostCode*>(allocateAligned({}, sizeof(DynHostCode), 64));
  if (!loaded) return deviceFailure(text, DYN_OUT_OF_MEMORY, "the system gives no memory");
  memcpy(loaded, code, sizeof(DynHostCode));
  *module = reinterpret_cast<uintptr_t>(loaded);
  return DYN_OK;
}
int32_t unloadCode(const DynDevice*, uint64_t module, DynDeviceText*) {
  deallocateAligned({}, reinterpret_cast<void*>(module), sizeof(DynHostCode));
  return DYN_OK;
}
int32_t findKernel(const DynDevice*, uint64_t module, const char* name, uint64_t* kernel,
                   DynDeviceText* text) {
  const auto* code = reinterpret_cast<const DynHostCode*>(module);
  for (uint32_t i = 0; code && i < code->kernelCount; ++i)
    if (strcmp(code->kernels[i].name, name) == 0) {
      *kernel = reinterpret_cast<uintptr_t>(&code->kernels[i]);
      return DYN_OK;
    }
  return deviceFailure(text, DYN_OUT_OF_RANGE, "there is no kernel of that name");
}

int32_t create(const DynDevice*, uint32_t* made, DynDeviceText*) {
  *made = 0;  // there is one stream, and every event is done
  return DYN_OK;
}
int32_t one(const DynDevice*, uint32_t, DynDeviceText*) { return DYN_OK; }
int32_t two(const DynDevice*, uint32_t, uint32_t, DynDeviceText*) { return DYN_OK; }
int32_t queryEvent(const DynDevice*, uint32_t, int32_t* done, DynDeviceText*) {
  *done = 1;
  return DYN_OK;
}

constexpr DynDeviceFunctions kCpuFunctions = {
    .open = cpuOpen,
    .allocate = allocate,
    .deallocate = deallocate,
    .memoryInfo = memoryInfo,
    .copyTo = cpuCopy,
    .copyFrom = cpuCopy,
    .copyWithin = cpuCopy,
    .fill = fill,
    .loadCode = loadCode,
    .unloadCode = unloadCode,
    .findKernel = findKernel,
    .launch = cpuLaunch,
    .createStream = create,
    .destroyStream = one,
    .synchronise = one,
    .createEvent = create,
    .destroyEvent = one,
    .recordEvent = two,
    .waitEvent = two,
    .queryEvent = queryEvent,
};
constexpr DynDevice kCpu = {"cpu", "the host", &kCpuFunctions, nullptr, DYN_CODE_HOST, 1, nullptr};

}  // namespace

const DynDevice& cpuDevice() { return kCpu; }

}  // namespace dyn::vm
