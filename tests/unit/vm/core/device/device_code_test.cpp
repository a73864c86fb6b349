// Which form of a kernel a launch gets: by its sizes alone, from the lists that a program brings.
#include "vm/core/device/device_code.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vm/include/dynvm.h"

namespace dyn::vm {
namespace {

// A device that knows every kernel, and remembers which was asked for.
std::string g_asked;
int32_t loadAny(const DynDevice*, const void*, uint64_t, uint64_t* module, DynDeviceText*) {
  *module = 1;
  return DYN_OK;
}
int32_t unloadAny(const DynDevice*, uint64_t, DynDeviceText*) { return DYN_OK; }
int32_t findAny(const DynDevice*, uint64_t, const char* name, uint64_t* kernel, DynDeviceText*) {
  g_asked = name;
  *kernel = 1;
  return DYN_OK;
}

struct Sizes {
  int64_t units, steps, scalar;
  std::vector<uint64_t> bytes;
};

class ChosenForm : public testing::Test {
 protected:
  // The function that a launch of these sizes gets, and how many blocks.
  std::string chosen(const std::string& forms, const Sizes& sizes) {
    DynDeviceFunctions functions{};
    functions.loadCode = loadAny;
    functions.unloadCode = unloadAny;
    functions.findKernel = findAny;
    DynDevice device{};
    device.name = "cuda:0";
    device.functions = &functions;
    Program program;
    program.kernels.emplace_back();
    program.kernels[0].symbol = "k";
    program.metadata = {{kDeviceKernelsKey, "0 " + forms + "\n"}, {kDevicePtxKey, "text"}};
    DeviceCode code;
    EXPECT_TRUE(DeviceCode::load(device, program, code).ok());
    DynLaunch launch{};
    launch.units = sizes.units;
    launch.steps = sizes.steps;
    launch.scalars = &sizes.scalar;
    launch.scalarCount = 1;
    launch.bufferBytes = sizes.bytes.empty() ? nullptr : sizes.bytes.data();
    launch.bufferCount = static_cast<uint32_t>(sizes.bytes.size());
    EXPECT_TRUE(code.prepare(device, program, 0, launch).ok());
    blocks_ = launch.gridX;
    code.unload(device);
    return g_asked;
  }
  uint32_t blocks_ = 0;
};

TEST_F(ChosenForm, indicesOf32BitsWhereAllIsSmall) {
  const int64_t limit = kNarrowLimit;
  const Sizes small{10, 100, 7, {400, 400}};
  EXPECT_EQ(chosen("thread block narrow", small), "k_narrow");
  EXPECT_EQ(chosen("thread block", small), "k") << "a program from before there were such forms";
  EXPECT_EQ(chosen("thread block narrow", {10, 10000, 7, {400, 400}}), "k_block_narrow");
  const auto wide = [&](Sizes sizes) { return chosen("thread narrow", sizes); };
  EXPECT_EQ(wide({limit - 1, limit - 1, limit - 1, {static_cast<uint64_t>(limit) - 1}}), "k_narrow");
  EXPECT_EQ(wide({limit, limit, 7, {400}}), "k");
  EXPECT_EQ(wide({10, limit, 7, {400}}), "k") << "so many steps";
  EXPECT_EQ(wide({10, 100, limit, {400}}), "k") << "a dim";
  EXPECT_EQ(wide({10, 100, -limit, {400}}), "k");
  EXPECT_EQ(wide({10, 100, 7, {400, static_cast<uint64_t>(limit)}}), "k") << "a buffer";
  EXPECT_EQ(wide({10, 100, 7, {}}), "k") << "nobody knows how large they are";
}

TEST_F(ChosenForm, threadsOfWholeUnits) {
  const Sizes sizes{1000, 100000, 7, {400}};
  EXPECT_EQ(chosen("thread units", sizes), "k");
  EXPECT_EQ(blocks_, 4u);
  EXPECT_EQ(chosen("thread", sizes), "k");
  EXPECT_EQ(blocks_, 391u) << "loops in a unit may be dealt out";
}

}  // namespace
}  // namespace dyn::vm
