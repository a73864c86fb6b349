#include "vm/device/device.h"

#include <cstring>

#include "vm/device/cpu_device.h"
#include "vm/device/cuda/cuda_device.h"
#include "vm/device/sim_device.h"
#include "vm/include/dyn_gpu.h"

namespace dyn::vm {

static_assert(sizeof(DynDeviceFunctions) <= 20 * sizeof(void (*)()), "the interface stays small");

std::span<const DynDevice* const> deviceTable() {
  static const DynDevice* const kRows[] = {&cpuDevice(), &simDevice(), cudaDevice(0)};
  return kRows;
}

const DynDevice* deviceAt(int32_t number) {
  const std::span<const DynDevice* const> rows = deviceTable();
  return number >= 0 && static_cast<size_t>(number) < rows.size() ? rows[static_cast<size_t>(number)]
                                                                  : nullptr;
}

int32_t findDevice(const char* name) {
  int32_t number = 0;
  for (const DynDevice* row : deviceTable()) {
    if (strcmp(row->name, name) == 0) return number;
    ++number;
  }
  return -1;
}

Status deviceStatus(const DynDevice& device, int32_t status, const DynDeviceText& text) {
  if (status == DYN_OK) return okStatus();
  if (status == DYN_UNAVAILABLE) return failure(DYN_UNAVAILABLE, text.text);  // which names it
  return failure(static_cast<dyn_status>(status), std::string(device.name) + ": " + text.text);
}

}  // namespace dyn::vm
