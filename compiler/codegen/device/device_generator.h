// The code generators of devices beside the host: one for each row of devices.def that names one.
//
//   const DeviceGenerator& generator = generatorOf(compiled.target.device);
//   DYN_TRY(DeviceMetadata rows, generator.program(kernels, {"fp32", LibraryUse::leaveOut}));
//   rows;   // what the program carries for the device's runtime, in its metadata
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/loop/kernel.h"
#include "compiler/support/result.h"
#include "compiler/target/device_kind.h"

namespace dyn {

using DeviceMetadata = std::vector<std::pair<std::string, std::string>>;  // key and value

struct DeviceKernelSource {
  size_t row = 0;  // of the program's table of kernels
  const loop::Kernel* kernel = nullptr;
  const std::string* symbol = nullptr;
};

// Whether products that the device's library can do, too, are done by it where it is there.
enum class LibraryUse : uint8_t { leaveOut, take };

struct DeviceProgramOptions {
  std::string math;  // --math: "fp32", "tf32", "bf16"
  LibraryUse library = LibraryUse::leaveOut;
};

struct LibraryAnswer {
  bool hasVersions = false;  // it is a product that might be done by a library
  bool isTaken = false;      // by --policy
  std::string why;           // it cannot; "": it can
};

// Errors: unsupportedFeature and unsupportedDtype for what has no code there, or where LLVM has no such
// target.
struct DeviceGenerator {
  // Of all kernels that run there, at least one.
  Result<DeviceMetadata> (*program)(std::span<const DeviceKernelSource> kernels,
                                    const DeviceProgramOptions& options);
  // Whether the device's library does one, can do it, or why not.
  LibraryAnswer (*library)(const DeviceKernelSource& kernel, const DeviceMetadata& metadata);
  // The code of one, for readers. `metadata`: of the program that it is part of.
  Result<std::string> (*text)(const DeviceKernelSource& kernel, const DeviceMetadata& metadata);
};

#define DYN_DEVICE(id, name, number, level, language, generator, library, libraryFault, help) \
  extern const DeviceGenerator k##generator;
#include "compiler/target/devices.def"

// `kind`: a device beside the host.
const DeviceGenerator& generatorOf(DeviceKind kind);

}  // namespace dyn
