// Products of f32 with a matrix of 4 or 8 bits in blocks, each with a scale and a zero point: (number - zero)
// * scale. Nothing with external linkage may be in this file: it is compiled for several instruction sets.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// The weights of one column after the other, along the depth; of 4 bits two to a byte, the even depth in the
// low half. A column is filled up to whole blocks.
struct NbitsMatrix {
  int64_t bits = 4;
  bool roundedRows = false;  // rows are rounded to 8 bits a block
  int64_t depth = 0, columns = 0;
  int64_t block = 32, blocks = 0;  // weights of one block, blocks of one column
  const uint8_t* weights = nullptr;
  const float* scales = nullptr;   // [columns, blocks]
  const uint8_t* zeros = nullptr;  // as the weights, each column filled up to whole bytes; null: as usual

  int64_t paddedDepth() const { return blocks * block; }
  int64_t columnBytes() const { return paddedDepth() * bits / 8; }
  int64_t zeroBytes() const { return (blocks * bits + 7) / 8; }
};

// Where a matrix gives none: half of the range.
static constexpr float nbitsUsualZero(int64_t bits) { return bits == 4 ? 8.0f : 128.0f; }

static inline float nbitsZero(const NbitsMatrix& m, int64_t column, int64_t block) {
  if (!m.zeros) return nbitsUsualZero(m.bits);
  const uint8_t* zeros = m.zeros + column * m.zeroBytes();
  if (m.bits == 8) return zeros[block];
  return static_cast<float>(zeros[block / 2] >> (block % 2 * 4) & 15);
}

// What a run of a row of 4-bit weights meets: sixteen of even depth, sixteen of odd depth.
constexpr int64_t kNbitsRun = 32;

// Rows, and the blocks of them that are multiplied. A row has paddedDepth elements, zero past the depth; for
// 4 bits each run is in the order of kNbitsRun. Blocks are whole runs. kNbitsRows of the rows, and what is
// left of them, lie together: the first run of each, then the second of each, ...
struct NbitsRows {
  int64_t count = 0;
  const float* rows = nullptr;
  int64_t firstBlock = 0, blocks = 0;
  int64_t leadingOut = 0;
};

// out[row * leadingOut + i] = a row times column + i, for i < count, or that more where the first block is
// not the first of all; kNbitsRows of the rows at a time.
constexpr int64_t kNbitsRows = 8;
using NbitsDots = void (*)(const NbitsMatrix&, int64_t column, int64_t count, const NbitsRows& rows,
                           float* out);

// to[j] = the weight at depth first + j of a column, for j < count; both are whole blocks.
using NbitsExpansion = void (*)(const NbitsMatrix&, int64_t column, int64_t first, int64_t count, float* to);

// to[j * width + i] = the weight at depth first + j of column + i, for j < count (whole blocks, which are
// whole sixteens), i < width (whole sixteens); 0 where i >= columns.
using NbitsPanelExpansion = void (*)(const NbitsMatrix&, int64_t column, int64_t columns, int64_t first,
                                     int64_t count, int64_t width, float* to);

// Depths of a run of rounded rows: 64 numbers of even depth, 64 of odd depth, as 64 bytes of weights of 4
// bits hold them.
constexpr int64_t kRoundedRun = 128;
constexpr int64_t kRoundedLanes = 16;  // of a run: sums of four bytes of even and four of odd depth

// Rows rounded to 8 bits, block by block: a number stands for numbers * scales. 0 past the depth.
struct RoundedRows {
  int64_t leading = 0;  // numbers from row to row
  int64_t blocks = 0, groups = 0;
  const int8_t* numbers = nullptr;
  const float* scales = nullptr;       // [rows, blocks]
  const int32_t* blockSums = nullptr;  // [rows, blocks], of the numbers, negative
  const int32_t* laneSums = nullptr;   // [rows, groups, kRoundedLanes], the same of each lane
  const float* laneScales = nullptr;   // [rows, groups, kRoundedLanes]
};

// For weights of 4 bits in blocks of 32, 64 or whole runs up to kLargestRoundedBlock.
constexpr int64_t kLargestRoundedBlock = 1024;
constexpr int64_t kRoundedRowsAtOnce = 4, kRoundedColumns = 16, kRoundedDepth = 512;

// Depths that dots sum up in integers: whole blocks and whole runs.
constexpr int64_t roundedGroup(int64_t block) { return block < kRoundedRun ? kRoundedRun : block; }

// out[row * leadingOut + i] = the first `count` rows, at most kRoundedRowsAtOnce, times column + i.
using RoundedDots = void (*)(const NbitsMatrix&, const RoundedRows&, int64_t count, int64_t column,
                             int64_t columns, float* out, int64_t leadingOut);
// The same of any number of rows and at most kRoundedColumns columns. `panel`: roundedPanelBytes().
using RoundedPanel = void (*)(const NbitsMatrix&, const RoundedRows&, int64_t count, int64_t column,
                              int64_t columns, uint8_t* panel, float* out, int64_t leadingOut);

constexpr int64_t roundedBlocksAtOnce(int64_t block) {
  return block < kRoundedDepth ? kRoundedDepth / block : 1;
}
constexpr int64_t roundedPanelBytes(int64_t block) {
  return roundedBlocksAtOnce(block) * kRoundedColumns * (block + 8);
}

struct RoundedKernels {
  RoundedDots dots;
  RoundedPanel panel;
  // Up to so many rows dots are as fast, kRoundedRowsAtOnce at a time.
  int64_t dotsOfShortBlocks, dotsOfLongBlocks;  // short: below kRoundedRun

  int64_t fewRows(int64_t block) const { return block < kRoundedRun ? dotsOfShortBlocks : dotsOfLongBlocks; }
};

struct NbitsKernels {
  const char* name;
  NbitsDots dots;
  NbitsExpansion expand;
  NbitsPanelExpansion expandPanel;          // null: column by column
  const RoundedKernels* rounded = nullptr;  // null: rounded rows are multiplied in f32
};

}  // namespace dyn::vm::kernels
