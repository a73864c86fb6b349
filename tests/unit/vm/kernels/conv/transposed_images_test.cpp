// Transposed convolutions: weights that are no finite numbers, and small images of a batch.
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;

class TransposedImagesTest : public BuiltinTest {};

// A weight that is no finite number is met by input only.
TEST_F(TransposedImagesTest, infiniteWeightsStayWhereTheyAre) {
  const float inf = std::numeric_limits<float>::infinity();
  Tensor *x = tensor<float>(DataType::f32, {1, 1, 2, 2}, {1, 2, 3, 4}),
         *w = tensor<float>(DataType::f32, {1, 1, 1, 2}, {1, inf}), *y = output({1, 1, 2, 3});
  ASSERT_TRUE(call("conv_transpose", {x, w}, {.scalars = {0, 0}, .numbers = {2, 1, 1, 1, 1, 1}}, {y}).ok());
  EXPECT_THAT(data<float>(y), ElementsAre(1, inf, inf, 3, inf, inf));
  // More weights than positions: they stand in the lanes.
  std::vector<float> weights(16, 1);
  weights[1] = weights[14] = inf;
  Tensor *many = tensor<float>(DataType::f32, {1, 8, 1, 2}, weights), *planes = output({1, 8, 2, 3});
  ASSERT_TRUE(
      call("conv_transpose", {x, many}, {.scalars = {0, 0}, .numbers = {2, 1, 1, 1, 1, 1}}, {planes}).ok());
  const std::vector<float> all = data<float>(planes);
  EXPECT_EQ(std::vector<float>(all.begin(), all.begin() + 12),
            (std::vector<float>{1, inf, inf, 3, inf, inf, 1, 3, 2, 3, 7, 4}));
  EXPECT_EQ(std::vector<float>(all.end() - 6, all.end()), (std::vector<float>{inf, inf, 2, inf, inf, 4}));
  // Rows long enough that they are multiplied one by one.
  Tensor *longer = tensor<float>(DataType::f32, {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
         *long8 = output({1, 8, 2, 5});
  ASSERT_TRUE(
      call("conv_transpose", {longer, many}, {.scalars = {0, 0}, .numbers = {2, 1, 1, 1, 1, 1}}, {long8})
          .ok());
  const std::vector<float> rows = data<float>(long8);
  EXPECT_EQ(std::vector<float>(rows.begin(), rows.begin() + 10),
            (std::vector<float>{1, inf, inf, inf, inf, 5, inf, inf, inf, inf}));
  EXPECT_EQ(std::vector<float>(rows.end() - 10, rows.end()),
            (std::vector<float>{inf, inf, inf, inf, 4, inf, inf, inf, inf, 8}));
}

// Small images are done together: each has the bits that it has alone, also beside weights that are no finite
// numbers.
TEST_F(TransposedImagesTest, transposedImagesOfABatchHaveTheBitsOfImagesAlone) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  };
  const auto bitsOf = [](float value) {
    return std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
  };
  for (int round = 0; round < 120; ++round) {
    threads_ = pools_[round % 3];
    const int64_t rank = pick(1, 2), groups = pick(1, 2), channels = pick(1, 20), batch = pick(2, 30),
                  filters = pick(1, round % 3 == 0 ? 3 : 40);
    std::vector<int64_t> xs{groups * channels}, ws{groups * channels, filters}, ys{groups * filters}, pads;
    std::vector<int32_t> strides, dilations,
        numbers{static_cast<int32_t>(rank), static_cast<int32_t>(groups)};
    for (int64_t axis = 0; axis < rank; ++axis) {
      // At a stride of one it is a convolution, whose way goes by the images of the call.
      const int64_t stride = pick(axis == 0 ? 2 : 1, 3), dilation = pick(1, 2), kernel = pick(1, 4),
                    pad = pick(0, 1), in = pick(1, 9);
      xs.push_back(in), ws.push_back(kernel), pads.push_back(pad);
      ys.push_back(std::max<int64_t>(1, (in - 1) * stride + dilation * (kernel - 1) + 1 - 2 * pad));
      strides.push_back(static_cast<int32_t>(stride)), dilations.push_back(static_cast<int32_t>(dilation));
    }
    numbers.insert(numbers.end(), strides.begin(), strides.end());
    numbers.insert(numbers.end(), dilations.begin(), dilations.end());
    const auto images = [](int64_t count, std::vector<int64_t> shape) {
      shape.insert(shape.begin(), count);
      return shape;
    };
    Tensor *x = floats(images(batch, xs)), *w = floats(ws), *y = output(images(batch, ys)),
           *bias = round % 2 ? floats({groups * filters}) : nullptr, *one = output(images(1, xs)),
           *alone = output(images(1, ys));
    if (round % 4 == 0) w->as<float>()[pick(0, w->elementCount - 1)] = std::numeric_limits<float>::infinity();
    Status status = call("conv_transpose", {x, w, bias}, {.scalars = pads, .numbers = numbers}, {y});
    ASSERT_TRUE(status.ok()) << status.toString();
    for (int64_t n = 0; n < batch; ++n) {
      std::copy_n(x->as<float>() + n * one->elementCount, one->elementCount, one->as<float>());
      status = call("conv_transpose", {one, w, bias}, {.scalars = pads, .numbers = numbers}, {alone});
      ASSERT_TRUE(status.ok()) << status.toString();
      for (int64_t i = 0; i < alone->elementCount; ++i)
        ASSERT_EQ(bitsOf(y->as<float>()[n * alone->elementCount + i]), bitsOf(alone->as<float>()[i]))
            << "round " << round << ", " << groups << " groups of " << channels << " channels and " << filters
            << " filters, " << testing::PrintToString(xs) << testing::PrintToString(ws) << ", image " << n
            << " of " << batch << ", at " << i;
    }
  }
}

}  // namespace
}  // namespace dyn::vm::test
