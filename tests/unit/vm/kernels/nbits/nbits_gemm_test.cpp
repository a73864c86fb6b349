// Products with weights of few bits against sums in double, by every set of kernels that this CPU can run.
#include "vm/kernels/nbits/nbits_gemm.h"

#include <cmath>

#include <limits>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/shared/dyn_nbits.h"

namespace dyn::vm::test {
namespace {

using kernels::NbitsKernels;

struct Size {
  int64_t bits, block, rows, columns, depth;
  bool roundsRows = false;
};

class NbitsGemmTest : public BuiltinTest {
 protected:
  Tensor* bytes(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    std::vector<uint8_t> data(static_cast<size_t>(count));
    for (uint8_t& x : data) x = static_cast<uint8_t>(random_());
    return tensor(DataType::u8, std::move(shape), data);
  }
  static int64_t number(const Tensor* packed, int64_t rowBytes, int64_t bits, int64_t row, int64_t i) {
    const uint8_t byte = packed->as<uint8_t>()[row * rowBytes + i * bits / 8];
    return bits == 8 ? byte : byte >> (i % 2 * 4) & 15;
  }
  Status multiply(const NbitsKernels& kernels, std::vector<Object*> arguments, const Size& size, Tensor* c) {
    return callFlat(
        [&](const DynBuiltinCall* call, uint64_t* bytes) {
          return scratchOf(*call, *bytes, [&](const FlatCall& flat, int64_t& elements) {
            return kernels::nbitsGemmScratchBy(kernels, flat, elements);
          });
        },
        [&](const DynBuiltinCall* call) {
          return runOf(*call, [&](FlatCall& flat) { return kernels::nbitsGemmBy(kernels, flat); });
        },
        std::move(arguments),
        {.numbers = {NbitsNumber{static_cast<int32_t>(size.bits), size.roundsRows}.joined(),
                     static_cast<int32_t>(size.block)}},
        {c});
  }
  // A row as it is multiplied: its own numbers, or those of 8 bits a block.
  static std::vector<double> leftOf(const Size& s, const float* row) {
    std::vector<double> left(row, row + s.depth);
    for (int64_t first = 0; s.roundsRows && first < s.depth; first += s.block) {
      const int64_t end = std::min(s.depth, first + s.block);
      float largest = 0;
      for (int64_t i = first; i < end; ++i) largest = std::max(largest, std::abs(row[i]));
      for (int64_t i = first; i < end; ++i)
        left[i] = largest == 0
                      ? 0.0
                      : static_cast<double>(std::nearbyint(row[i] / largest * 127.0f)) * largest / 127;
    }
    return left;
  }
  void expectProduct(const NbitsKernels& kernels, const Size& s, bool withZeros);
};

void NbitsGemmTest::expectProduct(const NbitsKernels& kernels, const Size& s, bool withZeros) {
  SCOPED_TRACE(std::string(kernels.name) + ", " + std::to_string(s.bits) + " bits, blocks of " +
               std::to_string(s.block) + ", " + std::to_string(s.rows) + " x " + std::to_string(s.depth) +
               " x " + std::to_string(s.columns) + (withZeros ? ", zero points" : "") +
               (s.roundsRows ? ", rows of 8 bits" : ""));
  const int64_t blocks = (s.depth + s.block - 1) / s.block, blockBytes = s.block * s.bits / 8,
                zeroBytes = (blocks * s.bits + 7) / 8;
  Tensor *a = floats({s.rows, s.depth}), *b = bytes({s.columns, blocks, blockBytes}),
         *scales = floats({s.columns, blocks}), *zeros = withZeros ? bytes({s.columns, zeroBytes}) : nullptr,
         *c = output({s.rows, s.columns});
  const Status status = multiply(kernels, {a, b, scales, zeros}, s, c);
  ASSERT_TRUE(status.ok()) << status.message;
  for (int64_t row = 0; row < s.rows; ++row) {
    const std::vector<double> left = leftOf(s, a->as<float>() + row * s.depth);
    for (int64_t column = 0; column < s.columns; ++column) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < s.depth; ++k) {
        const int64_t zero =
            zeros ? number(zeros, zeroBytes, s.bits, column, k / s.block) : int64_t{1} << (s.bits - 1);
        const double level = static_cast<double>(number(b, blocks * blockBytes, s.bits, column, k) - zero);
        const double part = level * scales->as<float>()[column * blocks + k / s.block] * left[k];
        sum += part;
        size += std::abs(part);
      }
      ASSERT_NEAR(c->as<float>()[row * s.columns + column], sum, 1e-6 * size)
          << "row " << row << ", column " << column;
    }
  }
}

