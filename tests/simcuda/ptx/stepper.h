// stepper.h — one warp of a launch, an instruction at a time, on a copy of the memory that the launch began
// with.
//
// Of its block the other warps run as far as the warp must wait for them, at barriers; other blocks do not
// run. The order of lanes is the plain one: those that are least far in the code go first.
//
//   Stepper stepper(kept, block, warp);
//   while (stepper.step()) show(stepper.next()->text->line, stepper.active());
#pragma once
#include <memory>
#include <string>

#include "tests/simcuda/ptx/launch.h"

namespace simcuda {

class Stepper {
 public:
  // Of a launch whose memory and code live as long as this. Throws Fault where a declared buffer is wrong.
  Stepper(const Launch& launch, uint32_t block, uint32_t warp);

  // Runs one instruction of the lanes that are to run. False: the warp has ended, or `fault` says why not.
  bool step();
  // Until the line of the source changes. Without lines in the PTX that is an instruction.
  bool stepLine();

  // What runs next, and of which lanes; null: the warp has ended or stands at a fault.
  const Op* next() const { return next_; }
  uint32_t active() const { return active_; }
  const std::string& fault() const { return fault_; }
  uint64_t instructions() const { return instructions_; }
  const Launch& launch() const { return launch_; }
  const Block& block() const { return *block_; }
  const Warp& warp() const { return block_->warps[warp_]; }

 private:
  void findNext();
  void passBarrier();

  std::unique_ptr<DeviceMemory> memory_;
  Launch launch_;
  std::unique_ptr<Block> block_;
  uint32_t warp_;
  const Op* next_ = nullptr;
  uint32_t active_ = 0, stopAt_ = 0;
  uint64_t instructions_ = 0;
  std::string fault_;
};

}  // namespace simcuda
