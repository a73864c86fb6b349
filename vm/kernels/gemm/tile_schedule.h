// The schedule of a product of bf16 by tiles (kernels/tile), by cost. Tiles are so much faster than f32 that
// what they read decides: a block of a panel that stays in the first cache while the row tiles go by, blocks
// of rows that stay in the second, and few of them, since each reads all panels again.
#pragma once

#include "vm/core/builtin/gemm_schedule.h"
#include "vm/kernels/gemm/bf16_gemm.h"

namespace dyn::vm::kernels {

struct TileMachine {
  contraction::ProductMachine product;  // maxRows and panelWidth of the kernels, caches and their rates
  int64_t l1Bytes = 48 << 10;
};
// What Sapphire Rapids does: 16 x 16 sums of 16 words in 16 cycles, 48 bytes a cycle from the second cache.
inline constexpr double kTileWordsPerCycle = 256, kTileBytesPerCycle = 48;

// Of the processor this runs on.
TileMachine tileMachine(int64_t maxRows, int64_t panelWidth);
// Cycles that the busiest thread is expected to take.
double tileCycles(const ProductShape& shape, const TileMachine& machine, const ProductSchedule& schedule);
// Row of contraction::kProductSchedules.
size_t cheapestTileSchedule(const ProductShape& shape, const TileMachine& machine);

}  // namespace dyn::vm::kernels
