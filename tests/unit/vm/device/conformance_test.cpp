// What dyn_device.h promises, for every row of the table: a new row is tested by being there. Rows whose
// device is not in this machine are skipped. The sim device runs with several seeds, that is, in several
// orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/vm/device/add_kernel.h"
#include "tests/unit/vm/device/simulated_driver.h"
#include "vm/device/device.h"
#include "vm/device/sim_device.h"
#include "vm/include/dynvm.h"

namespace dyn::vm {
namespace {

using testing::Each;

// y[i] = x[i] + scalars[0], bytes; fault 3 at units below scalars[1].
int32_t addToBytes(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end, void* scratch) {
  if (begin < scalars[1]) return DYN_KERNEL_BAD_VALUE;
  const auto* x = static_cast<const uint8_t*>(buffers[0]);
  auto* y = static_cast<uint8_t*>(buffers[1]);
  if (scratch) memset(scratch, 1, 64);
  for (int64_t i = begin; i < end; ++i) y[i] = static_cast<uint8_t>(x[i] + scalars[0]);
  return DYN_KERNEL_OK;
}
constexpr DynKernelEntry kKernels[] = {{"first", addToBytes, 2, 1, 2, 0}, {"add", addToBytes, 2, 1, 2, 64}};
constexpr DynHostCode kCode = {kKernels, 2};
struct Row {
  std::string name;
  const DynDevice* device;
  std::shared_ptr<OwnedSimDevice> owner;  // of rows that are not the table's
};

std::vector<Row> rows() {
  std::vector<Row> result;
  for (const DynDevice* device : deviceTable()) result.push_back({device->name, device, nullptr});
  for (uint64_t seed = 2; seed < 10; ++seed) {
    auto sim = std::make_shared<OwnedSimDevice>(SimOptions{seed, uint64_t{1} << 24});
    result.push_back({"sim_seed_" + std::to_string(seed), &sim->row(), sim});
  }
  return result;
}

class Device : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    device_ = GetParam().device;
    call_ = device_->functions;
    (void)useSimulatedDriver();
    if (call_->open(device_, &text_) != DYN_OK) GTEST_SKIP() << text_.text;
  }
  uint8_t* memory(uint64_t bytes, uint32_t stream = 0) {
    void* result = nullptr;
    EXPECT_EQ(call_->allocate(device_, stream, bytes, &result, &text_), DYN_OK) << text_.text;
    return static_cast<uint8_t*>(result);
  }
  void free(void* memory, uint32_t stream = 0) {
    EXPECT_EQ(call_->deallocate(device_, stream, memory, &text_), DYN_OK) << text_.text;
  }
  void wait(uint32_t stream = 0) {
    EXPECT_EQ(call_->synchronise(device_, stream, &text_), DYN_OK) << text_.text;
  }
  uint32_t stream() {
    uint32_t result = 0;
    EXPECT_EQ(call_->createStream(device_, &result, &text_), DYN_OK) << text_.text;
    return result;
  }
  uint32_t event() {
    uint32_t result = 0;
    EXPECT_EQ(call_->createEvent(device_, &result, &text_), DYN_OK) << text_.text;
    return result;
  }
  // The launch of "add" over `bytes`.
  int32_t add(uint64_t kernel, uint8_t* x, uint8_t* y, int64_t bytes, int64_t what, uint32_t stream = 0,
              int64_t faultBelow = 0) {
    void* buffers[] = {x, y};
    const int64_t scalars[] = {what, faultBelow};
    DynLaunch launch{};
    launch.kernel = kernel;
    launch.buffers = buffers;
    launch.scalars = scalars;
    launch.bufferCount = launch.scalarCount = 2;
    launch.gridX = launch.gridY = launch.gridZ = launch.blockX = launch.blockY = launch.blockZ = 1;
    launch.units = launch.steps = bytes;
    launch.mayFault = 1;
    return call_->launch(device_, stream, &launch, &text_);  // what it points at is gone afterwards
  }
  void loadCode() {
    const bool ofHost = device_->codeFormat == DYN_CODE_HOST;
    const void* code = ofHost ? static_cast<const void*>(&kCode) : kAddPtx;
    ASSERT_EQ(call_->loadCode(device_, code, ofHost ? sizeof kCode : strlen(kAddPtx), &module_, &text_),
              DYN_OK)
        << text_.text;
    ASSERT_EQ(call_->findKernel(device_, module_, "add", &kernel_, &text_), DYN_OK) << text_.text;
    if (ofHost) {
      EXPECT_EQ(kernel_, reinterpret_cast<uintptr_t>(&kKernels[1]));
    }
  }
  void TearDown() override {
    if (module_ != 0) {
      EXPECT_EQ(call_->unloadCode(device_, module_, &text_), DYN_OK) << text_.text;
    }
  }

