// DeviceCopies: copies between host and device beside the work of a device, on streams of their own.
//
// A push goes ahead of the work that reads it, a pull behind the work that wrote it; the host waits for a
// pull only when somebody reads what it brings. What orders them is events, at these places:
//
//   a push waits for     the work put into the device's stream before it, as that may still use the memory;
//                        pulls from there
//   work waits for       pushes into what it is given; pulls from what it writes
//   a pull waits for     the work before it; pushes into what it copies
//
// Bytes go through page-locked memory of the host, kStagingBytes at most for either direction: longer copies
// go in pieces, and wait in between.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "vm/base/status.h"
#include "vm/device/device.h"

namespace dyn::vm {

inline constexpr uint64_t kStagingBytes = uint64_t{16} << 20;

// Memory that a launch or a copy of the device touches.
struct DeviceRange {
  const void* memory;
  uint64_t sizeBytes;
  bool written;
};

class DeviceCopies {
 public:
  // `work`: the stream in which kernels are launched.
  static Status create(const DynDevice& device, uint32_t work, std::unique_ptr<DeviceCopies>& copies);
  ~DeviceCopies();
  DeviceCopies(const DeviceCopies&) = delete;

  // `source` may change when this has returned.
  Status push(void* target, const void* source, uint64_t sizeBytes);
  // `arrived` is called when the bytes are in `target`, or when it is given up (false), from here or from
  // settle(); both must stay until then.
  Status pull(void* target, const void* source, uint64_t sizeBytes, std::function<void(bool)> arrived);
  // Before work on these ranges is put into the device's stream.
  Status beforeWork(std::span<const DeviceRange> ranges);
  // Waits for all pulls. `fault`: what the device has told, as by `synchronise`.
  Status settle(DynDeviceText& fault);
  bool isPulling() const { return !pulls_.empty(); }
  // The device's stream has been waited for: what it was to wait for is done as well.
  Status workIsDone(DynDeviceText& fault);

 private:
  struct Copy {
    const std::byte *begin, *end;  // of the device
    uint32_t event;
    void *target, *staged;  // of pulls
    std::function<void(bool)> arrived;
    bool touches(const void* memory, uint64_t sizeBytes) const {
      const auto* first = static_cast<const std::byte*>(memory);
      return first < end && begin < first + sizeBytes;
    }
  };
  // Page-locked memory, given out from its beginning until it is taken back as a whole.
  struct Staging {
    struct Block {
      std::byte* memory;
      uint64_t sizeBytes;
    };
    std::vector<Block> blocks;
    size_t block = 0;
    uint64_t used = 0, held = 0;
  };

  DeviceCopies(const DynDevice& device, uint32_t work) : device_(device), work_(work) {}
  Status told(int32_t status) const { return deviceStatus(device_, status, text_); }
  Status stage(Staging& staging, uint64_t sizeBytes, std::byte*& memory);  // null: it is full
  static void takeBack(Staging& staging) { staging.block = staging.used = 0; }
  Status eventOf(uint32_t stream, uint32_t& event);  // recorded there
  Status wait(uint32_t stream, uint32_t event);
  Status waitForWork(uint32_t stream);
  Status pullInPieces(void* target, const void* source, uint64_t sizeBytes);

  const DynDevice& device_;
  uint32_t work_, in_ = 0, out_ = 0;
  bool hasIn_ = false, hasOut_ = false;
  bool workGoesOn_ = false;  // since it was last waited for
  std::vector<Copy> pushes_, pulls_;
  std::vector<uint32_t> freeEvents_;  // a wait that was put into a stream needs its event no more
  Staging inStaging_, outStaging_;
  mutable DynDeviceText text_{};
};

}  // namespace dyn::vm
