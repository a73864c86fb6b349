// Tiles of every number of rows and columns, on every form that this processor runs: their sums, what follows
// them, and that nothing beside them is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "vm/kernels/conv/convolution_kernels.h"
#include "vm/kernels/gemm/number_gemm.h"

extern const dyn::vm::kernels::NumberFamilies numberFamiliesPortable, numberFamiliesAvx2;
extern const dyn::vm::kernels::ConvolutionKernels dynConvolutionPortable, dynConvolutionAvx2;

namespace dyn::vm::kernels {
namespace {

bool runsAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

template <typename T>
void checkTiles(const NumberFamily<T>& family) {
  constexpr int64_t kDepth = 5, kGap = 3;
  const int64_t width = family.panelWidth;
  std::vector<T> a(static_cast<size_t>(family.maxRows * kDepth)), b(static_cast<size_t>(kDepth * width));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<int64_t>(i % 7) - 3);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(static_cast<int64_t>(i % 11) - 5);
  for (int64_t rows = 1; rows <= family.maxRows; ++rows)
    for (int64_t columns = 1; columns <= width; ++columns)
      for (const int64_t leading : {columns, columns + kGap})
        for (const int64_t depth : {int64_t{0}, int64_t{1}, kDepth})
          for (const int32_t accumulate : {0, 1}) {
            std::vector<T> c(static_cast<size_t>(rows * leading + width), T(77)), expected = c;
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < columns; ++j) {
                T& sum = expected[static_cast<size_t>(i * leading + j)];
                if (!accumulate) sum = 0;
                for (int64_t k = 0; k < depth; ++k)
                  sum += a[static_cast<size_t>(i * kDepth + k)] * b[static_cast<size_t>(k * width + j)];
              }
            family.microKernels[rows - 1](depth, a.data(), kDepth, b.data(), c.data(), leading, columns,
                                          accumulate);
            ASSERT_EQ(c, expected) << rows << " x " << depth << " x " << columns << ", rows " << leading
                                   << " apart" << (accumulate ? ", added" : "");
          }
}

void checkEnds(FinishKernel finish) {
  constexpr int64_t kMostColumns = 37, kGap = 2, kAround = 16;
  std::vector<float> bias(kMostColumns + kAround);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) * 0.25f - 3;
  for (const bool biased : {false, true})
    for (const int64_t rows : {1, 2, 7, 8, 9, 41, 168})
      for (int64_t columns = 1; columns <= kMostColumns; ++columns)
        for (const int64_t leading : {columns, columns + kGap}) {
          std::vector<float> c(static_cast<size_t>(rows * leading + kAround), 99);
          for (int64_t i = 0; i < rows * leading; ++i)
            c[static_cast<size_t>(i)] = static_cast<float>(i * 7919 % 31) - 15;
          std::vector<float> expected = c;
          const TileEnd end{biased ? bias.data() : nullptr, -4.5f, 6};
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) {
              float& x = expected[static_cast<size_t>(i * leading + j)];
              x = std::clamp(x + (biased ? bias[static_cast<size_t>(j)] : 0), end.low, end.high);
            }
          finish(rows, columns, c.data(), leading, end);
          ASSERT_EQ(c, expected) << rows << " x " << columns << ", rows " << leading << " apart"
                                 << (biased ? ", biased" : "");
        }
}

TEST(NarrowTiles, SumsOfEveryProcessor) {
  std::vector<const NumberFamilies*> all = {&numberFamiliesPortable, &numberFamilies()};
#if defined(__x86_64__)
  if (runsAvx2()) all.push_back(&numberFamiliesAvx2);
#endif
  for (const NumberFamilies* families : all) {
    checkTiles(families->f64);
    checkTiles(families->i32);
    checkTiles(families->i64);
  }
}

TEST(NarrowTiles, EndsOfEveryProcessor) {
  std::vector<const ConvolutionKernels*> all = {&dynConvolutionPortable, &convolutionKernels()};
#if defined(__x86_64__)
  if (runsAvx2()) all.push_back(&dynConvolutionAvx2);
#endif
  for (const ConvolutionKernels* kernels : all) checkEnds(kernels->finish);
}

}  // namespace
}  // namespace dyn::vm::kernels
