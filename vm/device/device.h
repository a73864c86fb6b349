// The device table: one row (dyn_device.h) for each device that this runtime knows. A device's number is its
// place here, the first is the host (kHostDevice); nothing else knows how many there are.
#pragma once

#include <cstdint>
#include <span>

#include "vm/base/status.h"
#include "vm/include/abi/dyn_device.h"
#include "vm/isa/isa.h"

namespace dyn::vm {

std::span<const DynDevice* const> deviceTable();
const DynDevice* deviceAt(int32_t number);  // null: there is none
int32_t findDevice(const char* name);       // -1: unknown

// What a function of a row returned, with its text.
Status deviceStatus(const DynDevice& device, int32_t status, const DynDeviceText& text);

}  // namespace dyn::vm
