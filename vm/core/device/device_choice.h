// Where the kernels run that a program has for a GPU: on one, or as code of the host. Chosen once, when the
// program is loaded.
#pragma once

#include <string>

#include "vm/base/status.h"
#include "vm/include/abi/dyn_device.h"
#include "vm/isa/program.h"

namespace dyn::vm {

struct DeviceChoice {
  const DynDevice* cuda = nullptr;  // the row that stands for kCudaDevice; null: none is needed
  bool onHost = false;              // what the program has for a GPU is done by the host
  std::string name;                 // "cuda:0", "cpu"; "": the program has nothing for a GPU
  // Why it is the host although nobody asked for that, or a product is not the library's that it was to be.
  std::string notice;
};

// What to do when `wanted` is null and there is no device: a program made for a device ends, one that is
// handed to others goes on with its code of the host.
enum class Fallback : uint8_t { none, host };

// `wanted`: as in dyn_gpu.h. DYN_UNAVAILABLE: there is no such device. DYN_INVALID_ARGUMENT: no such name.
Status chooseDevice(const Program& program, const char* wanted, Fallback fallback, DeviceChoice& choice);

}  // namespace dyn::vm
