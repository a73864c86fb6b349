// The blocks of an f32 product: row tiles times packed panels, in f32, f16, bf16 or rounded to bf16,
// with what follows the product.
#pragma once

#include <algorithm>

#include "vm/core/builtin/gemm_schedule.h"
#include "vm/kernels/fetch_ahead.h"
#include "vm/kernels/gemm/bf16_gemm.h"
#include "vm/kernels/gemm/half_panels.h"
#include "vm/kernels/gemm/matrix_view.h"
#include "vm/kernels/gemm/turned_copy.h"
#include "vm/kernels/tile/held_tiles.h"

namespace dyn::vm::kernels {

// A product of matrices, or a batch of them. Strides in elements.
struct ProductProblem {
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t batches = 1;
  BatchOffsets batchA, batchB, batchC;
  int64_t strideAM = 0, strideAK = 0, strideBK = 0, strideBN = 0, strideCM = 0;
  bool packed = false;
  bool turned = false;  // one column: done as a row, B's, times the transpose of A (in_place.h)
  const Bf16Family* rounded = nullptr;        // B is packed in words of bf16, for this family
  const HalfFamily* halves = nullptr;         // B is packed in f16 or bf16 that are widened, for this family
  const HalfMicroKernel* widening = nullptr;  // its kernels for what B is packed in
  std::span<const int32_t> dispatch;  // the program's: pairs of 1 + schedule (0: by cost) and most rows
};

// Of finished tiles that an epilogue sees together, about: they are still near, and its rows are long
// enough to be worth starting.
inline constexpr int64_t kEpilogueElements = 16384;

// Row tiles [tileBegin, tileEnd) x panels [panelBegin, panelEnd) of one batch. `copy` holds one block of A
// when its rows are not used in place: transposed, with a stride that would map all rows to the same L1
// lines, or rounded to bf16.
struct ProductBlocks {
  const FlatCall& call;
  const DynGemmFamily& family;
  const ProductProblem& problem;
  const Epilogue* epilogue;  // null: only sizes are asked for
  const ProductSchedule& schedule;

  static int64_t width(const ProductProblem& p, const DynGemmFamily& family) {
    return p.rounded ? p.rounded->panelWidth : family.panelWidth;
  }
  static int64_t maxRows(const ProductProblem& p, const DynGemmFamily& family) {
    return p.rounded ? p.rounded->maxRows : family.maxRows;
  }
  static bool copiesA(const ProductProblem& p) {
    return p.rounded || p.strideAK != 1 || (p.strideAM % 1024 == 0 && p.rows > 4);
  }
  static ProductShape shapeOf(const ProductProblem& p, int64_t tasks) {
    return {p.rows, p.columns, p.depth, tasks, copiesA(p)};
  }
  int64_t depthBlock() const {  // even where it is not the whole depth
    return contraction::depthBlockOf(shapeOf(problem, 1), maxRows(problem, family), schedule);
  }
  // From row to row of the copy.
  int64_t leadingCopy() const {
    const int64_t block = depthBlock();
    return oddLineStride(problem.rounded ? bf16Words(block) : block);
  }
  contraction::RowTiles tiles() const { return {problem.rows, maxRows(problem, family)}; }
  int64_t copyElements() const {
    return copiesA(problem)
               ? std::min(problem.rows, maxRows(problem, family) * schedule.rowTiles) * leadingCopy()
               : 0;
  }
  // Of a panel that is widened.
  int64_t wideElements() const {
    return problem.halves ? std::min(kWidenedDepth, problem.depth) * family.panelWidth : 0;
  }
  int64_t ownElements() const { return wholeLines(copyElements()) + wideElements(); }

