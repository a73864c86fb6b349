// Runs the machine code of kernels by tiles on processors that have none: each of their instructions is an
// illegal one there, and what the kernel sends for it (SIGILL) is answered by the model
// (vm/kernels/tile/tile_model.h), from the instruction's bytes and the registers that they name. Where the
// processor has tiles, nothing is caught, and the kernels run as they are.
#pragma once

namespace dyn::vm::test {

class TileTrap {
 public:
  TileTrap();
  ~TileTrap();
  TileTrap(const TileTrap&) = delete;
  TileTrap& operator=(const TileTrap&) = delete;
  // Instructions that the model answered, of any trap.
  static long answered();
};

}  // namespace dyn::vm::test
