// Products with weights of few bits against sums in double, by every set of kernels that this CPU can run.
#include "vm/kernels/nbits/nbits_gemm.h"

#include <cmath>

#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

using kernels::NbitsKernels;

struct Size {
  int64_t bits, block, rows, columns, depth;
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
        {.numbers = {static_cast<int32_t>(size.bits), static_cast<int32_t>(size.block)}}, {c});
  }
};

TEST_F(NbitsGemmTest, productsAreThoseOfTheWeightsSpeltOut) {
  const Size sizes[] = {{4, 32, 1, 1, 32},  {4, 32, 1, 5, 70},   {4, 32, 3, 37, 64},  {4, 64, 4, 9, 100},
                        {4, 32, 5, 37, 64}, {4, 16, 1, 7, 33},   {4, 16, 17, 33, 40}, {4, 128, 9, 70, 700},
                        {4, 2, 3, 5, 7},    {4, 6, 6, 21, 20},   {8, 32, 1, 6, 40},   {8, 32, 7, 35, 65},
                        {8, 16, 2, 3, 17},  {8, 64, 12, 16, 64}, {4, 32, 0, 3, 5},    {4, 32, 3, 0, 5},
                        {4, 32, 3, 4, 0},   {4, 1024, 6, 5, 10}};
  for (const NbitsKernels* kernels : kernels::nbitsKernels())
    for (const Size& s : sizes)
      for (bool withZeros : {false, true})
        for (ThreadPool* threads : {&single_, &three_}) {
          threads_ = threads;
          SCOPED_TRACE(std::string(kernels->name) + ", " + std::to_string(s.bits) + " bits, blocks of " +
                       std::to_string(s.block) + ", " + std::to_string(s.rows) + " x " +
                       std::to_string(s.depth) + " x " + std::to_string(s.columns) +
                       (withZeros ? ", zero points" : ""));
          const int64_t blocks = (s.depth + s.block - 1) / s.block, blockBytes = s.block * s.bits / 8,
                        zeroBytes = (blocks * s.bits + 7) / 8;
          Tensor *a = floats({s.rows, s.depth}), *b = bytes({s.columns, blocks, blockBytes}),
                 *scales = floats({s.columns, blocks}),
                 *zeros = withZeros ? bytes({s.columns, zeroBytes}) : nullptr,
                 *c = output({s.rows, s.columns});
          const Status status = multiply(*kernels, {a, b, scales, zeros}, s, c);
          ASSERT_TRUE(status.ok()) << status.message;
          for (int64_t row = 0; row < s.rows; ++row)
            for (int64_t column = 0; column < s.columns; ++column) {
              double sum = 0, size = 0;
              for (int64_t k = 0; k < s.depth; ++k) {
                const int64_t zero = zeros ? number(zeros, zeroBytes, s.bits, column, k / s.block)
                                           : int64_t{1} << (s.bits - 1);
                const double level =
                    static_cast<double>(number(b, blocks * blockBytes, s.bits, column, k) - zero);
                const double part = level * scales->as<float>()[column * blocks + k / s.block] *
                                    a->as<float>()[row * s.depth + k];
                sum += part;
                size += std::abs(part);
              }
              ASSERT_NEAR(c->as<float>()[row * s.columns + column], sum, 1e-6 * size)
                  << "row " << row << ", column " << column;
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