  // `own`: ownElements().
  int32_t run(int64_t tileBegin, int64_t tileEnd, int64_t panelBegin, int64_t panelEnd, const float* a,
              const float* packed, float* c, int64_t firstRow, float* own) const {
    const ProductProblem& p = problem;
    float *copy = copiesA(p) ? own : nullptr, *wide = own + wholeLines(copyElements());
    const HeldTiles held(p.rounded ? p.rounded->releaseTiles : nullptr);
    const contraction::RowTiles all = tiles();
    const bool far = isShallow();
    const int64_t width = ProductBlocks::width(p, family), block = depthBlock(),
                  ownTiles = tileEnd - tileBegin,
                  // Tiles of one panel come in the order of their rows anyway.
        together = far && panelEnd - panelBegin > 1 ? 1 : schedule.rowTiles,
                  blocks = (ownTiles + together - 1) / together;
    for (int64_t rowBlock = 0; rowBlock < blocks; ++rowBlock) {
      const int64_t firstTile = tileBegin + ownTiles * rowBlock / blocks,
                    lastTile = tileBegin + ownTiles * (rowBlock + 1) / blocks, row = all.begin(firstTile),
                    rows = all.begin(lastTile) - row;
      for (int64_t k = 0; k < std::max<int64_t>(p.depth, 1); k += block) {
        if (call.cancelled()) return DYN_KERNEL_OK;
        const int64_t depth = std::min(block, p.depth - k);
        const float* left = a + row * p.strideAM + k * p.strideAK;
        int64_t leading = p.strideAM;
        if (copy) {
          leading = leadingCopy();
          copyRows(left, rows, depth, copy, leading);
          left = copy;
        }
        const bool last = k + block >= p.depth;
        const TileEnd* closed = last && epilogue ? epilogue->closed() : nullptr;
        const int64_t panels = std::max<int64_t>(1, kEpilogueElements / (rows * width));
        for (int64_t panel = panelBegin, finished = panelBegin; panel < panelEnd; ++panel) {
          const int64_t column = panel * width, columns = std::min(width, p.columns - column);
          // A part of a vector that was just written is slow to read: rows of parts are finished together.
          const bool byTiles = !p.halves && columns == width;
          auto multiplyFrom = [&](int64_t first, int64_t begin, int64_t steps, const float* right) {
            for (int64_t tile = firstTile, at = 0; tile < lastTile; at += all.height(tile++))
              if (const int64_t skipped = std::clamp<int64_t>(first - at, 0, all.height(tile));
                  skipped < all.height(tile)) {
                float* to = c + (row + at + skipped) * p.strideCM + column;
                if (far && columns > kNarrow) fetchTile(to, all.height(tile) - skipped, columns);
                multiply(all.height(tile) - skipped, steps, left + (at + skipped) * leading + begin, leading,
                         right, k + begin > 0, to, columns);
                if (closed && byTiles) finish(*closed, column, all.height(tile), columns, to);
              }
          };
          if (p.halves)
            multiplyHalves(all.height(firstTile), rows, panel, k, depth, left, leading, packed, wide,
                           c + row * p.strideCM + column, columns, multiplyFrom);
          else
            multiplyFrom(0, 0, depth, panelAt(packed, panel, k));
          if (closed) {
            if (!byTiles) finish(*closed, column, rows, columns, c + row * p.strideCM + column);
            continue;
          }
          const bool full = panel + 1 - finished == panels || panel + 1 == panelEnd;
          if (!last || !*epilogue || !full) continue;
          const int32_t fault =
              epilogue->run(firstRow + row, firstRow + row + rows, finished * width, column + columns);
          if (fault != DYN_KERNEL_OK) return fault;
          finished = panel + 1;
        }
      }
    }
    return DYN_KERNEL_OK;
  }

