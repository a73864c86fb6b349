// What tests of `device = cuda` share: the simulated driver (tests/simcuda), and options that ask for it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "compiler/driver/compile.h"
#include "compiler/driver/target_choice.h"
#include "tests/support/paths.h"

namespace dyn::test {

// False: that library is not built and none was named, or there is no code generation in this build.
inline bool useSimulatedDriver() {
#ifndef DYN_HAVE_LLVM
  return false;
#endif
  const std::string path = buildFolder() + "/simcuda/libcuda.so.1";
  if (!getenv("DYN_CUDA_DRIVER") && access(path.c_str(), R_OK) == 0)
    setenv("DYN_CUDA_DRIVER", path.c_str(), 1);
  return getenv("DYN_CUDA_DRIVER") != nullptr;
}

inline CompileOptions deviceOptions() {
  CompileOptions options;
  options.target = *hostTarget();
  options.target->device = DeviceKind::cuda;
  return options;
}

}  // namespace dyn::test