TEST_F(NbitsGemmTest, productsAreThoseOfTheWeightsSpeltOut) {
  const Size sizes[] = {
      {4, 32, 1, 1, 32},     {4, 32, 1, 5, 70},      {4, 32, 3, 37, 64},     {4, 64, 4, 9, 100},
      {4, 32, 5, 37, 64},    {4, 16, 1, 7, 33},      {4, 16, 17, 33, 40},    {4, 128, 9, 70, 700},
      {4, 2, 3, 5, 7},       {4, 6, 6, 21, 20},      {8, 32, 1, 6, 40},      {8, 32, 7, 35, 65},
      {8, 16, 2, 3, 17},     {8, 64, 12, 16, 64},    {4, 32, 0, 3, 5},       {4, 32, 3, 0, 5},
      {4, 32, 3, 4, 0},      {4, 1024, 6, 5, 10},    {4, 32, 13, 19, 611},   {4, 32, 2, 17, 1},
      {4, 64, 2, 3, 331},    {4, 64, 29, 31, 67},    {4, 128, 1, 23, 641},   {4, 256, 3, 7, 257},
      {4, 1024, 1, 3, 2049}, {4, 32, 13, 163, 1024}, {8, 32, 29, 131, 2048}, {4, 32, 8, 21, 1200},
      {4, 64, 9, 33, 1100},  {4, 128, 7, 18, 1300},  {4, 512, 5, 17, 1500},  {4, 32, 10, 16, 544}};
  for (const NbitsKernels* kernels : kernels::nbitsKernels())
    for (Size s : sizes)
      for (bool withZeros : {false, true})
        for (ThreadPool* threads : pools_) {
          threads_ = threads;
          for (s.roundsRows = false;; s.roundsRows = true) {
            expectProduct(*kernels, s, withZeros);
            if (HasFatalFailure()) return;
            if (s.roundsRows) break;
          }
        }
}

// The bits of a row do not depend on how many others are multiplied with it, up to as many as are few.
TEST_F(NbitsGemmTest, aRowIsTheSameAmongOthers) {
  constexpr int64_t kRows = 8, kColumns = 37, kDepth = 1600, kBlocks = kDepth / 32;
  for (const NbitsKernels* kernels : kernels::nbitsKernels())
    for (bool withZeros : {false, true}) {
      SCOPED_TRACE(std::string(kernels->name) + (withZeros ? ", zero points" : ""));
      Tensor *a = floats({kRows, kDepth}), *b = bytes({kColumns, kBlocks, 16}),
             *scales = floats({kColumns, kBlocks}),
             *zeros = withZeros ? bytes({kColumns, kBlocks / 2}) : nullptr, *all = output({kRows, kColumns});
      ASSERT_TRUE(multiply(*kernels, {a, b, scales, zeros}, {4, 32, kRows, kColumns, kDepth}, all).ok());
      for (int64_t row = 0; row < kRows; ++row) {
        Tensor *one = floats({1, kDepth}), *alone = output({1, kColumns});
        std::copy_n(a->as<float>() + row * kDepth, kDepth, one->as<float>());
        ASSERT_TRUE(multiply(*kernels, {one, b, scales, zeros}, {4, 32, 1, kColumns, kDepth}, alone).ok());
        for (int64_t column = 0; column < kColumns; ++column)
          ASSERT_EQ(alone->as<float>()[column], all->as<float>()[row * kColumns + column])
              << row << ", " << column;
      }
    }
}

TEST_F(NbitsGemmTest, roundedRowsKeepZerosAndHandNaNOn) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const NbitsKernels* kernels : kernels::nbitsKernels())
    for (int64_t rows : {1, 7})
      for (float odd : {0.0f, infinity, -infinity, nan, 1e-44f, 1e37f}) {
        SCOPED_TRACE(std::string(kernels->name) + ", " + std::to_string(odd));
        const Size s{4, 32, rows, 3, 96, true};
        Tensor *a = floats({rows, 96}), *b = bytes({3, 3, 16}), *scales = floats({3, 3}),
               *c = output({rows, 3});
        std::fill_n(a->as<float>(), 96, 0.0f);
        a->as<float>()[40] = odd;
        ASSERT_TRUE(multiply(*kernels, {a, b, scales, nullptr}, s, c).ok());
        for (int64_t column = 0; column < 3; ++column) {
          const double level = static_cast<double>(number(b, 48, 4, column, 40) - 8),
                       expected = level * scales->as<float>()[column * 3 + 1] * odd;
          if (std::isfinite(odd)) {
            EXPECT_NEAR(c->as<float>()[column], expected, 1e-6 * std::abs(expected) + 1e-43);
          } else {
            EXPECT_TRUE(std::isnan(c->as<float>()[column]));
          }
        }
        if (rows > 1) {
          EXPECT_FALSE(std::isnan(c->as<float>()[3]));
        }
      }
}

TEST_F(NbitsGemmTest, whatDoesNotFitIsRefused) {
  const NbitsKernels& kernels = *kernels::nbitsKernels().front();
  const Size size{4, 32, 2, 3, 64};
  Tensor *a = floats({2, 64}), *b = bytes({3, 2, 16}), *scales = floats({3, 2}), *c = output({2, 3});
  EXPECT_TRUE(multiply(kernels, {a, b, scales, nullptr}, size, c).ok());
  EXPECT_EQ(multiply(kernels, {a, bytes({3, 1, 16}), scales, nullptr}, size, c).code, DYN_BAD_INPUT);
  EXPECT_EQ(multiply(kernels, {a, bytes({4, 2, 16}), scales, nullptr}, size, c).code, DYN_BAD_INPUT);
  EXPECT_EQ(multiply(kernels, {a, b, floats({3}), nullptr}, size, c).code, DYN_BAD_INPUT);
  EXPECT_EQ(multiply(kernels, {a, b, scales, bytes({2})}, size, c).code, DYN_BAD_INPUT);
  EXPECT_EQ(multiply(kernels, {floats({3, 64}), b, scales, nullptr}, size, c).code, DYN_BAD_INPUT);
  EXPECT_EQ(multiply(kernels, {a, b, scales, nullptr}, {3, 32, 2, 3, 64}, c).code, DYN_BAD_PROGRAM);
  EXPECT_EQ(multiply(kernels, {a, b, scales, nullptr}, {4, 0, 2, 3, 64}, c).code, DYN_BAD_PROGRAM);
}

}  // namespace
}  // namespace dyn::vm::test
