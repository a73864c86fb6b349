// Micro-kernels for products of f32 with both sides rounded to bf16, summed in f32. Nothing with external
// linkage may be in this file: it is compiled for several instruction sets.
//
// Two successive depths make a word: the even one in the low half, the odd one in the high half, zero where
// the depth is odd.
#pragma once

#include <cstdint>

#include "vm/kernels/tile/tile_config.h"

namespace dyn::vm::kernels {

// The bits of the nearest number that has only the upper half of an f32's, ties to even; NaN stays NaN.
static inline uint32_t roundedBits(uint32_t bits) {
  const uint32_t nearest = bits + 0x7fffu + (bits >> 16 & 1);
  return ((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : nearest) & 0xffff0000u;
}

// c[row, j] (+)= the sum over `words` of both products of a[row * leadingA + word] and panel[word *
// panelWidth + j], for j < columns (1..panelWidth). accumulate 0: c is overwritten.
using Bf16MicroKernel = void (*)(int64_t words, const uint32_t* a, int64_t leadingA, const uint32_t* panel,
                                 float* c, int64_t leadingC, int64_t columns, int32_t accumulate);

// to[word] = the words of from[0, depth), rounded to the nearest, ties to even; NaN stays NaN.
using Bf16Rounding = void (*)(const float* from, int64_t depth, uint32_t* to);

struct Bf16Family {
  const char* name;
  int32_t maxRows;
  int32_t panelWidth;
  const Bf16MicroKernel* microKernels;  // maxRows entries: one for each number of rows
  Bf16Rounding round;
  TileRelease releaseTiles = nullptr;  // where the kernels use tiles: held_tiles.h
};

}  // namespace dyn::vm::kernels
