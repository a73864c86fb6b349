// OpTraits: what passes, lowering and views ask of an operator besides its class. They stand in its row, so
// that no pass names an operator that it neither matches as a pattern nor makes.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/type.h"

namespace dyn {

// What one element of an elementwise operator costs.
enum class ElementCost : uint8_t {
  arithmetic,  // a few instructions: computing it again is cheaper than storing and loading it
  function,    // a polynomial, a division's worth or more: not worth doing twice
  quotient,    // of integers as a function, unless they are divided by a constant; of reals arithmetic
};

struct OpTraits {
  // The first result has the rank of the first operand. Elementwise operators and reductions have rules of
  // their own.
  bool keepsRank = false;
  // Elementwise, but operands behind the first do not broadcast from the last axis: they have one number for
  // each channel, or one for all.
  bool channelOperands = false;
  // Memory.
  bool view = false;  // its result is the first operand's memory under another shape; nothing is copied
  bool contentsKnown =
      false;  // its contents stand in its attributes: made into a tensor only where bytes are read
  bool onlyReads = false;  // structural, and keeps no reference to its operands (loops and builtins never do)
  bool readsShape = false;    // of its operand only the sizes
  bool joinsList = false;     // of a list along `axis`, whose items say how long that gets
  bool onlyOfPasses = false;  // makes kernels or their memory explicit, which a program may not
  bool updatesFirst = false;  // its builtin may leave the result in the first operand's memory
  bool packsWeights =
      false;  // lays constant weights out for the machine, once at load: no constant of the module
  // Kernels.
  ElementCost cost = ElementCost::arithmetic;
  bool gathers = false;  // reads at positions that an operand holds; they are checked where they are read
  bool flatPositions = false;  // a convolution: its builtin sees [n, m, positions], the spatial axes as one
  // Its builtin knows matrices only: of so many first operands one of one axis is shown to it with two.
  int matrixOperands = 0;
  // Its builtin runs a kernel, the epilogue, in place over each finished tile of the result, which holds such
  // elements.
  std::optional<Dtype> epilogue = {};
  // Elements of the operands from this one on are sizes of results, or places they follow from.
  std::optional<int> firstSizes = {};
};

}  // namespace dyn
