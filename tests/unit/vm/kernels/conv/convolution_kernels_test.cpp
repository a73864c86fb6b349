// The micro-kernels of convolutions of each instruction set that this processor has, beside plain sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "vm/kernels/conv/convolution.h"
#include "vm/kernels/conv/convolution_kernels.h"

extern const dyn::vm::kernels::ConvolutionKernels dynConvolutionPortable, dynConvolutionAvx2,
    dynConvolutionAvx512, dynConvolutionNeon;

namespace dyn::vm::kernels {
namespace {

constexpr float kUntouched = -77.0f;

std::vector<const ConvolutionKernels*> families() {
  std::vector<const ConvolutionKernels*> all{&dynConvolutionPortable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&dynConvolutionAvx2);
  if (__builtin_cpu_supports("avx512f")) all.push_back(&dynConvolutionAvx512);
#elif defined(__aarch64__)
  all.push_back(&dynConvolutionNeon);
#endif
  return all;
}

class ConvolutionKernelsTest : public testing::TestWithParam<size_t> {
 protected:
  std::vector<float> floats(int64_t count) {
    std::vector<float> all(static_cast<size_t>(count));
    for (float& value : all) value = std::uniform_real_distribution<float>(-1, 1)(random_);
    return all;
  }
  const ConvolutionKernels& kernels() const { return *families()[GetParam()]; }

