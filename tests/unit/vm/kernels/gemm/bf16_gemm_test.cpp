// Products in bf16 against the same sums in f64 of rounded operands, for every family the CPU can run.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/kernels/gemm/bf16_gemm.h"

namespace dyn::vm::test {
namespace {

using namespace kernels;

float roundedOf(float value) { return std::bit_cast<float>(static_cast<uint32_t>(roundToBf16(value)) << 16); }

TEST(Bf16, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(roundToBf16(1.0f), 0x3f80);
  EXPECT_EQ(roundToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // half way, even below
  EXPECT_EQ(roundToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // half way, even above
  EXPECT_EQ(roundToBf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(roundToBf16(std::bit_cast<float>(0x7f7fffffu)), 0x7f80);  // the largest f32
  EXPECT_EQ(roundToBf16(std::bit_cast<float>(0x7f800001u)) & 0x7fc0, 0x7fc0);
  for (const Bf16Family* family : bf16Families())
    for (int64_t depth : {0, 1, 2, 15, 31, 32, 33, 47, 48, 63, 64, 97}) {
      std::vector<float> values;
      for (int64_t k = 0; k < depth; ++k)
        values.push_back(std::bit_cast<float>(0x3f000000u + static_cast<uint32_t>(k) * 0x9e3779u));
      std::vector<uint32_t> words(static_cast<size_t>(bf16Words(depth)) + 1, 0xdeadbeef), same = words;
      family->round(values.data(), depth, words.data());
      roundToWords(*family, values.data(), depth, 1, same.data());
      EXPECT_EQ(words, same);
      EXPECT_EQ(words.back(), 0xdeadbeef) << family->name << " writes beyond " << depth;
      for (int64_t k = 0; k < bf16Words(depth) * 2; ++k)
        EXPECT_EQ(words[static_cast<size_t>(k / 2)] >> (k % 2 * 16) & 0xffff,
                  k < depth ? roundToBf16(values[static_cast<size_t>(k)]) : 0)
            << family->name << " " << depth << " " << k;
    }
}

TEST_F(BuiltinTest, bf16ProductsOfEveryFamily) {
  for (const Bf16Family* family : bf16Families())
    for (int64_t rows = 1; rows <= family->maxRows; ++rows)
      for (int64_t depth : {1, 2, 7, 64, 129})
        for (int64_t columns : {int64_t{1}, int64_t{family->panelWidth} - 1, int64_t{family->panelWidth}}) {
          Tensor *a = floats({rows, depth}), *b = floats({depth, columns}), *c = floats({rows, columns});
          const std::vector<float> before = data<float>(c);
          const int64_t leading = bf16Words(depth) + 3;
          std::vector<uint32_t> words(static_cast<size_t>(rows * leading)),
              packed(static_cast<size_t>(bf16ElementCount(*family, depth, columns) / 2));
          for (int64_t i = 0; i < rows; ++i)
            roundToWords(*family, a->as<float>() + i * depth, depth, 1, words.data() + i * leading);
          packBf16Panels(*family, b->as<float>(), depth, columns, columns, 1, 0, 1, packed.data());
          for (int32_t accumulate : {0, 1}) {
            std::copy(before.begin(), before.end(), c->as<float>());
            family->microKernels[rows - 1](bf16Words(depth), words.data(), leading, packed.data(),
                                           c->as<float>(), columns, columns, accumulate);
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < columns; ++j) {
                double sum =
                    accumulate ? static_cast<double>(before[static_cast<size_t>(i * columns + j)]) : 0;
                for (int64_t k = 0; k < depth; ++k)
                  sum += static_cast<double>(roundedOf(a->as<float>()[i * depth + k])) *
                         static_cast<double>(roundedOf(b->as<float>()[k * columns + j]));
                ASSERT_NEAR(c->as<float>()[i * columns + j], sum, 1e-4) << family->name << " rows " << rows;
              }
          }
        }
}

TEST_F(BuiltinTest, gemmWithBf16Weights) {
  for (ThreadPool* threads : pools_) {
    threads_ = threads;
    for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 70, 33},
                                  {2, 1, 1},
                                  {13, 131, 1700},
                                  {300, 65, 7},
                                  {0, 5, 3},
                                  {3, 0, 5},
                                  {3, 5, 0}})
      for (const bool transposed : {false, true}) {
        Tensor *a = floats({m, k}),
               *b = floats(transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}),
               *c = output({m, n});
        ASSERT_TRUE(call("gemmpack", {b}, {.numbers = {transposed ? 3 : 2}}).ok());
        Tensor* packed = result();
        ASSERT_EQ(packed->dtype, DataType::bf16);
        const Status status = call("gemm", {a, packed}, {.numbers = {4}}, {c});
        ASSERT_TRUE(status.ok()) << status.toString();
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t p = 0; p < k; ++p)
              sum += static_cast<double>(roundedOf(a->as<float>()[i * k + p])) *
                     static_cast<double>(roundedOf(b->as<float>()[transposed ? j * k + p : p * n + j]));
            ASSERT_NEAR(c->as<float>()[i * n + j], sum, 1e-3) << m << " " << n << " " << k;
          }
      }
  }
  Tensor *a = floats({2, 3}), *c = output({2, 4});
  EXPECT_EQ(
      call("gemm", {a, tensor<uint16_t>(DataType::bf16, {5}, {1, 2, 3, 4, 5})}, {.numbers = {4}}, {c}).code,
      DYN_BAD_INPUT);
}

}  // namespace
}  // namespace dyn::vm::test
