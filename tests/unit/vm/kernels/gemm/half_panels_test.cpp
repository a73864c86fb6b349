// Products whose right side stays in f16 or bf16: their bits are those of the same matrix in f32.
#include "vm/kernels/gemm/half_panels.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/kernels/halves.h"

namespace dyn::vm::test {
namespace {

using namespace kernels;

// Those with infinities, NaN and numbers below the normal ones.
std::vector<uint16_t> allHalves() {
  std::vector<uint16_t> values;
  for (int32_t bits = 0; bits < 0x10000; ++bits) values.push_back(static_cast<uint16_t>(bits));
  return values;
}

std::vector<float> widenedOf(DataType dtype, const std::vector<uint16_t>& halves) {
  std::vector<float> wide(halves.size());
  widenHalves(dtype, halves.data(), static_cast<int64_t>(halves.size()), wide.data());
  return wide;
}

testing::Matcher<float> sameAs(float value) { return testing::NanSensitiveFloatEq(value); }

TEST(HalfPanels, EachHalfIsWidenedExactlyByEveryFamily) {
  const std::vector<uint16_t> halves = allHalves();
  for (const HalfFamily* family : halfFamilies())
    for (const DataType dtype : {DataType::f16, DataType::bf16}) {
      const std::vector<float> expected = widenedOf(dtype, halves);
      const HalfMicroKernel* kernels = dtype == DataType::f16 ? family->ofF16 : family->ofBf16;
      const int64_t depth = static_cast<int64_t>(halves.size()) / family->panelWidth;
      const std::vector<float> ones(static_cast<size_t>(depth), 1.0f);
      std::vector<float> wide(halves.size()), sums(static_cast<size_t>(family->panelWidth));
      kernels[0](depth, ones.data(), depth, halves.data(), wide.data(), sums.data(), family->panelWidth,
                 family->panelWidth, 0);
      for (size_t i = 0; i < wide.size(); ++i)
        ASSERT_THAT(wide[i], sameAs(expected[i])) << family->panelWidth << " wide, half " << i;
    }
}

class HalfProducts : public BuiltinTest {
 protected:
  // Numbers between -2 and 2.
  Tensor* halves(DataType dtype, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    std::vector<uint16_t> values(static_cast<size_t>(count));
    for (uint16_t& value : values) value = static_cast<uint16_t>(random_() % 0x4000 | (random_() % 2 << 15));
    return tensor<uint16_t>(dtype, shape, values);
  }
};

constexpr int32_t kNarrow = 4, kPackedB = 4, kNarrowB = 32;  // bits of gemmpack and of gemm

TEST_F(HalfProducts, HaveTheBitsOfTheSameMatrixInF32) {
  for (ThreadPool* threads : pools_) {
    threads_ = threads;
    for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 70, 33},
                                  {2, 1, 1},
                                  {3, 65, 1100},
                                  {12, 33, 1024},
                                  {13, 131, 2100},
                                  {16, 32, 1025},
                                  {300, 65, 7},
                                  {0, 5, 3},
                                  {3, 0, 5},
                                  {3, 5, 0}})
      for (const DataType dtype : {DataType::f16, DataType::bf16})
        for (const int32_t transposed : {0, 1}) {
          const bool brief = dtype == DataType::bf16;
          const std::vector<int64_t> shape =
              transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
          Tensor *a = floats({m, k}), *b = halves(dtype, shape), *c = output({m, n}),
                 *expected = output({m, n});
          const std::vector<float> wide = widenedOf(dtype, data<uint16_t>(b));
          ASSERT_TRUE(call("gemmpack", {b}, {.numbers = {transposed | (brief ? kNarrow : 0)}}).ok());
          Tensor* packed = result();
          ASSERT_EQ(packed->dtype, dtype);
          const Status status =
              call("gemm", {a, packed}, {.numbers = {kPackedB | (brief ? kNarrowB : 0)}}, {c});
          ASSERT_TRUE(status.ok()) << status.toString();
          ASSERT_TRUE(call("gemmpack", {tensor(DataType::f32, shape, wide)}, {.numbers = {transposed}}).ok());
          ASSERT_TRUE(call("gemm", {a, result()}, {.numbers = {kPackedB}}, {expected}).ok());
          EXPECT_EQ(data<float>(c), data<float>(expected)) << m << " " << n << " " << k;
        }
  }
}

TEST_F(HalfProducts, AreThoseOfF64) {
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {1, 37, 101}, {13, 67, 1031}})
    for (const DataType dtype : {DataType::f16, DataType::bf16}) {
      const bool brief = dtype == DataType::bf16;
      Tensor *a = floats({m, k}), *b = halves(dtype, {k, n}), *c = output({m, n});
      const std::vector<float> wide = widenedOf(dtype, data<uint16_t>(b));
      ASSERT_TRUE(call("gemmpack", {b}, {.numbers = {brief ? kNarrow : 0}}).ok());
      ASSERT_TRUE(call("gemm", {a, result()}, {.numbers = {kPackedB | (brief ? kNarrowB : 0)}}, {c}).ok());
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0, sizes = 1;
          for (int64_t p = 0; p < k; ++p) {
            const double term = static_cast<double>(a->as<float>()[i * k + p]) *
                                static_cast<double>(wide[static_cast<size_t>(p * n + j)]);
            sum += term;
            sizes += std::abs(term);
          }
          ASSERT_NEAR(c->as<float>()[i * n + j], sum, sizes * 1e-6) << m << " " << n << " " << k;
        }
    }
}

TEST_F(HalfProducts, OfWhatWasNotPackedSoAreRefused) {
  Tensor *a = floats({2, 3}), *c = output({2, 4}), *b = floats({3, 4});
  const auto codeOf = [&](DataType dtype, int32_t bits) {
    return call("gemm", {a, tensor<uint16_t>(dtype, {5}, {1, 2, 3, 4, 5})}, {.numbers = {bits}}, {c}).code;
  };
  EXPECT_EQ(codeOf(DataType::f16, kPackedB), DYN_BAD_INPUT);
  EXPECT_EQ(codeOf(DataType::bf16, kPackedB | kNarrowB), DYN_BAD_INPUT);
  EXPECT_EQ(codeOf(DataType::f16, kPackedB | kNarrowB), DYN_BAD_INPUT);
  EXPECT_EQ(call("gemm", {a, b}, {.numbers = {kNarrowB}}, {c}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("gemmpack", {b}, {.numbers = {kNarrow}}).code, DYN_BAD_PROGRAM);
}

}  // namespace
}  // namespace dyn::vm::test
