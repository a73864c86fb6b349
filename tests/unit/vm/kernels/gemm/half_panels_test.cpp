// Products whose right side stays in f16: their bits are those of the same matrix in f32.
#include "vm/kernels/gemm/half_panels.h"

#include <gmock/gmock.h>

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

std::vector<float> widenedOf(const std::vector<uint16_t>& halves) {
  std::vector<float> wide(halves.size());
  widenHalves(DataType::f16, halves.data(), static_cast<int64_t>(halves.size()), wide.data());
  return wide;
}

testing::Matcher<float> sameAs(float value) { return testing::NanSensitiveFloatEq(value); }

TEST(HalfPanels, EachHalfIsWidenedExactlyByEveryFamily) {
  const std::vector<uint16_t> halves = allHalves();
  const std::vector<float> expected = widenedOf(halves);
  for (const HalfFamily* family : halfFamilies()) {
    const int64_t depth = static_cast<int64_t>(halves.size()) / family->panelWidth;
    const std::vector<float> ones(static_cast<size_t>(depth), 1.0f);
    std::vector<float> wide(halves.size()), sums(static_cast<size_t>(family->panelWidth));
    family->microKernels[0](depth, ones.data(), depth, halves.data(), wide.data(), sums.data(),
                            family->panelWidth, family->panelWidth, 0);
    for (size_t i = 0; i < wide.size(); ++i)
      ASSERT_THAT(wide[i], sameAs(expected[i])) << family->panelWidth << " wide, half " << i;
  }
}

class HalfProducts : public BuiltinTest {
 protected:
  // Numbers between -2 and 2.
  Tensor* halves(const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    std::vector<uint16_t> values(static_cast<size_t>(count));
    for (uint16_t& value : values) value = static_cast<uint16_t>(random_() % 0x4000 | (random_() % 2 << 15));
    return tensor<uint16_t>(DataType::f16, shape, values);
  }
};

TEST_F(HalfProducts, HaveTheBitsOfTheSameMatrixInF32) {
  for (ThreadPool* threads : std::initializer_list<ThreadPool*>{&single_, &three_, &many_}) {
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
      for (const bool transposed : {false, true}) {
        const std::vector<int64_t> shape =
            transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
        Tensor *a = floats({m, k}), *b = halves(shape), *c = output({m, n}), *expected = output({m, n});
        const std::vector<float> wide = widenedOf(data<uint16_t>(b));
        ASSERT_TRUE(call("gemmpack", {b}, {.numbers = {transposed ? 1 : 0}}).ok());
        Tensor* packed = result();
        ASSERT_EQ(packed->dtype, DataType::f16);
        const Status status = call("gemm", {a, packed}, {.numbers = {4}}, {c});
        ASSERT_TRUE(status.ok()) << status.toString();
        ASSERT_TRUE(
            call("gemmpack", {tensor(DataType::f32, shape, wide)}, {.numbers = {transposed ? 1 : 0}}).ok());
        ASSERT_TRUE(call("gemm", {a, result()}, {.numbers = {4}}, {expected}).ok());
        EXPECT_EQ(data<float>(c), data<float>(expected)) << m << " " << n << " " << k;
      }
  }
  Tensor *a = floats({2, 3}), *c = output({2, 4});
  EXPECT_EQ(
      call("gemm", {a, tensor<uint16_t>(DataType::f16, {5}, {1, 2, 3, 4, 5})}, {.numbers = {4}}, {c}).code,
      DYN_BAD_INPUT);
}

}  // namespace
}  // namespace dyn::vm::test
