// Products of f32 with a matrix of 4 or 8 bits in blocks, each with a scale and a zero point: (number - zero) * scale. Nothing with external
// linkage may be in this file: it is compiled for several instruction sets.
#pragma once

#include <cstdint>

namespace dyn::vm::kernels {

// The weights of one column after the other, along the depth; of 4 bits two to a byte, the even depth in the low half. A column is filled up
// to whole blocks.
struct NbitsMatrix {
  int64_t bits = 4;
  int64_t depth = 0, columns = 0;
  int64_t block = 32, blocks = 0;  // weights of one block, blocks of one column
  const uint8_t* weights = nullptr;
  const float* scales = nullptr;  // [columns, blocks]
  const uint8_t* zeros =
      nullptr;  // as the weights, each column filled up to whole bytes; null: half of the range

  int64_t paddedDepth() const { return blocks * block; }
  int64_t columnBytes() const { return paddedDepth() * bits / 8; }
  int64_t zeroBytes() const { return (blocks * bits + 7) / 8; }
};

static inline float nbitsZero(const NbitsMatrix& m, int64_t column, int64_t block) {
  if (!m.zeros) return m.bits == 4 ? 8.0f : 128.0f;
  const uint8_t* zeros = m.zeros + column * m.zeroBytes();
  if (m.bits == 8) return zeros[block];
  return static_cast<float>(zeros[block / 2] >> (block % 2 * 4) & 15);
}

// What a run of a row of 4-bit weights meets: sixteen of even depth, sixteen of odd depth.
constexpr int64_t kNbitsRun = 32;

// out[i] = the row times column + i, for i < count (1..kNbitsTogether). The row has paddedDepth elements, zero past the depth; for 4 bits each run is
// in the order of kNbitsRun. Blocks are whole runs.
constexpr int64_t kNbitsTogether = 4;
using NbitsDots = void (*)(const NbitsMatrix&, int64_t column, int64_t count, const float* row, float* out);

// to[j] = the weight at depth first + j of a column, for j < count; both are whole blocks.
using NbitsExpansion = void (*)(const NbitsMatrix&, int64_t column, int64_t first, int64_t count, float* to);

// to[j * width + i] = the weight at depth first + j of column + i, for j < count (whole blocks, which are whole sixteens), i < width (whole sixteens); 0
// where i >= columns.
using NbitsPanelExpansion = void (*)(const NbitsMatrix&, int64_t column, int64_t columns, int64_t first,
                                     int64_t count, int64_t width, float* to);

struct NbitsKernels {
  const char* name;
  NbitsDots dots;
  NbitsExpansion expand;
  NbitsPanelExpansion expandPanel;  // null: column by column
};

}  // namespace dyn::vm::kernels
