// How kernels configure tiles. Nothing but types and declarations may be in this file: it is compiled for
// several instruction sets.
//
// A tile has up to 16 rows of up to 64 bytes. A product takes C [m][n] in tile d, A [m][k] in tile a and B
// [k][n] in tile b, where an element of A and B is four bytes: a pair of bf16 or a quad of bytes, which
// successive depths make. So B's rows are what a panel of bf16 (gemm/bf16_kernel.h) or bytes
// (byte/byte_kernel.h) holds, 16 columns of it.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

inline constexpr int kTileCount = 8, kTileRows = 16, kTileRowBytes = 64;

// As LDTILECFG reads it: 64 bytes. Tiles without rows and columns are not used.
struct alignas(64) TileConfig {
  uint8_t palette, startRow, none[14];
  uint16_t rowBytes[16];  // of 8 tiles; 0 behind them
  uint8_t rows[16];       // of 8 tiles; 0 behind them
};
static_assert(sizeof(TileConfig) == 64);

// What the tiles of a thread are configured for: products of `rows` x `columns`, 0: not configured. Kernels
// leave them so while somebody holds them (held_tiles.h).
struct TileHold {
  int32_t holders, rows, columns;
};
extern constinit thread_local TileHold tileHold;

// Gives a thread's tiles back.
using TileRelease = void (*)();

}  // namespace dyn::vm::kernels
