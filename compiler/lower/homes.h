// Homes: every value that lowering reads has a register, and every dim that it computes with has a value,
// where they are needed.
//
//   DYN_CHECK(everythingHasAHome(placed));       // "the dim ?2 has no value where %x gets its memory (reshape: a size given as a value)"
//
// Looked at before lowering, in every build, because a pass that moves, merges or drops operations can part a
// need from its home, and lowering itself would say so in its own words only: registers. The walk follows the
// order of the bytecode: bodies of if, loop and match share the registers around them; what they bind is
// forgotten behind them; constants and dims that stand for values are made where they are read. A shape rule
// that runs inside the program (a view, memory of a size that values decide) is taken to bind the symbols of
// its results: shape_program.h says what it can not. Linear in the size of the module; no recursion.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn {

// Error internalError: a pass broke this. It names the value or the dim, the operation that needs it, and the
// function.
Status everythingHasAHome(const Module& placed);

}  // namespace dyn