 private:
  void copyRows(const float* from, int64_t rows, int64_t depth, float* copy, int64_t leading) const {
    const ProductProblem& p = problem;
    // Few lines of memory at a time, where each holds elements of many rows.
    constexpr int64_t kWordsOfLines = 4;
    const int64_t step = p.strideAK == 1 ? depth : 2 * kWordsOfLines;
    for (int64_t j = 0; j < depth && p.rounded; j += step)
      for (int64_t i = 0; i < rows; ++i)
        roundToWords(*p.rounded, from + i * p.strideAM + j * p.strideAK, std::min(step, depth - j),
                     p.strideAK, reinterpret_cast<uint32_t*>(copy + i * leading) + j / 2);
    if (p.rounded) return;
    if (p.strideAM == 1) return copyTurned(from, rows, depth, p.strideAK, copy, leading);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < depth; ++j) copy[i * leading + j] = from[i * p.strideAM + j * p.strideAK];
  }
  // Is writing the result what takes long, and the right matrix as good as nothing? Then rows are finished
  // one tile after the other, in the order in which they lie.
  bool isShallow() const {
    constexpr int64_t kFewElements = 1 << 11;  // that leave most of the first cache to rows
    const ProductProblem& p = problem;
    return p.depth * p.columns <= kFewElements && p.rows * p.columns > kFarElements;
  }
  // Columns of rows several of which lie in one line: the processor sees by itself where they go on.
  static constexpr int64_t kNarrow = 8;
  void fetchTile(const float* to, int64_t rows, int64_t columns) const {
    constexpr int64_t kLine = 16;
    for (int64_t column = 0; column < columns; column += kLine)
      fetchPlaces(to + column, problem.strideCM, rows);
  }
  void finish(const TileEnd& end, int64_t column, int64_t rows, int64_t columns, float* to) const {
    finishKernel()(rows, columns, to, problem.strideCM, end.from(column));
  }
  // Of depth k of a panel on. Of words where both sides are rounded.
  const float* panelAt(const float* packed, int64_t panel, int64_t k) const {
    const ProductProblem& p = problem;
    return p.rounded ? packed + (panel * bf16Words(p.depth) + k / 2) * p.rounded->panelWidth
                     : packed + (panel * p.depth + k) * family.panelWidth;
  }
  // Depths [k, k + depth) of a panel of halves, some at a time: the first tile widens them as it multiplies,
  // the other rows, multiplyOthers(first row, first depth from k on, depths, widened), read what it left.
  template <typename MultiplyOthers>
  void multiplyHalves(int64_t firstTile, int64_t rows, int64_t panel, int64_t k, int64_t depth,
                      const float* left, int64_t leading, const float* packed, float* wide, float* c,
                      int64_t columns, const MultiplyOthers& multiplyOthers) const {
    const int64_t width = family.panelWidth,
                  first = std::min(firstTile, static_cast<int64_t>(problem.halves->maxRows));
    const auto* halves = reinterpret_cast<const uint16_t*>(packed) + (panel * problem.depth + k) * width;
    for (int64_t begin = 0; begin < std::max<int64_t>(depth, 1); begin += kWidenedDepth) {
      const int64_t steps = std::min(kWidenedDepth, depth - begin);
      problem.widening[first - 1](steps, left + begin, leading, halves + begin * width,
                                  rows > first ? wide : nullptr, c, problem.strideCM, columns,
                                  k + begin > 0 ? 1 : 0);
      if (rows > first) multiplyOthers(first, begin, steps, wide);
    }
  }
  // The rows of a tile times as many depths of one panel. `left` counts words where both sides are rounded.
  void multiply(int64_t rows, int64_t depth, const float* left, int64_t leading, const float* right,
                bool accumulate, float* c, int64_t columns) const {
    const ProductProblem& p = problem;
    if (p.rounded)
      p.rounded->microKernels[rows - 1](bf16Words(depth), reinterpret_cast<const uint32_t*>(left), leading,
                                        reinterpret_cast<const uint32_t*>(right), c, p.strideCM, columns,
                                        accumulate ? 1 : 0);
    else
      family.microKernels[rows - 1](depth, left, leading, right, c, p.strideCM, columns, accumulate ? 1 : 0);
  }
};

}  // namespace dyn::vm::kernels
