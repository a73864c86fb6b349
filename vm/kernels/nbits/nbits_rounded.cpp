#include "vm/kernels/nbits/nbits_rounded.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t FourBits __attribute__((vector_size(16), aligned(4), may_alias));

// The largest magnitude; NaN if one of the numbers is.
float largestOf(const float* from, int64_t count) {
  // As integers, magnitudes are in order and NaN is above all.
  FourBits largest = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const FourBits bits = *reinterpret_cast<const FourBits*>(from + i) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  int32_t most = std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
  for (; i < count; ++i) most = std::max(most, __builtin_bit_cast(int32_t, from[i]) & 0x7fffffff);
  return __builtin_bit_cast(float, most);
}

constexpr float kLevels = 127;
// Added and taken away again, it leaves a number below 2^22 rounded to nearest even.
constexpr float kRounding = 0x1.8p23f;

// numbers[i] of a block, as floats; the scale they share.
float roundBlock(const float* from, int64_t count, float* numbers) {
  const float largest = largestOf(from, count);
  if (!(largest > 0) || !std::isfinite(largest)) {
    std::fill_n(numbers, count, 0.0f);
    return largest == 0 ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const Four levels = *reinterpret_cast<const Four*>(from + i) / largest * kLevels;
    *reinterpret_cast<Four*>(numbers + i) = (levels + kRounding) - kRounding;
  }
  for (; i < count; ++i) numbers[i] = (from[i] / largest * kLevels + kRounding) - kRounding;
  return largest / kLevels;
}

// Where a call's rounded rows lie in its scratch memory, in elements of four bytes.
struct RowsPlan {
  int64_t leading, groups, numbers, scales, blockSums, laneSums, laneScales, all;

  RowsPlan(const NbitsMatrix& m, int64_t rows) {
    const int64_t group = roundedGroup(m.block);
    groups = (m.paddedDepth() + group - 1) / group;
    leading = (groups * group / 64 | 1) * 64;
    numbers = 0;
    scales = numbers + wholeLines(rows * leading / 4);
    blockSums = scales + wholeLines(rows * m.blocks);
    laneSums = blockSums + wholeLines(rows * m.blocks);
    laneScales = laneSums + rows * groups * kRoundedLanes;
    all = laneScales + rows * groups * kRoundedLanes;
  }
};

// One row of RoundedRows.
void roundRow(const NbitsMatrix& m, const float* row, int8_t* numbers, float* scales, int32_t* blockSums,
              int32_t* laneSums, float* laneScales, int64_t leading, int64_t groups) {
  const int64_t group = roundedGroup(m.block);
  std::fill_n(numbers, leading, int8_t{0});
  std::fill_n(laneSums, groups * kRoundedLanes, 0);
  std::fill_n(laneScales, groups * kRoundedLanes, 0.0f);
  for (int64_t block = 0; block < m.blocks; ++block) {
    float levels[kLargestRoundedBlock];
    const int64_t first = block * m.block, count = std::min(m.block, m.depth - first);
    scales[block] = roundBlock(row + first, count, levels);
    std::fill(levels + count, levels + m.block, 0.0f);
    int32_t blockSum = 0;
    // Eight depths share a lane.
    for (int64_t i = 0; i < m.block; i += 8) {
      const int64_t depth = first + i, lane = depth % kRoundedRun / 8;
      int8_t* to = numbers + depth / kRoundedRun * kRoundedRun + lane * 4;
      int32_t sum = 0;
      for (int64_t j = 0; j < 4; ++j) {
        const auto even = static_cast<int32_t>(levels[i + 2 * j]),
                   odd = static_cast<int32_t>(levels[i + 2 * j + 1]);
        to[j] = static_cast<int8_t>(even);
        to[kRoundedRun / 2 + j] = static_cast<int8_t>(odd);
        sum += even + odd;
      }
      laneSums[depth / group * kRoundedLanes + lane] -= sum;
      laneScales[depth / group * kRoundedLanes + lane] = scales[block];
      blockSum -= sum;
    }
    blockSums[block] = blockSum;
  }
}

constexpr int64_t kColumnsAtOnce = 16;  // of dots, for few rows

