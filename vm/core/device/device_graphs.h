// DeviceGraphs: launches that come again with the same arguments are put into the stream as one graph.
//
// What is launched between two breaks (a copy, a wait) is a sequence. The first time it is launched kernel by
// kernel and remembered: functions, geometry, addresses and scalars. When one begins as a known sequence
// did, its launches are held back as long as they go on as that did; if they do to its end, the second time
// makes a graph of them, and later ones launch that. Where they go another way, for other dims or since a
// buffer lies elsewhere, what was held back is launched kernel by kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "vm/base/status.h"
#include "vm/device/device.h"

namespace dyn::vm {

class DeviceGraphs {
 public:
  static constexpr size_t kMostSequences = 64, kMostLaunches = 1024;

  DeviceGraphs(const DynDevice& device, uint32_t stream) : device_(device), stream_(stream) {}
  ~DeviceGraphs();
  DeviceGraphs(const DeviceGraphs&) = delete;

  // Launches now, or holds it back until the next break. `text` as of the row's function.
  Status launch(const DynLaunch& launch, DynDeviceText& text);
  // Whatever else is put into the stream comes behind all launches. Also before it is waited for.
  Status flush(DynDeviceText& text);
  // The stream was waited for: launches are counted from 1 again.
  void waited() { launchesSinceWait_ = 0; }
  void launchedApart() { ++launchesSinceWait_; }        // by somebody else, when nothing is held back
  uint64_t launchedCount() const { return launched_; }  // graphs, so far

 private:
  // A launch with what it points at.
  struct Kept {
    DynLaunch launch;
    std::vector<void*> buffers;
    std::vector<int64_t> scalars;
    std::vector<uint64_t> bytes;
    DynDeviceProduct product{};  // of launches that are one
    explicit Kept(const DynLaunch& from);
    bool operator==(const Kept& other) const;
    DynLaunch view() const;  // valid as long as this
  };
  struct Sequence {
    std::vector<Kept> launches;
    uint64_t before = 0;  // launches since the last wait when it began: kernels are told their number
    uint64_t graph = 0;   // 0: none yet
    uint64_t lastUse = 0;
  };

  Status launchNow(const Kept& kept, DynDeviceText& text);
  Status launchHeld(DynDeviceText& text);
  Status makeGraph(Sequence& sequence, DynDeviceText& text);
  void remember();
  void forget(size_t index);

  const DynDevice& device_;
  uint32_t stream_;
  std::vector<std::unique_ptr<Sequence>> known_;
  Sequence now_;                 // since the last break
  Sequence* follows_ = nullptr;  // what it has been like so far: its launches are held back
  size_t issued_ = 0;            // of now_
  uint64_t launchesSinceWait_ = 0, uses_ = 0, launched_ = 0;
};

}  // namespace dyn::vm
