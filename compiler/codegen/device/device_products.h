// Products in tiles: which loop kernels are sums of products of what rows and what columns read, so that a
// block of a GPU can read both once into shared memory and use them for a rectangle of results.
//
//   let i = mod(floorDiv(u, 2), m)                                   digits of the unit: block 2, i_1 m, i the rest
//   for e < min(64, 96 - mod(u, 2) * 64) vector {                    with the block: column x < 96
//     accumulate s = sum over k < 64 vector { x[i, k] * w[k, mod(u, 2) * 64 + e] }
//     y[i, mod(u, 2) * 64 + e] = f(s)
//   }
//
// A digit that one factor alone reads belongs to the rows or to the columns: the fastest is a column. What
// both read, or neither, tells products apart (batch). So matrices times matrices are found, one of them
// transposed or not, and convolutions: rows are channels, columns are places of all images.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn {

struct ProductDigit {
  loop::Expr variable;
  loop::Expr extent;  // null: what the others leave of the units
};

struct TiledProduct {
  std::vector<ProductDigit> batch, rows, columns, depth;  // slowest first
  std::vector<loop::Expr> unitExtents;                    // of the unit's digits but the slowest, in units
  loop::Expr rowPart, columnPart;                         // the factors, by digits
  bool rowIsFirst = true;                                 // rowPart * columnPart, as it was written
  loop::Expr sum;                                         // the variable of the accumulation
  std::vector<loop::StmtRef> after;                       // what is done with it, by digits: lets and stores
};

std::optional<TiledProduct> tiledProductOf(const loop::Kernel& kernel);

// "rows,columns,depth,products" of a launch, by the kernel's scalars (vm/core/device/device_code.h); "": not
// known.
std::string sizesAtLaunch(const loop::Kernel& kernel, const TiledProduct& product);

// The same for all units: of dims and constants.
bool isFixed(loop::Expr e);
// The most iterations of a loop, the same for all units: its extent, or what that is the minimum of. Null:
// none.
loop::Expr mostIterations(loop::Expr extent);

// A factor that is an element as it lies in memory, perhaps widened.
struct PlainFactor {
  loop::Expr load;
  bool depthIsDense = false;   // neighbours in the sum are neighbours in memory
  bool acrossIsDense = false;  // those in the row (of the other factor: column) are
};
std::optional<PlainFactor> plainFactorOf(loop::Expr part, const std::vector<ProductDigit>& across,
                                         const std::vector<ProductDigit>& depth);
// The element type that all values of the factor are of, whatever it is widened to.
Dtype narrowestOf(loop::Expr part);

}  // namespace dyn
