// Launches on the simulated GPU: what each counted, and one of its warps that is stepped through.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dyn {

// Of one launch, or of all launches of a kernel.
struct DeviceCounts {
  std::string function;  // of the PTX: "dyn_kernel_3_block"
  std::string name;      // of the kernel in the program; "" where it is not known
  int index = -1;        // its row in the program
  int64_t launch = 0;    // of one: the how many-th of the run, from 1
  int64_t launchesCount = 0;
  std::array<uint32_t, 3> grid{}, threads{};  // of one: blocks, and threads of a block
  int64_t instructions = 0;                   // of warps
  int64_t laneInstructions = 0;               // of threads: 32 for each of a warp that is whole
  int64_t globalRequests = 0, globalSectors = 0;
  int64_t sharedRequests = 0, sharedWays = 0;
  int64_t branches = 0, divergentBranches = 0;
  int64_t barriers = 0, atomics = 0;

  void add(const DeviceCounts& other);
  // Sectors of 32 bytes of a request of global memory, 1 to 32; passes over the banks of a request of shared
  // memory: 1 without conflicts. 0 where there was none.
  double sectorsPerRequest() const;
  double waysPerRequest() const;
  double activeLanes() const;  // of 32, on average
};

struct DeviceCountTable {
  bool byLaunch = false;
  std::vector<DeviceCounts> rows;
};

// Each kernel once, in the order of their first launches.
DeviceCountTable sumByKernel(const std::vector<DeviceCounts>& launches);

// A warp of a launch on the simulated GPU that stands before an instruction.
struct WarpView {
  struct Register {
    std::string name;  // "%r3"
    int bits = 32;     // 1: a predicate
    std::vector<uint64_t> lanes;
  };
  int64_t launch = 0;
  std::string function, name;  // as of DeviceCounts
  std::array<uint32_t, 3> grid{}, threads{};
  uint32_t block = 0, warp = 0, warpsCount = 0;
  uint32_t active = 0, exists = 0, ended = 0, parked = 0;  // a bit for each lane
  std::string_view language;                               // of the code: "PTX"
  uint32_t line = 0;                                       // of it; 0: it has ended
  std::string instruction;
  uint32_t loopLine = 0;  // of the kernel's loop IR; 0: not known
  std::string loopText;
  int64_t instructions = 0, barriers = 0;
  std::string fault;
  std::vector<Register> registers;  // those of the instruction, or those asked for
  uint32_t sharedOffset = 0, sharedBytes = 0;
  std::vector<uint8_t> shared, sharedWritten;  // from sharedOffset on, where it was asked for
};

}  // namespace dyn