  std::mt19937 random_{7};
};

TEST(SharedPart, fewPartsAreSharedEvenly) {
  for (int64_t whole = 1; whole <= 130; ++whole)
    for (int64_t most = 1; most <= whole + 1; ++most)
      for (int64_t tasks : {1, 2, 3, 8}) {
        const int64_t part = sharedPart(whole, most, tasks);
        ASSERT_GE(part, 1);
        ASSERT_LE(part, most);
        if (tasks == 1 || partsOf(whole, most) == 1) {
          ASSERT_EQ(part, evenPart(whole, most));
        }
      }
  EXPECT_EQ(sharedPart(112, 9, 1), 9);
  EXPECT_EQ(sharedPart(112, 9, 2), 8);    // 14 instead of 13
  EXPECT_EQ(sharedPart(112, 18, 2), 14);  // 8 instead of 7
  EXPECT_EQ(sharedPart(3136, 512, 2), 392);
  EXPECT_EQ(sharedPart(7, 9, 2), 7);
}

TEST_P(ConvolutionKernelsTest, tilesOfPositionsWriteTheirColumnsAndNoOthers) {
  const ConvolutionKernels& k = kernels();
  // Anywhere; side by side, also of no whole vectors; two places of three channels each; of channels.
  const std::vector<std::vector<int64_t>> lists{
      {0, 40, 3, 17, 81}, {2, 3, 4, 5, 6, 7, 8, 9, 10}, {0, 3, 1, 4, 2, 5}, {0, 1, 2, 10, 11, 12}, {7, 8, 9}};
  for (const auto& [table, width, narrower] :
       {std::tuple{k.narrowPositions, k.narrow, 0}, {k.widePositions, k.wide, k.wide - k.narrow}})
    for (int64_t rows = 1; rows <= k.maxRows; ++rows)
      for (int64_t columns = narrower + 1; columns <= width; ++columns)
        for (int form = 0; form < 18; ++form) {
          // With nothing, with a start, with what is there; then nothing, bounds, or a bias and bounds.
          const int begin = form % 3, last = form / 3 % 3;
          const int64_t leading = width + 3, strideA = form < 9 ? 1 : 3;
          const std::vector<int64_t>& offsets = lists[static_cast<size_t>(form + columns) % lists.size()];
          const auto depth = static_cast<int64_t>(offsets.size());
          const std::vector<float> a = floats(82 + strideA * rows), b = floats(depth * width),
                                   start = floats(columns), before = floats(rows * leading),
                                   bias = floats(columns);
          const TileEnd end{last == 2 ? bias.data() : nullptr, -0.5f, 0.75f};
          std::vector<float> c = before;
          for (int64_t row = 0; row < rows; ++row)
            std::fill_n(c.begin() + row * leading + columns, leading - columns, kUntouched);
          table[rows - 1](depth, a.data(), strideA, offsets.data(), b.data(), c.data(), leading, columns,
                          begin == 1 ? start.data() : nullptr, begin == 2 ? 1 : 0, last > 0 ? &end : nullptr);
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t lane = 0; lane < leading; ++lane) {
              const auto at = static_cast<size_t>(row * leading + lane);
              if (lane >= columns) {
                ASSERT_EQ(c[at], kUntouched) << rows << " rows, " << columns << " columns";
                continue;
              }
              float sum = begin == 1 ? start[static_cast<size_t>(lane)] : begin == 2 ? before[at] : 0.0f;
              for (int64_t i = 0; i < depth; ++i)
                sum += a[static_cast<size_t>(offsets[static_cast<size_t>(i)] + row * strideA)] *
                       b[static_cast<size_t>(i * width + lane)];
              if (last == 2) sum += bias[static_cast<size_t>(lane)];
              if (last > 0) sum = std::clamp(sum, end.low, end.high);
              ASSERT_NEAR(c[at], sum, 1e-5) << rows << " rows, " << columns << " columns";
            }
        }
}

// Each product is added without being rounded, but in the form for any processor, which has no such
// instruction.
TEST_P(ConvolutionKernelsTest, multiplyAndAddAreOneStep) {
  const ConvolutionKernels& k = kernels();
  const float x = 1 + std::ldexp(1.0f, -13);  // x * x is 2^-26 more than what it is rounded to
  const float expected = GetParam() == 0 ? 0.0f : std::ldexp(1.0f, -26);
  const std::vector<int64_t> offsets{0, 1};
  const std::vector<float> first(static_cast<size_t>(k.wide), -x * x), all(64, x);
  std::vector<float> c(static_cast<size_t>(k.maxRows * k.wide));
  const std::vector<float> products(static_cast<size_t>(k.wide), x);
  for (int64_t rows = 1; rows <= k.maxRows; ++rows) {
    k.widePositions[rows - 1](1, all.data(), 0, offsets.data(), products.data(), c.data(), k.wide, k.wide,
                              first.data(), 0, nullptr);
    EXPECT_EQ(c[0], expected) << "positions, " << rows << " rows";
    std::fill(c.begin(), c.end(), -x * x);
    k.filters[rows - 1](1, all.data(), 0, products.data(), offsets.data(), c.data(), k.wide, k.wide, 1);
    EXPECT_EQ(c[0], expected) << "filters, " << rows << " rows";
  }
  k.row(1, all.data(), all.data(), offsets.data(), -x * x, c.data(), k.wide);
  EXPECT_EQ(c[0], expected) << "row";
  k.lanes(1, all.data(), 0, offsets.data(), all.data(), first.data(), c.data(), k.narrow, 1);
  EXPECT_EQ(c[0], expected) << "lanes";
}

TEST_P(ConvolutionKernelsTest, windowsSumWhatTheySee) {
  const ConvolutionKernels& k = kernels();
  const int64_t lanes = k.narrow;
  EXPECT_EQ(k.window(4, 1), nullptr);
  EXPECT_EQ(k.window(9, 1), nullptr);
  EXPECT_EQ(k.window(3, 3), nullptr);
  for (int64_t columns : {3, 5, 7})
    for (int64_t stride : {1, 2})
      for (int64_t positions = k.fewestPositions; positions <= 31; ++positions)
        for (int64_t rows : {0, 1, 3}) {
          const int64_t place = lanes + 5, row = ((positions - 1) * stride + columns) * place,
                        strideC = lanes + 2;
          const std::vector<float> a = floats(std::max<int64_t>(rows, 1) * row),
                                   b = floats(std::max<int64_t>(rows, 1) * columns * lanes),
                                   start = floats(lanes);
          std::vector<float> c(static_cast<size_t>(positions * strideC), kUntouched);
          const bool starts = positions % 2 == 0, ends = positions % 3 != 0, biased = positions % 3 == 1;
          const std::vector<float> bias = floats(lanes);
          const TileEnd end{biased ? bias.data() : nullptr, -0.5f, 0.75f};
          k.window(columns, stride)(rows, a.data(), row, place, b.data(), starts ? start.data() : nullptr,
                                    c.data(), strideC, positions, ends ? &end : nullptr);
          for (int64_t i = 0; i < positions; ++i)
            for (int64_t lane = 0; lane < strideC; ++lane) {
              const float got = c[static_cast<size_t>(i * strideC + lane)];
              if (lane >= lanes) {
                ASSERT_EQ(got, kUntouched);
                continue;
              }
              float sum = starts ? start[static_cast<size_t>(lane)] : 0.0f;
              for (int64_t h = 0; h < rows; ++h)
                for (int64_t w = 0; w < columns; ++w)
                  sum += a[static_cast<size_t>(h * row + (i * stride + w) * place + lane)] *
                         b[static_cast<size_t>((h * columns + w) * lanes + lane)];
              if (biased) sum += bias[static_cast<size_t>(lane)];
              if (ends) sum = std::clamp(sum, end.low, end.high);
              ASSERT_NEAR(got, sum, 1e-5)
                  << columns << " columns " << stride << " apart, position " << i << " of " << positions;
            }
        }
}

// A NaN stays; a bound that is met leaves the zero that was there.
TEST_P(ConvolutionKernelsTest, whatFollowsATileDoesItsColumnsAndNoOthers) {
  const ConvolutionKernels& k = kernels();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t rows : {0, 1, 5, 13})
    for (int64_t columns = 1; columns <= 5 * k.wide + 3; ++columns)
      for (const bool biased : {false, true}) {
        const int64_t leading = columns + 2;
        std::vector<float> c = floats(rows * leading);
        for (size_t i = 0; i < c.size(); ++i) c[i] = i % 7 == 3 ? kNan : i % 7 == 5 ? -0.0f : 2 * c[i];
        const std::vector<float> before = c, bias = floats(columns);
        const TileEnd end{biased ? bias.data() : nullptr, 0.0f, 0.75f};
        k.finish(rows, columns, c.data(), leading, end);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = 0; column < leading; ++column) {
            const auto at = static_cast<size_t>(row * leading + column);
            float expected = before[at];
            if (column < columns) {
              if (biased) expected += bias[static_cast<size_t>(column)];
              expected = end.low > expected ? end.low : expected;
              expected = end.high < expected ? end.high : expected;
            }
            ASSERT_EQ(std::isnan(c[at]), std::isnan(expected))
                << columns << " columns, at " << row << ", " << column;
            if (std::isnan(expected)) continue;
            ASSERT_EQ(c[at], expected) << columns << " columns, at " << row << ", " << column;
            ASSERT_EQ(std::signbit(c[at]), std::signbit(expected));
          }
      }
}

