// The rows of devices.def beside the table of devices of the runtime.
#include <gtest/gtest.h>

#include "compiler/target/device_kind.h"
#include "vm/device/device.h"

namespace dyn {
namespace {

TEST(DeviceNumbers, areThoseOfTheRuntime) {
  for (const DeviceRow& row : deviceTable()) {
    if (row.isSimulated()) continue;  // the device that it simulates
    EXPECT_EQ(vm::findDevice(toString(row.kind)), row.number) << row.name;
  }
  EXPECT_EQ(deviceTable().front().number, vm::kHostDevice);
}

// What the runtime has and no program is compiled for is said to be unsupported, not unknown.
TEST(DeviceNumbers, everyDeviceOfTheRuntimeIsKnown) {
  for (const DynDevice* device : vm::deviceTable())
    EXPECT_NE(findDevice(device->name) != nullptr, isRuntimeDevice(device->name)) << device->name;
}

}  // namespace
}  // namespace dyn
