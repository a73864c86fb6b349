// Products in tiles: which loop kernels are sums of products of what rows and what columns read, so that a
// block of a GPU can read both once into shared memory and use them for a square of results.
//
//   let i = mod(floorDiv(u, 2), m)                                   rows r = floorDiv(u, 2), column blocks mod(u, 2)
//   for e < min(64, 96 - mod(u, 2) * 64) vector {
//     accumulate s = sum over k < 64 vector { x[i, k] * w[k, mod(u, 2) * 64 + e] }
//     y[i, mod(u, 2) * 64 + e] = f(s)
//   }
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/loop/kernel.h"
#include "vm/shared/dyn_device_code.h"

namespace dyn {

// The shape of a tile: so many rows, columns and steps of the sum at once.
inline constexpr unsigned kTileRows = kRowsOfTile, kTileColumns = 64, kTileDepth = 16;

struct TiledProduct {
  const loop::Stmt* columns = nullptr;   // the loop e
  const loop::Stmt* sum = nullptr;       // the accumulation in it
  std::vector<const loop::Stmt*> after;  // what is done with it
  loop::Expr blocks;                     // column blocks of a row: units are rows x blocks, the block fastest
  loop::Expr group;  // rows that read the same columns follow each other in groups of so many; null: all do
  loop::Expr rowPart, columnPart;  // the factors
  bool rowIsFirst = true;          // rowPart * columnPart, as it was written
};

std::optional<TiledProduct> tiledProductOf(const loop::Kernel& kernel);

// The same for all units: of dims and constants.
bool isFixed(loop::Expr e);
// The most turns of a loop, the same for all units: its extent, or what that is the minimum of. Null: none.
loop::Expr mostTurns(loop::Expr extent);
// "#2": the kernel's scalar number 2; "96": a constant; "": another expression.
std::string knownAtLaunch(const loop::Kernel& kernel, loop::Expr e);

}  // namespace dyn