// Any counts of lanes and positions, to places in any order; the vectors between stay as they are.
TEST_P(ConvolutionKernelsTest, planesAreTurnedToTheirPlaces) {
  const ConvolutionKernels& k = kernels();
  for (int64_t lanes = 1; lanes <= k.narrow; ++lanes)
    for (int64_t positions = 1; positions <= k.narrow; ++positions) {
      const int64_t stride = positions + 3;
      // No more than is there may be read: the last row ends with its last position.
      const std::vector<float> from = floats((lanes - 1) * stride + positions);
      std::vector<int64_t> places;
      for (int64_t i = 0; i < positions; ++i) places.push_back((2 * (positions - i) - 1) * k.narrow);
      std::vector<float> to(static_cast<size_t>((2 * positions + 1) * k.narrow), kUntouched);
      k.turnTo(from.data(), stride, lanes, positions, places.data(), to.data());
      for (int64_t i = 0; i <= 2 * positions; ++i)
        for (int64_t lane = 0; lane < k.narrow; ++lane) {
          const int64_t position = positions - (i + 1) / 2, row = std::min(lane, lanes - 1);
          const float expected = i % 2 == 1 ? from[static_cast<size_t>(row * stride + position)] : kUntouched;
          ASSERT_EQ(to[static_cast<size_t>(i * k.narrow + lane)], expected)
              << lanes << " lanes, " << positions << " positions, vector " << i << ", lane " << lane;
        }
    }
}

