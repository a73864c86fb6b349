// DeviceTimes: when the launches of a profiled run ran on a device, by events of the device, on the clock of
// the host: an event that the host waits for when the first launch comes is where the two meet.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/base/status.h"
#include "vm/device/device.h"

namespace dyn::vm {

struct DeviceSpan {
  uint32_t function = 0, position = 0;  // of the instruction that launched it
  int32_t kernel = -1;
  uint64_t beginNs = 0, endNs = 0;  // as nowNs()
};

class DeviceTimes {
 public:
  DeviceTimes(const DynDevice& device, uint32_t stream) : device_(device), stream_(stream) {}
  ~DeviceTimes();
  DeviceTimes(const DeviceTimes&) = delete;

  // Around a launch that is put into the stream.
  Status begin();
  Status end(DeviceSpan launch);
  // When the stream has been waited for.
  Status take(std::vector<DeviceSpan>& spans);

 private:
  struct Pending {
    DeviceSpan span;
    uint32_t from, to;
  };
  Status told(int32_t status) const { return deviceStatus(device_, status, text_); }
  Status record(uint32_t& event);

  const DynDevice& device_;
  uint32_t stream_, base_ = 0, from_ = 0;
  bool hasBase_ = false;
  uint64_t baseNs_ = 0;
  std::vector<uint32_t> free_;
  std::vector<Pending> pending_;
  mutable DynDeviceText text_{};
};

}  // namespace dyn::vm