  const DynDevice* device_ = nullptr;
  const DynDeviceFunctions* call_ = nullptr;
  uint64_t module_ = 0, kernel_ = 0;
  DynDeviceText text_ = {};
};

TEST_P(Device, hasAllFunctions) {
  const auto* functions = reinterpret_cast<void (*const*)()>(call_);
  for (size_t i = 0; i < sizeof(DynDeviceFunctions) / sizeof(void (*)()); ++i)
    EXPECT_NE(functions[i], nullptr) << i;
  EXPECT_STRNE(device_->meaning, "");
}

TEST_P(Device, copiesAnySizeFromAnyAddress) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{64}, uint64_t{4099}}) {
    std::vector<uint8_t> source(bytes + 1), target(bytes + 1, 99);
    for (uint64_t i = 0; i <= bytes; ++i) source[i] = static_cast<uint8_t>(i * 7 + 3);
    uint8_t* a = memory(bytes + 5);
    uint8_t* b = memory(bytes + 9);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
    EXPECT_EQ(call_->copyTo(device_, 0, a + 1, source.data() + 1, bytes, &text_), DYN_OK) << text_.text;
    EXPECT_EQ(call_->copyWithin(device_, 0, b + 3, a + 1, bytes, &text_), DYN_OK) << text_.text;
    EXPECT_EQ(call_->copyFrom(device_, 0, target.data() + 1, b + 3, bytes, &text_), DYN_OK) << text_.text;
    wait();
    EXPECT_EQ(target[0], 99);
    EXPECT_TRUE(std::equal(source.begin() + 1, source.end(), target.begin() + 1)) << bytes;
    free(a);
    free(b);
  }
  free(nullptr);
  EXPECT_EQ(memory(0), nullptr);
  wait();
}