// The input ends with the last column that is read: no other memory may be.
TEST_P(ConvolutionKernelsTest, rowsArePaddedAndPartedAtStrideTwo) {
  const ConvolutionKernels& k = kernels();
  for (int64_t columns : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 61})
    for (int64_t before : {-20, -1, 0, 1, 2, 5, 19, 40})
      for (int64_t length : {1, 3, 7, 8, 9, 16, 17, 29, 32, 40, 67})
        for (int64_t rows : {0, 1, 2, 5}) {
          const int64_t stride = columns + 3, room = rows * length + k.narrow;
          const std::vector<float> from = floats(std::max<int64_t>(rows - 1, 0) * stride + columns);
          const auto padded = [&](int64_t row, int64_t i) {
            return i < before || i - before >= columns ? 0.0f
                                                       : from[static_cast<size_t>(row * stride + i - before)];
          };
          std::vector<float> whole(static_cast<size_t>(room + 1), kUntouched), even = whole, odd = whole;
          k.pad(from.data(), stride, rows, before, columns, length, whole.data());
          k.padPairs(from.data(), stride, rows, before, columns, length, even.data(), odd.data());
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t i = 0; i < length; ++i) {
              const auto at = static_cast<size_t>(row * length + i);
              ASSERT_EQ(whole[at], padded(row, i))
                  << columns << " columns from " << before << " of " << length << ", at " << row << ", " << i;
              ASSERT_EQ(even[at], padded(row, 2 * i))
                  << columns << " columns from " << before << " of " << length << ", at " << row << ", " << i;
              ASSERT_EQ(odd[at], padded(row, 2 * i + 1))
                  << columns << " columns from " << before << " of " << length << ", at " << row << ", " << i;
            }
          for (const std::vector<float>* to : {&whole, &even, &odd}) {
            ASSERT_EQ(to->back(), kUntouched);
            ASSERT_TRUE(rows > 0 || to->front() == kUntouched);
          }
        }
}

// A NaN stays, and nothing but the columns is written.
TEST_P(ConvolutionKernelsTest, stagedRowsAreJoined) {
  const ConvolutionKernels& k = kernels();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t rows : {0, 1, 2, 7})
    for (int64_t columns = 0; columns <= 3 * k.wide + 1; ++columns)
      for (int64_t more : {0, 1, 6})
        for (const TileEnd& end : {TileEnd(), TileEnd{nullptr, -0.25f, 0.75f}}) {
          const int64_t length = columns + more;
          std::vector<float> from = floats(rows * length);
          for (size_t i = 3; i < from.size(); i += 11) from[i] = kNan;
          std::vector<float> to(static_cast<size_t>(rows * columns + 1), kUntouched);
          k.unstage(from.data(), length, rows, columns, 0.5f, end, to.data());
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t i = 0; i < columns; ++i) {
              const float got = to[static_cast<size_t>(row * columns + i)],
                          given = from[static_cast<size_t>(row * length + i)];
              ASSERT_EQ(std::isnan(got), std::isnan(given)) << columns << " columns, at " << row << ", " << i;
              if (std::isnan(given)) continue;
              ASSERT_EQ(got, std::clamp(given + 0.5f, end.low, end.high))
                  << columns << " columns, at " << row << ", " << i;
            }
          ASSERT_EQ(to.back(), kUntouched);
        }
}

TEST_P(ConvolutionKernelsTest, rowsOfTwoPhasesAreZipped) {
  const ConvolutionKernels& k = kernels();
  for (int64_t rows : {0, 1, 3})
    for (int64_t columns = 0; columns <= 5 * k.narrow + 1; ++columns) {
      const int64_t length = (columns + 1) / 2 + 1, stride = columns + 5;
      // No more than is there may be read.
      const int64_t before = std::max<int64_t>(rows - 1, 0) * length;
      const std::vector<float> even = floats(before + (columns + 1) / 2), odd = floats(before + columns / 2);
      std::vector<float> to(static_cast<size_t>(rows * stride + 1), kUntouched);
      k.zip(even.data(), odd.data(), length, rows, columns, 0.5f, to.data(), stride);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < stride; ++i) {
          const float got = to[static_cast<size_t>(row * stride + i)];
          const auto at = static_cast<size_t>(row * length + i / 2);
          ASSERT_EQ(got, i >= columns ? kUntouched : 0.5f + (i % 2 == 0 ? even : odd)[at])
              << columns << " columns, at " << row << ", " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(EachInstructionSet, ConvolutionKernelsTest,
                         testing::Range<size_t>(0, families().size()));

}  // namespace
}  // namespace dyn::vm::kernels
