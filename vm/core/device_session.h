// DeviceSession: what one interpreter has of one device that is not the host: its stream, its loaded code and
// the memory that it counts. Work is put into the stream and not waited for, but where the host reads.
#pragma once

#include <memory>
#include <span>

#include "vm/core/device_code.h"
#include "vm/core/memory_pool.h"
#include "vm/core/object.h"
#include "vm/device/device.h"

namespace dyn::vm {

class DeviceSession {
 public:
  // `pool`: of the objects; its limit holds for the device's memory, too. `program` and `kernels` stay where
  // they are. In a rehearsal memory is counted, and the device is not asked.
  static Status open(int32_t number, MemoryPool* pool, const Program& program,
                     std::span<const DynKernelEntry> kernels, std::unique_ptr<DeviceSession>& session);
  ~DeviceSession();
  DeviceSession(const DeviceSession&) = delete;

  // Null and `why`. It may outlive the session.
  Storage* newStorage(uint64_t sizeBytes, dyn_status& why);
  Status copyTo(void* target, const void* source, uint64_t sizeBytes);    // returns when it is done
  Status copyFrom(void* target, const void* source, uint64_t sizeBytes);  // also all before it
  Status copyWithin(void* target, const void* source, uint64_t sizeBytes);
  // Of a kernel of the program. `launch` has no scratch memory yet: it is made and freed in the order of the
  // stream.
  Status launch(size_t kernel, DynLaunch& launch);
  Status synchronise();
  // Of the last `synchronise` that failed: which launch it was (dyn_device.h), and its fault.
  const DynDeviceText& fault() const { return fault_; }
  void beginRun();  // resets the peak
  MemoryStatistics statistics() const;

 private:
  struct Memory;  // counted: storages hold it, too
  DeviceSession(const DynDevice& device, int32_t number, MemoryPool* pool, const Program& program)
      : device_(device), number_(number), pool_(pool), program_(program) {}

  const DynDevice& device_;
  int32_t number_;
  MemoryPool* pool_;
  const Program& program_;
  std::shared_ptr<Memory> memory_;
  uint32_t stream_ = 0;
  bool hasStream_ = false, hasCode_ = false;
  uint64_t code_ = 0;      // functions of the host
  DeviceCode deviceCode_;  // of devices that take none; loaded at the first launch
  DynDeviceText fault_{};
};

}  // namespace dyn::vm
