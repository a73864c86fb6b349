// The simulated GPU of the tests (tests/simcuda), for `--device simcuda`: a CUDA driver over an interpreter
// of PTX that counts what kernels do, and lets one warp of a launch be stepped through. It is there where it
// was built: beside the program's folder, or where the build put it.
//
//   DYN_TRY(SimulatedGpu * gpu, SimulatedGpu::use());   // from now on the CUDA driver of this process
//   const int64_t before = gpu->launchCount();
//   ... a run ...
//   std::vector<DeviceCounts> counted = gpu->launchesAfter(before);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine/device/launch_counts.h"
#include "compiler/support/result.h"

namespace dyn {

// "dyn_kernel_3_block" is of kernel 3 of the program; -1: of none.
int kernelOfFunction(std::string_view function);

class SimulatedGpu {
 public:
  // Errors: unsupportedFeature where it was not built, or where the process runs on another driver already.
  static Result<SimulatedGpu*> use();
  // A process has one driver for good. Error: unsupportedFeature, when that is the simulated one.
  static Status useAnother();
  // Null: it is not used.
  static SimulatedGpu* used();
  static std::string howToUse();  // ":set device simcuda, or --device simcuda"

  int64_t launchCount() const;
  // Those that have run, in the order in which they were asked for.
  std::vector<DeviceCounts> launchesAfter(int64_t before) const;

  // --- stepping (simcuda.h)
  enum class StepBy : uint8_t { instruction, line, end };
  // The n-th launch from now on is kept with the memory it begins with; 0: none.
  void keepLaunch(int64_t n);
  // Before the first instruction of one warp of the launch that was kept. Errors: usageError.
  Status open(int64_t block, int64_t warp);
  Status step(int64_t count, StepBy by);
  // Where it stands, with the registers that the next instruction names, or the named ones, or all.
  Result<WarpView> stop(const std::string& registers) const;
  void readShared(WarpView& view, int64_t offset, int64_t count) const;

 private:
  explicit SimulatedGpu(void* library);
  std::string lastFault() const;
  struct Calls;
  std::shared_ptr<Calls> calls_;
};

}  // namespace dyn
