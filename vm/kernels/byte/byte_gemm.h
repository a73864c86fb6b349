// Exact products of bytes, u8 or i8 on either side, in i32: the driver around a ByteGemmFamily.
#pragma once

#include <span>
#include <vector>

#include "vm/core/builtin/builtin.h"
#include "vm/kernels/byte/byte_kernel.h"
#include "vm/kernels/gemm/gemm.h"

namespace dyn::vm::kernels {

// The families that this CPU can run, the fastest first. All give the same numbers.
std::span<const ByteGemmFamily* const> byteGemmFamilies();

// Tiles for products of several rows, and a family of the same panels, `others`, for those of one, which
// tiles multiply no faster, and for windows and lanes.
class ByteTiles {
 public:
  ByteTiles(const ByteGemmFamily& tiles, const ByteGemmFamily& others);
  ByteTiles(const ByteTiles&) = delete;
  const ByteGemmFamily& family() const { return family_; }

 private:
  std::vector<ByteMicroKernel> kernels_;
  std::vector<ByteRunKernel> runKernels_;
  std::vector<ByteRescaledKernel> rescaledKernels_;
  ByteGemmFamily family_;
};

// --- A

// What a byte is exclusive-ored with to become unsigned (A) or signed (B); its value, and its zero point, are
// then 128 more or less.
inline uint8_t leftFlip(DataType dtype) { return dtype == DataType::i8 ? 0x80 : 0; }
inline uint8_t rightFlip(DataType dtype) { return dtype == DataType::u8 ? 0x80 : 0; }
inline int32_t leftZero(DataType dtype, int32_t zero) { return dtype == DataType::i8 ? zero + 128 : zero; }
inline int32_t rightZero(DataType dtype, int32_t zero) { return dtype == DataType::u8 ? zero - 128 : zero; }

inline bool isByte(DataType dtype) { return dtype == DataType::i8 || dtype == DataType::u8; }
inline int32_t byteAt(const TensorView* bytes, int64_t i) {
  return bytes->dtype() == DataType::i8 ? bytes->as<int8_t>()[i] : bytes->as<uint8_t>()[i];
}

// Zero point i of those of a matrix: one for all, one for each, or none.
inline int32_t zeroAt(const TensorView* zeros, int64_t i) {
  return zeros ? byteAt(zeros, zeros->elements > 1 ? i : 0) : 0;
}

inline int64_t wordCount(const ByteGemmFamily& family, int64_t depth) {
  return (depth + family.group - 1) / family.group;
}
// From row to row of copied words: an odd number of 64-byte lines.
inline int64_t leadingWords(const ByteGemmFamily& family, int64_t depth) {
  return oddLineStride(wordCount(family, depth));
}
// Copies a row of A, `depth` bytes strideK apart, into words; returns the sum of its (flipped) elements.
int32_t copyLeftRow(const ByteGemmFamily& family, const uint8_t* a, int64_t depth, int64_t strideK,
                    uint8_t flip, uint32_t* words);
// Can rows of A be read as words where they lie, `depth` bytes from row to row? Not where they would meet in
// few sets of the L1 cache.
inline bool areWords(const ByteGemmFamily& family, const TensorView* a, int64_t depth) {
  return family.group == 4 && leftFlip(a->dtype()) == 0 && depth % 4 == 0 && depth % 2048 != 0 &&
         reinterpret_cast<uintptr_t>(a->data) % sizeof(uint32_t) == 0;
}
int32_t sumLeftRow(const uint8_t* a, int64_t depth);
// The row's two terms (byte_kernel.h) from that sum and its zero point in the flipped scale.
inline void setRowTerms(int32_t sum, int64_t depth, int32_t zero, int32_t* terms) {
  terms[0] = static_cast<int32_t>(static_cast<uint32_t>(sum) -
                                  static_cast<uint32_t>(depth) * static_cast<uint32_t>(zero));
  terms[1] = zero;
}

// --- B

inline int64_t panelCount(const ByteGemmFamily& family, int64_t columns) {
  return (columns + family.panelWidth - 1) / family.panelWidth;
}
inline int64_t panelBytes(const ByteGemmFamily& family, int64_t depth) {
  return family.panelWidth * (wordCount(family, depth) * family.group + int64_t{sizeof(int32_t)});
}
// Packs panels [firstPanel, lastPanel) of B, element (k, n) at b[k * strideK + n * strideN], with the sums of
// their columns.
void packBytePanels(const ByteGemmFamily& family, const uint8_t* b, int64_t depth, int64_t columns,
                    int64_t strideK, int64_t strideN, uint8_t flip, int64_t firstPanel, int64_t lastPanel,
                    int8_t* packed);

// `group` rows of `count` bytes, stride apart, side by side: to[i * group + g] = from[g * stride + i] ^ flip.
void mixChannels(const ByteGemmFamily& family, const uint8_t* from, int64_t stride, int64_t count,
                 uint8_t flip, uint8_t* to);
// Writes the sums of the columns behind a panel's words.
void sumPanel(const ByteGemmFamily& family, int64_t words, int8_t* panel);

// --- the product

// Copied rows times packed panels.
struct ByteProduct {
  const ByteGemmFamily* family = nullptr;
  int64_t columns = 0, depth = 0;
  const uint32_t* words = nullptr;
  int64_t leading = 0;                // words from row to row
  const int32_t* rowTerms = nullptr;  // two for each row (byte_kernel.h)
  const int8_t* panels = nullptr;
  // Where B is no panels, but rows of `columns` bytes to be flipped by `flip`, a panel is packed into this
  // task's memory just before it is multiplied: for no more rows than one tile has, as each block of rows
  // packs it anew.
  const uint8_t* unpacked = nullptr;
  uint8_t flip = 0;
  int8_t* ownPanel = nullptr;
  const int32_t* zeros =
      nullptr;           // of B: one for each column of all panels, or a panel of the same ones (zeroStep 0)
  int64_t zeroStep = 0;  // from panel to panel
  int32_t* c = nullptr;  // where the epilogue is apart: kTileElements for this task alone
  int64_t leadingC = 0;  // from row to row of the whole result, of which c is a part
  int64_t firstRow = 0, firstColumn = 0;  // what the epilogue calls the first row and column of c
  const Epilogue* epilogue = nullptr;     // null: none
  static constexpr int64_t kTileElements = 16384;

  // Rows [rowBegin, rowEnd) x panels [panelBegin, panelEnd); returns the epilogue's fault.
  int32_t run(int64_t rowBegin, int64_t rowEnd, int64_t panelBegin, int64_t panelEnd) const;

 private:
  const int8_t* panelAt(int64_t panel) const;
};

// The builtins for a given family, as the tests call them.
Status byteGemmScratchBy(const ByteGemmFamily& family, const FlatCall& call, int64_t& elements);
Status byteGemmBy(const ByteGemmFamily& family, FlatCall& call);
Status bytePackBy(const ByteGemmFamily& family, BuiltinCall& call);
Status byteConvScratchBy(const ByteGemmFamily& family, const FlatCall& call, int64_t& elements);
Status byteConvBy(const ByteGemmFamily& family, FlatCall& call);
Status byteConvPackedScratchBy(const ByteGemmFamily& family, const FlatCall& call, int64_t& elements);
Status byteConvPackedBy(const ByteGemmFamily& family, FlatCall& call);

}  // namespace dyn::vm::kernels
