// launch.h — one launch of a kernel: what it is given, what it counts, and the blocks and warps that run it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simcuda/memory/device_memory.h"
#include "tests/simcuda/ptx/code.h"
#include "tests/simcuda/ptx/fault.h"
#include "tests/simcuda/ptx/warp.h"
#include "tests/simcuda/simcuda.h"

namespace simcuda {

// The order of lanes, warps and blocks: with seed 0 the plain one (fast), else a random legal one, the same
// in every run.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint32_t below(uint32_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>((state_ >> 16) % n);
  }

 private:
  uint64_t state_;
};

struct Launch {
  const KernelCode* code = nullptr;
  DeviceMemory* memory = nullptr;
  std::array<uint32_t, 3> grid{1, 1, 1}, threads{1, 1, 1};
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> parameters;
  std::vector<dyn_simcuda_buffer> buffers;  // declared by the launcher; none: all allocations
  int device = 0;
  uint32_t number = 1;  // no two launches of a device memory have the same
  uint64_t seed = 0;
  bool checks = true;               // races, initialisation, counters; bounds, spaces and alignment always
  uint64_t stepLimit = 1ull << 34;  // instructions of warps
  dyn_simcuda_counters_t counters{};

  // Found by the run: the allocations that were touched.
  std::vector<Allocation*> touched;

  // Runs all blocks. Throws Fault.
  void run();
  // What comes before the first block: declared buffers are looked at. Throws Fault.
  void begin();

  uint32_t threadCount() const { return threads[0] * threads[1] * threads[2]; }
  uint32_t blockCount() const { return grid[0] * grid[1] * grid[2]; }
  std::array<uint32_t, 3> blockIndex(uint32_t linear) const;
  // The allocation of an address, where it lies, or nullptr.
  Allocation* allocationOf(uint64_t address) {
    if (!last_ || !last_->holds(address, 1)) last_ = memory->find(address);
    return last_;
  }
  void forgetAllocations() {  // of a copy, whose memory is another one
    last_ = nullptr;
    touched.clear();
  }

 private:
  Allocation* last_ = nullptr;
};

class Block {
 public:
  Block(Launch& launch, uint32_t linear, std::array<uint32_t, 3> index);
  void run(Random* random);

  friend class Stepper;  // stepper.h

  Launch& launch;
  const KernelCode& code;
  uint32_t linear;
  std::array<uint32_t, 3> index;
  uint32_t epoch = 0;  // barriers of the whole block that were passed
  std::vector<uint8_t> shared, sharedWritten;
  std::vector<RaceCell> sharedCells;
  std::vector<Warp> warps;
  uint64_t barrierVotes = 0;  // of bar.red: the threads whose predicate holds

  Accessor accessor(const Warp& w, int lane) const {
    return {launch.number, linear, epoch, w.epoch, static_cast<uint16_t>(w.index * kLanes + lane)};
  }

 private:
  void fillRows(Warp& w);
  void runWarp(Warp& w, uint64_t steps, Random* random);
  bool chooseLanes(Warp& w, Random* random, uint32_t& lanes, uint32_t& stopAt);
  void runLanes(Warp& w, uint32_t lanes, uint32_t stopAt, uint64_t& steps);
  bool arrive(Warp& w, const Op& op, uint32_t at);
  void releaseBarrier();
  [[noreturn]] void stuck(const Warp& w) const;
};

// "kernel k, block (0,0,0), thread (5,0,0), PTX line 40 (model.dyn:7): ld.global.f32": who does what where.
std::string describe(const Warp& w, const Op& op, int lane);
std::string describeThread(const Launch& launch, uint32_t block, uint32_t thread);

}  // namespace simcuda
