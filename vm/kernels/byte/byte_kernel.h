// Micro-kernels for exact products of bytes. Nothing but types may be in this file: it is compiled for
// several instruction sets.
//
// A is unsigned and B signed, whatever the operands were: a byte of the other kind has its top bit flipped
// when it is copied, which moves its value, and its zero point, by 128. A row of A is kept as words of 32
// bits, each `group` successive depths (u8 each where group is 4, i16 where it is 2); a panel of B is
// [words][panelWidth][group] i8, followed by the sums of its columns [panelWidth] i32. What the depth lacks
// of a whole word is zero on both sides.
#pragma once

#include <cstdint>

#include "vm/kernels/tile/tile_config.h"

namespace dyn::vm::kernels {

// c[r, j] = sum over k of (a[r, k] - zeroA[r]) * (b[k, j] - zeroB[j]), in i32 that wraps, for j < columns
// (1..panelWidth):
//   a         leadingA words from row to row
//   rowTerms  two for each row: the sum of its elements less depth * zeroA, then zeroA
//   zeros     zeroB, panelWidth of them
using ByteMicroKernel = void (*)(int64_t words, const uint32_t* a, int64_t leadingA, const int8_t* panel,
                                 const int32_t* rowTerms, const int32_t* zeros, int32_t* c, int64_t leadingC,
                                 int64_t columns);

// The same for rows that consist of `runs` pieces which lie anywhere, as windows of an image with its
// channels last do: the words of run r of row i are at a + offsets[r] + i * pitch, all in bytes, at any
// address. The panel has runs * words words.
using ByteRunKernel = void (*)(int64_t runs, const int64_t* offsets, int64_t words, const uint8_t* a,
                               int64_t pitch, const int8_t* panel, const int32_t* rowTerms,
                               const int32_t* zeros, int32_t* c, int64_t leadingC, int64_t columns);

// Bytes that are added to those of a tile, element by element (vm/shared/dyn_byte_rescale.h): of w, what the
// sum became less its zero, and the byte b ^ flip the lowest eight bits of
//   round(w * factor + (b * other + constant), at least low and at most high) + zero
// The factors are such that it is the same whether products are rounded by themselves or not; none of the
// three is greater than kMost or less than -kMost.
struct ByteShortcut {
  static constexpr float kMost = 1 << 16;
  const uint8_t* bytes = nullptr;  // of the tile, its rows as far apart as those of the result; null: none
  uint8_t flip = 0;
  float factor = 0, other = 0, constant = 0;
  float low = 0, high = 0;  // whole numbers
  int32_t zero = 0;
};

// What becomes of sums that end as bytes, u8 or i8: of column j the lowest eight bits of
//   round(f32(sum) * scales[j], at least low and at most high) + zero
// halves to even; with a shortcut those of what it says.
struct ByteRescale {
  const int32_t* first = nullptr;  // what the sums of the columns begin with
  const float* scales = nullptr;
  float low = 0, high = 0;  // whole numbers; NaN becomes the first
  int32_t zero = 0;
  // Is every product a number of 32 bits, and low the least that bytes of their kind hold? Then saturation is
  // all that it takes.
  bool saturates = false;
  ByteShortcut shortcut;
};

// As ByteRunKernel, for B without zero points and an A with one for all rows, which is in what sums begin
// with. Of `rescale` what belongs to the first column comes first.
using ByteRescaledKernel = void (*)(int64_t runs, const int64_t* offsets, int64_t words, const uint8_t* a,
                                    int64_t pitch, const int8_t* panel, const ByteRescale& rescale,
                                    uint8_t* c, int64_t leadingC, int64_t columns);

// Windows of as many channels as a vector has lanes, which lie side by side; for i < count, j < columns
//   sums[i * leading + j] = first[j] + sum over t of weights of tap t and lane j * at[i * step + offsets[t] + j]
// in i32 that wraps. Taps go in groups, as depths in words: `groups` of them, weights [groups][lanes][group];
// what the last lacks has weights of 0 and any offset. Behind the last place kByteWindowSlack bytes are read.
struct ByteLaneWindow {
  const uint8_t* at = nullptr;
  int64_t step = 0;  // from place to place
  const int64_t* offsets = nullptr;
  int64_t groups = 0;
  const int8_t* weights = nullptr;
  const int32_t* first = nullptr;
  // Groups are rows of three taps and one more of no weight, each `step` behind the one before: then a word
  // of four serves two neighbours.
  bool pairs = false;
};
using ByteLaneKernel = void (*)(const ByteLaneWindow& window, int32_t* sums, int64_t leading, int64_t count,
                                int64_t columns);
// Its `first` is the window's; there is no shortcut.
using ByteRescaledLaneKernel = void (*)(const ByteLaneWindow& window, const ByteRescale& rescale,
                                        uint8_t* bytes, int64_t leading, int64_t count, int64_t columns);

// A window of one channel over rows of unsigned bytes; for o < outputs and i < count
//   sums[o * count + i] = first + sum over r < rowCount, t < width of
//                         weights[r * width + t] * rows[r][o * rowStep + i * stride + t * dilation]
// in i32 that wraps.
// Behind what is needed of a row, kByteWindowSlack bytes may be read.
struct ByteWindow {
  const uint8_t* const* rows = nullptr;
  int64_t rowCount = 0, width = 0, dilation = 1, stride = 1, rowStep = 0, outputs = 1;
  const int32_t* weights = nullptr;
  const uint32_t* words =
      nullptr;  // those of a row by fours, i8 each, zeros at its end; null: they do not fit
  int32_t first = 0;
};
constexpr int64_t kByteWindowSlack = 256;
using ByteWindowKernel = void (*)(const ByteWindow& window, int32_t* sums, int64_t count);

// Rows of B as the words of a panel: `words` times `group` rows of panelWidth bytes, stride apart;
// to[(w * panelWidth + i) * group + g] = from[(w * group + g) * stride + i] ^ flip.
using ByteWordPacker = void (*)(const uint8_t* from, int64_t stride, int64_t words, uint8_t flip,
                                uint8_t* to);

struct ByteGemmFamily {
  const char* name;
  int32_t maxRows;
  int32_t panelWidth;                   // 16, 32, 48 or 64
  int32_t group;                        // depths in a word: 4 or 2
  const ByteMicroKernel* microKernels;  // maxRows entries: one for each number of rows
  ByteWindowKernel windowKernel;
  const ByteRunKernel* runKernels;  // as microKernels
  ByteLaneKernel laneKernel;
  const ByteRescaledKernel* rescaledKernels;  // as microKernels
  ByteRescaledLaneKernel rescaledLaneKernel;
  int32_t lanes;                       // of both lane kernels
  TileRelease releaseTiles = nullptr;  // where the kernels use tiles: held_tiles.h
  int32_t leftMoved = 0;               // what the kernels make each byte of A less by before they multiply
  ByteWordPacker packWords = nullptr;  // null: by sixteen bytes, as all processors do
};

}  // namespace dyn::vm::kernels
