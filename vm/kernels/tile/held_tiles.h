// Keeps a thread's tiles configured from one micro-kernel to the next, and gives them back at its end: a
// thread that keeps tiles makes the system save 8 KiB more of it, and a library's kernels could change them
// in between.
//
//   const HeldTiles held(family.releaseTiles);      // null: a family without tiles
//   family.microKernels[...](...);
#pragma once

#include "vm/kernels/tile/tile_config.h"

namespace dyn::vm::kernels {

class HeldTiles {
 public:
  explicit HeldTiles(TileRelease release) : release_(release) {
    if (release_) ++tileHold.holders;
  }
  ~HeldTiles() {
    if (!release_ || --tileHold.holders > 0 || tileHold.rows == 0) return;
    release_();
    tileHold.rows = tileHold.columns = 0;
  }
  HeldTiles(const HeldTiles&) = delete;
  HeldTiles& operator=(const HeldTiles&) = delete;

 private:
  TileRelease release_;
};

}  // namespace dyn::vm::kernels
