// Copies beside the work of a device: what is computed, and that each kind of wait between two streams is
// needed: without it, or without the events that it waits for, the simulated driver ends with a fault. A
// fault ends the device, so each runs in a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/unit/vm/device/add_kernel.h"
#include "tests/unit/vm/device/simulated_driver.h"
#include "vm/core/device/device_copies.h"
#include "vm/core/device/device_graphs.h"
#include "vm/device/cuda/cuda_device.h"
#include "vm/include/dyn_gpu.h"
#include "vm/include/dynvm.h"

namespace dyn::vm {
namespace {

constexpr int64_t kElements = 3000;
constexpr uint64_t kBytes = kElements;

// Streams in the order in which DeviceCopies makes them, behind that of the work.
enum Stream : uint32_t { work = 1, in = 2, out = 3 };

// What is left out; 0: nothing.
struct Missing {
  uint32_t waiter = 0, recorded = 0;  // waits of one stream for events of another
  uint32_t events = 0;                // all events of a stream
};
Missing missing;
std::map<uint32_t, uint32_t> streamOf;  // of events
int64_t waits = 0;
DynDeviceFunctions mutant;

int32_t record(const DynDevice* device, uint32_t stream, uint32_t event, DynDeviceText* text) {
  streamOf[event] = stream;
  if (stream == missing.events) return DYN_OK;
  return cudaDevice(0)->functions->recordEvent(device, stream, event, text);
}
int32_t wait(const DynDevice* device, uint32_t stream, uint32_t event, DynDeviceText* text) {
  ++waits;
  if (stream == missing.waiter && streamOf[event] == missing.recorded) return DYN_OK;
  return cudaDevice(0)->functions->waitEvent(device, stream, event, text);
}

struct Work {
  const DynDevice& device;
  uint64_t kernel;
  std::unique_ptr<DeviceCopies> copies;

  bool addOne(const void* x, void* y) const {
    const DeviceRange ranges[] = {{x, kBytes, false}, {y, kBytes, true}};
    if (!copies->beforeWork(ranges).ok()) return false;
    const void* buffers[] = {x, y};
    const uint64_t bytes[] = {kBytes, kBytes};
    const int64_t scalars[] = {1, 0};
    DynLaunch launch{};
    launch.kernel = kernel;
    launch.buffers = const_cast<void* const*>(buffers);
    launch.bufferBytes = bytes;
    launch.scalars = scalars;
    launch.bufferCount = 2;
    launch.scalarCount = 2;
    launch.outputCount = 1;
    launch.gridX = 12;
    launch.blockX = 256;
    launch.gridY = launch.gridZ = launch.blockY = launch.blockZ = 1;
    launch.units = launch.steps = kElements;
    return device.functions->launch(&device, work, &launch, nullptr) == DYN_OK;
  }
};

// 0: all is right.
int runs(const std::string& ptx, Missing without) {
  missing = without;
  mutant = *cudaDevice(0)->functions;
  mutant.recordEvent = record;
  mutant.waitEvent = wait;
  DynDevice device = *cudaDevice(0);
  device.functions = &mutant;
  DynDeviceText text{};
  uint64_t module = 0;
  uint32_t stream = 0;
  Work w{device, 0, nullptr};
  if (mutant.open(&device, &text) != DYN_OK || mutant.createStream(&device, &stream, &text) != DYN_OK ||
      stream != work || mutant.loadCode(&device, ptx.data(), ptx.size(), &module, &text) != DYN_OK ||
      mutant.findKernel(&device, module, "add", &w.kernel, &text) != DYN_OK ||
      !DeviceCopies::create(device, work, w.copies).ok())
    return 2;
  void *x = nullptr, *y = nullptr;
  if (mutant.allocate(&device, work, kBytes, &x, &text) != DYN_OK ||
      mutant.allocate(&device, work, kBytes, &y, &text) != DYN_OK)
    return 3;
  const std::vector<uint8_t> ones(kElements, 1), threes(kElements, 3), fives(kElements, 5);
  std::vector<uint8_t> first(kElements), second(kElements), third(kElements);
  const auto pull = [&](std::vector<uint8_t>& into) {
    return w.copies->pull(into.data(), y, kBytes, [](bool) {}).ok();
  };
  // Each line meets what the one before has left in the other streams.
  if (!w.copies->push(x, ones.data(), kBytes).ok() || !w.addOne(x, y) || !pull(first)) return 1;
  if (!w.copies->push(x, threes.data(), kBytes).ok() || !w.addOne(x, y) || !pull(second)) return 1;
  if (!w.copies->push(y, fives.data(), kBytes).ok() || !pull(third)) return 1;
  if (!w.copies->settle(text).ok() || mutant.synchronise(&device, work, &text) != DYN_OK ||
      !w.copies->workIsDone(text).ok())
    return 1;
  const bool right = first == std::vector<uint8_t>(kElements, 2) &&
                     second == std::vector<uint8_t>(kElements, 4) && third == fives && waits > 0;
  return right ? 0 : 1;
}

class DeviceStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
  std::string ptx_ = kAddPtx;
};

TEST_F(DeviceStreams, eachKindOfWaitIsNeeded) {
  EXPECT_EXIT(_exit(runs(ptx_, {})), testing::ExitedWithCode(0), "");
  for (const uint32_t waiter : {work, in, out})
    for (const uint32_t recorded : {work, in, out})
      if (waiter != recorded) {
        EXPECT_EXIT(_exit(runs(ptx_, {waiter, recorded, 0})), testing::ExitedWithCode(1), "")
            << "stream " << waiter << " does not wait for stream " << recorded;
      }
}

TEST_F(DeviceStreams, eventsAreRecorded) {
  for (const uint32_t stream : {work, in, out})
    EXPECT_EXIT(_exit(runs(ptx_, {0, 0, stream})), testing::ExitedWithCode(1), "") << "stream " << stream;
}

// Launches that come again are one graph from the second time on, until a buffer lies elsewhere.
int graphs(const std::string& ptx) {
  const DynDevice& device = *cudaDevice(0);
  const DynDeviceFunctions& call = *device.functions;
  DynDeviceText text{};
  uint64_t module = 0, kernel = 0;
  uint32_t stream = 0;
  if (call.open(&device, &text) != DYN_OK || call.createStream(&device, &stream, &text) != DYN_OK ||
      call.loadCode(&device, ptx.data(), ptx.size(), &module, &text) != DYN_OK ||
      call.findKernel(&device, module, "add", &kernel, &text) != DYN_OK)
    return 2;
  void* memory[4];
  for (void*& buffer : memory)
    if (call.allocate(&device, stream, kBytes, &buffer, &text) != DYN_OK) return 3;
  DeviceGraphs graphs(device, stream);
  const auto round = [&](std::vector<int> chain, uint8_t begin, uint8_t end) {
    const std::vector<uint8_t> ones(kElements, begin);
    std::vector<uint8_t> result(kElements);
    if (call.copyTo(&device, stream, memory[chain[0]], ones.data(), kBytes, &text) != DYN_OK) return false;
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      void* buffers[] = {memory[chain[i]], memory[chain[i + 1]]};
      const uint64_t bytes[] = {kBytes, kBytes};
      const int64_t scalars[] = {1, 0};
      DynLaunch launch{};
      launch.kernel = kernel;
      launch.buffers = buffers;
      launch.bufferBytes = bytes;
      launch.scalars = scalars;
      launch.bufferCount = 2;
      launch.scalarCount = 2;
      launch.outputCount = 1;
      launch.gridX = 12;
      launch.blockX = 256;
      launch.gridY = launch.gridZ = launch.blockY = launch.blockZ = 1;
      launch.units = launch.steps = kElements;
      if (!graphs.launch(launch, text).ok()) return false;
    }
    if (!graphs.flush(text).ok() ||
        call.copyFrom(&device, stream, result.data(), memory[chain.back()], kBytes, &text) != DYN_OK ||
        call.synchronise(&device, stream, &text) != DYN_OK)
      return false;
    graphs.waited();
    return result == std::vector<uint8_t>(kElements, end);
  };
  const std::vector<int> three = {0, 1, 2}, other = {0, 1, 3}, longer = {0, 1, 2, 3};
  if (!round(three, 1, 3) || graphs.launchedCount() != 0) return 10;
  if (!round(three, 2, 4) || graphs.launchedCount() != 1) return 11;  // made, and launched
  if (!round(three, 3, 5) || graphs.launchedCount() != 2) return 12;
  if (!round(other, 1, 3) || graphs.launchedCount() != 2) return 13;  // a buffer lies elsewhere
  if (!round(longer, 1, 4) || graphs.launchedCount() != 2) return 14;
  if (!round(longer, 2, 5) || graphs.launchedCount() != 3) return 15;
  return 0;
}