TEST_P(Device, refusesCopiesThatOverlap) {
  uint8_t* a = memory(100);
  EXPECT_EQ(call_->copyWithin(device_, 0, a + 10, a, 11, &text_), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(call_->copyWithin(device_, 0, a, a + 10, 11, &text_), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(call_->copyWithin(device_, 0, a, a, 1, nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_STRNE(text_.text, "");
  EXPECT_EQ(call_->copyWithin(device_, 0, a, a, 0, &text_), DYN_OK);
  EXPECT_EQ(call_->copyWithin(device_, 0, a, a + 10, 10, &text_), DYN_OK) << text_.text;
  free(a);
  wait();
}

TEST_P(Device, fills) {
  std::vector<uint8_t> target(13);
  uint8_t* a = memory(13);
  EXPECT_EQ(call_->fill(device_, 0, a, 5, 13, &text_), DYN_OK) << text_.text;
  EXPECT_EQ(call_->fill(device_, 0, a + 3, 7, 2, &text_), DYN_OK) << text_.text;
  EXPECT_EQ(call_->fill(device_, 0, a + 3, 9, 0, &text_), DYN_OK) << text_.text;
  EXPECT_EQ(call_->copyFrom(device_, 0, target.data(), a, 13, &text_), DYN_OK) << text_.text;
  wait();
  EXPECT_THAT(target, testing::ElementsAre(5, 5, 5, 7, 7, 5, 5, 5, 5, 5, 5, 5, 5));
  free(a);
  wait();
}

TEST_P(Device, runsOutOfMemoryAndGoesOn) {
  uint64_t freeBytes = 0, totalBytes = 0;
  ASSERT_EQ(call_->memoryInfo(device_, &freeBytes, &totalBytes, &text_), DYN_OK) << text_.text;
  EXPECT_LE(freeBytes, totalBytes);
  void* none = &freeBytes;
  EXPECT_EQ(call_->allocate(device_, 0, uint64_t{1} << 60, &none, &text_), DYN_OUT_OF_MEMORY);
  EXPECT_EQ(none, nullptr);
  EXPECT_STRNE(text_.text, "");
  for (int i = 0; i < 100; ++i) {  // freed memory comes back
    uint8_t* a = memory(uint64_t{1} << 20);
    ASSERT_NE(a, nullptr);
    free(a);
    wait();
  }
}

TEST_P(Device, refusesTheWrongSpace) {
  if (device_->sharesHostMemory) GTEST_SKIP() << "there is one space";
  uint8_t* a = memory(64);
  uint8_t here[64] = {}, there[64] = {};
  auto refused = [&](int32_t status) {  // at the call, or when its turn comes
    if (status == DYN_OK) status = call_->synchronise(device_, 0, &text_);
    EXPECT_EQ(status, DYN_INVALID_ARGUMENT) << text_.text;
  };
  refused(call_->copyTo(device_, 0, here, there, 64, &text_));
  refused(call_->copyTo(device_, 0, a, a, 64, &text_));
  refused(call_->copyFrom(device_, 0, a, a, 64, &text_));
  refused(call_->copyFrom(device_, 0, here, there, 64, &text_));
  refused(call_->copyWithin(device_, 0, here, a, 64, &text_));
  refused(call_->fill(device_, 0, here, 1, 64, &text_));
  refused(call_->fill(device_, 0, a + 1, 1, 64, &text_));  // a byte too far
  free(a);
  wait();
}

TEST_P(Device, knowsWhichCodeIsThere) {
  uint64_t module = 0, kernel = 0;
  EXPECT_EQ(call_->loadCode(device_, nullptr, 0, &module, &text_), DYN_BAD_PROGRAM);
  EXPECT_EQ(call_->loadCode(device_, "junk", 4, &module, &text_), DYN_BAD_PROGRAM);
  EXPECT_EQ(add(0, nullptr, nullptr, 1, 1), DYN_INVALID_ARGUMENT);
  loadCode();
  EXPECT_EQ(call_->findKernel(device_, module_, "ad", &kernel, &text_), DYN_OUT_OF_RANGE);
  EXPECT_STRNE(text_.text, "");
}

TEST_P(Device, launches) {
  loadCode();
  if (module_ == 0) return;
  const std::vector<uint8_t> source(37, 1);  // not the target, too: it must stay until the wait
  std::vector<uint8_t> data(37);
  uint8_t* a = memory(37);
  uint8_t* b = memory(37);
  EXPECT_EQ(call_->copyTo(device_, 0, a, source.data(), 37, &text_), DYN_OK) << text_.text;
  EXPECT_EQ(add(kernel_, a, b, 37, 4), DYN_OK) << text_.text;
  EXPECT_EQ(add(kernel_, b, a, 37, 5), DYN_OK) << text_.text;
  EXPECT_EQ(call_->copyFrom(device_, 0, data.data(), a, 37, &text_), DYN_OK) << text_.text;
  free(a);
  free(b);
  wait();
  EXPECT_THAT(data, Each(10));
}

TEST_P(Device, tellsTheFaultOfAKernelAndGoesOn) {
  loadCode();
  if (module_ == 0) return;
  uint8_t* a = memory(8);
  uint8_t* b = memory(8);
  EXPECT_EQ(call_->fill(device_, 0, a, 0, 8, &text_), DYN_OK);
  int32_t status = add(kernel_, a, b, 8, 1, 0, /*faultBelow=*/8);
  if (status == DYN_OK) status = call_->synchronise(device_, 0, &text_);
  EXPECT_EQ(status, DYN_KERNEL_FAULT);
  EXPECT_STREQ(text_.text, "kernel add: bad value");
  EXPECT_EQ(add(kernel_, a, b, 8, 1), DYN_OK) << text_.text;
  wait();
  free(a);
  free(b);
  wait();
}

// Two streams work on the same memory in turns; only events order them. Each order that they leave open must
// give the same bytes.
TEST_P(Device, eventsOrderStreams) {
  loadCode();
  if (module_ == 0) return;
  const uint32_t one = stream(), two = stream(), ping = event(), pong = event();
  const std::vector<uint8_t> source(16, 0);
  std::vector<uint8_t> data(16);
  uint8_t* a = memory(16, one);
  uint8_t* b = memory(16, one);
  EXPECT_EQ(call_->waitEvent(device_, two, pong, &text_), DYN_OK) << "never recorded: nothing to wait for";
  EXPECT_EQ(call_->copyTo(device_, one, a, source.data(), 16, &text_), DYN_OK) << text_.text;
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_EQ(add(kernel_, a, b, 16, 1, one), DYN_OK) << text_.text;
    EXPECT_EQ(call_->recordEvent(device_, one, ping, &text_), DYN_OK) << text_.text;
    EXPECT_EQ(call_->waitEvent(device_, two, ping, &text_), DYN_OK) << text_.text;
    EXPECT_EQ(call_->copyWithin(device_, two, a, b, 16, &text_), DYN_OK) << text_.text;
    EXPECT_EQ(call_->recordEvent(device_, two, pong, &text_), DYN_OK) << text_.text;
    EXPECT_EQ(call_->waitEvent(device_, one, pong, &text_), DYN_OK) << text_.text;
  }
  EXPECT_EQ(call_->copyFrom(device_, one, data.data(), a, 16, &text_), DYN_OK) << text_.text;
  EXPECT_EQ(call_->recordEvent(device_, one, ping, &text_), DYN_OK) << text_.text;
  int32_t done = 0;
  for (int asked = 0; asked < 100'000'000 && !done; ++asked)
    ASSERT_EQ(call_->queryEvent(device_, ping, &done, &text_), DYN_OK) << text_.text;
  EXPECT_EQ(done, 1);
  EXPECT_THAT(data, Each(10)) << "what stands before a done event is done";
  free(a, one);
  free(b, one);
  wait(two);
  wait(one);
  for (uint32_t made : {ping, pong})
    EXPECT_EQ(call_->destroyEvent(device_, made, &text_), DYN_OK) << text_.text;
  for (uint32_t made : {one, two})
    EXPECT_EQ(call_->destroyStream(device_, made, &text_), DYN_OK) << text_.text;
}

INSTANTIATE_TEST_SUITE_P(AllRows, Device, testing::ValuesIn(rows()),
                         [](const auto& info) { return info.param.name; });

TEST(DeviceTable, rowsAreFoundByNameAndNumber) {
  for (const DynDevice* device : deviceTable()) EXPECT_EQ(deviceAt(findDevice(device->name)), device);
  EXPECT_EQ(findDevice("cpu"), kHostDevice);
  EXPECT_EQ(findDevice("gpu"), -1);
  EXPECT_EQ(deviceAt(-1), nullptr);
  EXPECT_EQ(deviceAt(static_cast<int32_t>(deviceTable().size())), nullptr);
}

// The sim device is there to find what is wrong.

// What reaches the host of two kernels in two streams, the second of which reads what the first writes.
uint8_t raceOfTwoStreams(uint64_t seed, bool ordered) {
  OwnedSimDevice sim(SimOptions{seed});
  const DynDevice* d = &sim.row();
  const DynDeviceFunctions& call = *d->functions;
  uint32_t one = 0, two = 0, event = 0;
  void* memory = nullptr;
  uint8_t seen = 0;
  EXPECT_EQ(call.open(d, nullptr), DYN_OK);
  EXPECT_EQ(call.createStream(d, &one, nullptr), DYN_OK);
  EXPECT_EQ(call.createStream(d, &two, nullptr), DYN_OK);
  EXPECT_EQ(call.createEvent(d, &event, nullptr), DYN_OK);
  EXPECT_EQ(call.allocate(d, one, 1, &memory, nullptr), DYN_OK);
  EXPECT_EQ(call.fill(d, one, memory, 1, 1, nullptr), DYN_OK);
  EXPECT_EQ(call.recordEvent(d, one, event, nullptr), DYN_OK);
  if (ordered) {
    EXPECT_EQ(call.waitEvent(d, two, event, nullptr), DYN_OK);
  }
  EXPECT_EQ(call.copyFrom(d, two, &seen, memory, 1, nullptr), DYN_OK);
  EXPECT_EQ(seen, 0xfe) << "before the wait";
  EXPECT_EQ(call.synchronise(d, two, nullptr), DYN_OK);
  return seen;
}

TEST(SimDevice, findsMissingEvents) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(raceOfTwoStreams(seed, true), 1);
    wrong += raceOfTwoStreams(seed, false) != 1;
  }
  EXPECT_GT(wrong, 0) << "some order shows the missing event";
  EXPECT_LT(wrong, 20) << "and some hides it, as devices do";
}

TEST(SimDevice, findsUseBehindAFree) {
  OwnedSimDevice sim(SimOptions{1});
  const DynDevice* d = &sim.row();
  void* memory = nullptr;
  uint8_t here[8] = {};
  DynDeviceText text;
  ASSERT_EQ(d->functions->open(d, nullptr), DYN_OK);
  ASSERT_EQ(d->functions->allocate(d, 0, 8, &memory, nullptr), DYN_OK);
  ASSERT_EQ(d->functions->deallocate(d, 0, memory, nullptr), DYN_OK);
  ASSERT_EQ(d->functions->copyFrom(d, 0, here, memory, 8, nullptr), DYN_OK) << "the free has not run yet";
  EXPECT_EQ(d->functions->synchronise(d, 0, &text), DYN_INVALID_ARGUMENT);
  EXPECT_THAT(text.text, testing::HasSubstr("no allocation"));
  EXPECT_EQ(d->functions->synchronise(d, 0, &text), DYN_OK) << "told once";
  EXPECT_EQ(d->functions->deallocate(d, 0, memory, nullptr), DYN_INVALID_ARGUMENT);
}

TEST(SimDevice, itsMemoryIsLimited) {
  OwnedSimDevice sim(SimOptions{1, 1000});
  const DynDevice* d = &sim.row();
  void *a = nullptr, *b = nullptr;
  ASSERT_EQ(d->functions->open(d, nullptr), DYN_OK);
  EXPECT_EQ(d->functions->allocate(d, 0, 600, &a, nullptr), DYN_OK);
  EXPECT_EQ(d->functions->allocate(d, 0, 600, &b, nullptr), DYN_OUT_OF_MEMORY);
  EXPECT_EQ(d->functions->deallocate(d, 0, a, nullptr), DYN_OK);
  EXPECT_EQ(d->functions->synchronise(d, 0, nullptr), DYN_OK);
  EXPECT_EQ(d->functions->allocate(d, 0, 600, &b, nullptr), DYN_OK);
}

TEST(SimDeviceDeathTest, theHostCannotReadItsMemory) {
  void* memory = nullptr;
  const DynDevice& sim = simDevice();
  ASSERT_EQ(sim.functions->open(&sim, nullptr), DYN_OK);
  ASSERT_EQ(sim.functions->allocate(&sim, 0, 8, &memory, nullptr), DYN_OK);
  EXPECT_DEATH(*static_cast<volatile uint8_t*>(memory) = 1, "");
  EXPECT_EQ(sim.functions->deallocate(&sim, 0, memory, nullptr), DYN_OK);
  EXPECT_EQ(sim.functions->synchronise(&sim, 0, nullptr), DYN_OK);
}

}  // namespace
}  // namespace dyn::vm
