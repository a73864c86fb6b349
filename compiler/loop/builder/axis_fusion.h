// Axis fusion: adjacent axes of an iteration space that every access walks together become one.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

struct Axis {
  Expr variable;
  Dim extent;
};

// What an output stores: buffer[index] = value.
struct PendingStore {
  const Buffer* buffer = nullptr;
  std::vector<Expr> index;
  Expr value;
};

// Needs: axes in the order of the output's axes, values without statements.
// Establishes: `axes` with runs of adjacent axes fused where, in every load and store, either neither of two
// neighbours occurs or both stand side by side as plain indices, the inner extents being provably equal; and
// no value uses them otherwise. Buffers whose axes were fused are replaced in `buffers` by one-piece views
// (same place, fewer axes).
void fuseAxes(LoopContext& context, const DimSolver& solver, std::vector<Axis>* axes,
              std::vector<PendingStore>* stores, std::vector<const Buffer*>* buffers);

}  // namespace dyn::loop
