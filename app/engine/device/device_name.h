// Where kernels run, as --device and :set device name it: cpu, cuda, cuda:1, simcuda, simcuda:1.
//
//   DYN_TRY(const DeviceName device, parseDevice("cuda:1"));   // device.isGpu, device.index == 1
//   device.ofRuntime()   // "cuda:1": as dyn_gpu.h wants it
#pragma once

#include <string>

#include "compiler/support/result.h"
#include "vm/include/dynvm.h"

namespace dyn {

struct DeviceName {
  bool isGpu = false;
  bool isSimulated = false;  // the GPU of the tests
  int index = 0;             // of the driver's devices; whether it has so many is the runtime's to say
  std::string ofRuntime() const;
};

// Errors: usageError for what is no name; unsupportedFeature for the device of the tests.
Result<DeviceName> parseDevice(const std::string& text);
// Whether a package that is to run there was made for it. Error: usageError.
Status hasCodeFor(const DeviceName& device, const dyn_module* module);
// Of a name that was parsed before.
bool isGpu(const std::string& device);
bool isSimulatedGpu(const std::string& device);

}  // namespace dyn
