// The schedule of a product of bf16 by tiles (kernels/tile): by the cost of f32 products, in words of two
// bf16, at the rate of tiles. So much faster than f32, more of their time goes to reading: larger blocks pay.
#pragma once

#include "vm/core/gemm_schedule.h"
#include "vm/kernels/gemm/bf16_gemm.h"

namespace dyn::vm::kernels {

// Words of A times words of B that one thread multiplies in a cycle: 16 x 16 sums of 16 words in 16 cycles.
inline constexpr double kTileWordsPerCycle = 256;

// Row of contraction::kProductSchedules.
inline size_t cheapestTileSchedule(const ProductShape& shape, int64_t maxRows, int64_t panelWidth) {
  contraction::ProductMachine machine = productMachine(maxRows, panelWidth);
  machine.stepsPerCycle = kTileWordsPerCycle;
  ProductShape words = shape;
  words.depth = bf16Words(shape.depth);
  const auto cycles = [&](size_t i) {
    ProductSchedule schedule = contraction::kProductSchedules[i];
    schedule.depthBlock = bf16Words(schedule.depthBlock);
    return contraction::productCycles(words, machine, schedule);
  };
  size_t best = contraction::usualSchedule(shape, machine);
  double least = cycles(best);
  for (size_t i = 0; i < contraction::kProductSchedules.size(); ++i) {
    if (shape.tasks == 1 && contraction::kProductSchedules[i].side == contraction::SplitSide::rows) continue;
    const double cost = cycles(i);
    if (cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

}  // namespace dyn::vm::kernels