TEST_F(DeviceStreams, graphsOfWhatComesAgain) {
  EXPECT_EXIT(_exit(graphs(ptx_)), testing::ExitedWithCode(0), "");
}

// What an error of the driver is told as, and whether the device goes on.
int32_t statusOf(const char* fail, bool& goesOn) {
  setenv("DYN_SIMCUDA_FAIL", fail, 1);
  const DynDevice& device = *cudaDevice(0);
  const DynDeviceFunctions& call = *device.functions;
  DynDeviceText text{};
  void *first = nullptr, *second = nullptr;
  if (call.open(&device, &text) != DYN_OK) return -1;
  const int32_t status = call.allocate(&device, 0, kBytes, &first, &text);
  goesOn = call.allocate(&device, 0, kBytes, &second, &text) == DYN_OK;
  return status;
}

TEST_F(DeviceStreams, errorsOfTheDriverHaveTheirStatus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process whose driver nobody opened before
  struct Case {
    const char* fail;
    int32_t status;
    bool goesOn;
  };
  // The first allocation of the driver is the stream's own.
  for (const Case& one : {Case{"cuMemAlloc_v2:2:2", DYN_OUT_OF_MEMORY, true},
                          Case{"cuMemAlloc_v2:2:999", DYN_DEVICE_ERROR, true},
                          Case{"cuMemAlloc_v2:2:1", DYN_DEVICE_ERROR, true},
                          Case{"cuMemAlloc_v2:2:700", DYN_KERNEL_FAULT, false},
                          Case{"cuMemAlloc_v2:2:716", DYN_KERNEL_FAULT, false},
                          Case{"cuMemAlloc_v2:2:719", DYN_KERNEL_FAULT, false},
                          Case{"cuMemAlloc_v2:2:46", DYN_UNAVAILABLE, false},
                          Case{"cuMemAlloc_v2:2:214", DYN_UNAVAILABLE, false}}) {
    const auto asExpected = [&] {
      bool goesOn = false;
      const int32_t status = statusOf(one.fail, goesOn);
      return status == one.status && goesOn == one.goesOn ? 0 : 1 + status;
    };
    EXPECT_EXIT(_exit(asExpected()), testing::ExitedWithCode(0), "") << one.fail;
  }
}

}  // namespace
}  // namespace dyn::vm
