// The simulated driver of the build (tests/simcuda) for tests of the row "cuda", before they open it.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace dyn::vm {

// False: it is not built, and DYN_CUDA_DRIVER names no other.
inline bool useSimulatedDriver() {
  std::error_code ignored;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path driver = own.parent_path().parent_path() / "simcuda" / "libcuda.so.1";
  if (!getenv("DYN_CUDA_DRIVER") && std::filesystem::exists(driver, ignored))
    setenv("DYN_CUDA_DRIVER", driver.c_str(), 1);
  return getenv("DYN_CUDA_DRIVER") != nullptr;
}

}  // namespace dyn::vm
