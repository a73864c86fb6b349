// Where kernels run, as --device and :set device name it: cpu, cuda, cuda:1, simcuda, simcuda:1 (a row of
// compiler/target/devices.def, and a number).
//
//   DYN_TRY(const DeviceName device, parseDevice("cuda:1"));   // !device.isHost(), device.index == 1
//   device.ofRuntime()   // "cuda:1": as dyn_gpu.h wants it
#pragma once

#include <string>

#include "compiler/support/result.h"
#include "compiler/target/device_kind.h"
#include "vm/include/dynvm.h"

namespace dyn {

struct DeviceName {
  DeviceKind kind = deviceTable().front().kind;  // the host
  int index = 0;  // of the driver's devices; whether it has so many is the runtime's to say

  bool isHost() const { return deviceRow(kind).isHost(); }
  bool isSimulated() const { return deviceRow(kind).isSimulated(); }
  DeviceKind compiledAs() const { return deviceRow(kind).compiledAs; }
  std::string ofRuntime() const;
};

// Errors: usageError for what is no name; unsupportedFeature for the device of the runtime's tests.
Result<DeviceName> parseDevice(const std::string& text);
// Whether a package that is to run there was made for it. Error: usageError.
Status hasCodeFor(const DeviceName& device, const dyn_module* module);
// Of a name that was parsed before.
bool isOnHost(const std::string& device);
bool isOnSimulator(const std::string& device);

// Sentences from the table. "cpu; cuda: run kernels on the first GPU ...; simcuda: ...".
std::string_view deviceHelp();
// "everything runs on the cpu", and how a device is put beside it.
Error nothingBesideHost();

}  // namespace dyn
