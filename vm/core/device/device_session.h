// DeviceSession: what one interpreter has of one device that is not the host: its streams, its loaded code
// and the memory that it counts. Work is put into the stream and not waited for, but where the host reads.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "vm/core/device/device_code.h"
#include "vm/core/device/device_copies.h"
#include "vm/core/device/device_graphs.h"
#include "vm/core/device/device_times.h"
#include "vm/core/object/memory_pool.h"
#include "vm/core/object/object.h"
#include "vm/device/device.h"

namespace dyn::vm {

// Instead of a device's number: of a tensor of the host whose elements are pulled from a device.
inline constexpr uint8_t kArriving = 255;

class DeviceSession {
 public:
  struct Settings {
    MemoryPool* pool = nullptr;  // of the objects
    uint64_t limitBytes = UINT64_MAX;
    bool graphs = true;  // where the device has them
  };
  // `device`: null where the table has no such number. `program` and `kernels` stay where they are. Where the
  // pool is a rehearsal's memory is counted, and the device is not asked.
  static Status open(const DynDevice* device, int32_t number, const Settings& settings,
                     const Program& program, std::span<const DynKernelEntry> kernels,
                     std::unique_ptr<DeviceSession>& session);
  ~DeviceSession();
  DeviceSession(const DeviceSession&) = delete;

  // Null and `why`, which is more than too little memory where the device can do nothing any more: `refusal`
  // says it. It may outlive the session.
  Storage* newStorage(uint64_t sizeBytes, dyn_status& why);
  std::string refusal() const;
  Status copyTo(void* target, const void* source, uint64_t sizeBytes);    // returns when it is done
  Status copyFrom(void* target, const void* source, uint64_t sizeBytes);  // also all before it
  // The same later: `arrived` is called when the bytes are there, or false, at the latest by `settle`.
  Status pull(void* target, const void* source, uint64_t sizeBytes, std::function<void(bool)> arrived);
  bool hasCopyStreams() const { return copies_ != nullptr; }
  bool isPulling() const { return copies_ && copies_->isPulling(); }
  Status settle();  // waits for what is pulled
  Status copyWithin(void* target, const void* source, uint64_t sizeBytes);
  // Of a kernel of the program. `launch` has no scratch memory yet: it is made and freed in the order of the
  // stream.
  // `timed`: when it ran is told by takeTimes().
  Status launch(size_t kernel, DynLaunch& launch, const DeviceSpan* timed = nullptr);
  void takeTimes(std::vector<DeviceSpan>& spans);                // after `synchronise`
  const char* version() const { return deviceCode_.version(); }  // of the last launch: the form it took
  Status synchronise();                                          // waits for all
  // Launches since the device was waited for as a whole: `fault` counts them.
  uint64_t waitsCount() const { return waits_; }
  uint64_t graphLaunches() const { return graphs_ ? graphs_->launchedCount() : 0; }
  // Of the last `synchronise` that failed: which launch it was (dyn_device.h), and its fault.
  const DynDeviceText& fault() const { return fault_; }
  void beginRun();  // resets the peak
  MemoryStatistics statistics() const;

 private:
  struct Memory;  // counted: storages hold it, too
  DeviceSession(const DynDevice& device, int32_t number, MemoryPool* pool, const Program& program)
      : device_(device), number_(number), pool_(pool), program_(program) {}
  Status begin(const Settings& settings, std::span<const DynKernelEntry> kernels);
  Status launchOfHost(DynLaunch& launch);
  Status launchCode(size_t kernel, DynLaunch& launch, const DeviceSpan* timed);
  Status giveWorkspace(DynDeviceProduct& product);
  Status flush();

  const DynDevice& device_;
  int32_t number_;
  MemoryPool* pool_;
  const Program& program_;
  std::shared_ptr<Memory> memory_;
  uint32_t stream_ = 0;
  bool hasStream_ = false, hasCode_ = false;
  uint64_t code_ = 0;                     // functions of the host
  DeviceCode deviceCode_;                 // of devices that take none; loaded at the first launch
  std::unique_ptr<DeviceCopies> copies_;  // null: the device copies in its one stream
  std::unique_ptr<DeviceGraphs> graphs_;  // null: launches are put into the stream one by one
  std::unique_ptr<DeviceTimes> times_;    // null: nobody asked yet
  std::vector<DeviceRange> ranges_;       // of the launch
  void* workspace_ = nullptr;             // of products by a library; kept from launch to launch
  uint64_t workspaceBytes_ = 0;
  uint64_t waits_ = 0;
  DynDeviceText fault_{};
};

}  // namespace dyn::vm