RoundedRows rowsFrom(RoundedRows rows, int64_t row) {
  rows.numbers += row * rows.leading;
  rows.scales += row * rows.blocks;
  rows.blockSums += row * rows.blocks;
  rows.laneSums += row * rows.groups * kRoundedLanes;
  rows.laneScales += row * rows.groups * kRoundedLanes;
  return rows;
}

}  // namespace

bool multipliesRounded(const NbitsKernels& kernels, const NbitsMatrix& m) {
  return kernels.rounded && m.bits == 4 && m.block <= kLargestRoundedBlock &&
         (m.block == 32 || m.block == 64 || m.block % kRoundedRun == 0);
}

static int64_t tasksOf(const FlatCall& call, const NbitsMatrix& m, int64_t rows) {
  return worthwhileTasks(call, static_cast<double>(rows) * static_cast<double>(m.columns) *
                                   static_cast<double>(m.paddedDepth()));
}

static int64_t ownElements(const NbitsKernels& kernels, const NbitsMatrix& m, int64_t rows) {
  return rows <= kernels.rounded->fewRows(m.block) ? 0 : wholeLines((roundedPanelBytes(m.block) + 3) / 4);
}

int64_t roundedScratch(const NbitsKernels& kernels, const FlatCall& call, const NbitsMatrix& m,
                       int64_t rows) {
  return scratchElements(wholeLines(RowsPlan(m, rows).all), tasksOf(call, m, rows),
                         ownElements(kernels, m, rows));
}

Status multiplyRounded(const NbitsKernels& kernels, FlatCall& call, const NbitsMatrix& m, int64_t rows,
                       const float* a, float* c) {
  const RowsPlan plan(m, rows);
  const int64_t tasks = tasksOf(call, m, rows);
  Scratch scratch(call, wholeLines(plan.all), tasks, ownElements(kernels, m, rows));
  if (!scratch) return scratch.status();
  float* memory = scratch.shared();
  auto* numbers = reinterpret_cast<int8_t*>(memory + plan.numbers);
  float *scales = memory + plan.scales, *laneScales = memory + plan.laneScales;
  auto *blockSums = reinterpret_cast<int32_t*>(memory + plan.blockSums),
       *laneSums = reinterpret_cast<int32_t*>(memory + plan.laneSums);
  for (int64_t row = 0; row < rows; ++row)
    roundRow(m, a + row * m.depth, numbers + row * plan.leading, scales + row * m.blocks,
             blockSums + row * m.blocks, laneSums + row * plan.groups * kRoundedLanes,
             laneScales + row * plan.groups * kRoundedLanes, plan.leading, plan.groups);
  const RoundedRows rounded{plan.leading, m.blocks,  plan.groups, numbers,
                            scales,       blockSums, laneSums,    laneScales};
  const bool few = rows <= kernels.rounded->fewRows(m.block);
  const int64_t together = few ? kColumnsAtOnce : kRoundedColumns;
  call.split((m.columns + together - 1) / together, static_cast<uint32_t>(tasks),
             [&](int64_t begin, int64_t end) {
               auto* panel = few ? nullptr : reinterpret_cast<uint8_t*>(scratch.next());
               for (int64_t part = begin; part < end && !call.cancelled(); ++part) {
                 const int64_t column = part * together, columns = std::min(together, m.columns - column);
                 for (int64_t row = 0; few && row < rows; row += kRoundedRowsAtOnce)
                   kernels.rounded->dots(m, rowsFrom(rounded, row), std::min(kRoundedRowsAtOnce, rows - row),
                                         column, columns, c + row * m.columns + column, m.columns);
                 if (!few)
                   kernels.rounded->panel(m, rounded, rows, column, columns, panel, c + column, m.columns);
               }
             });
  return okStatus();
}

void asRounded(const NbitsMatrix& m, const float* row, float* to) {
  for (int64_t first = 0; first < m.depth; first += m.block) {
    const int64_t count = std::min(m.block, m.depth - first);
    const float scale = roundBlock(row + first, count, to + first);
    for (int64_t i = 0; i < count; ++i) to[first + i] *= scale;
  }
}

}  // namespace dyn::vm::kernels
