// Convolutions of small images in planes, many of them in one call: what their kernels keep from image to
// image, channels that do not fill vectors, and epilogues that see whole planes as one row.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/shared/dyn_epilogue_form.h"

namespace dyn::vm::test {
namespace {

struct SmallCase {
  int64_t batch, groups, channels, filters, rows, columns, kernel, stride, dilation, pad;

  int64_t outputs(int64_t size) const { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
  bool hasOutput() const {
    return std::min(rows, columns) + 2 * pad > dilation * (kernel - 1) && rows > 0 && columns > 0;
  }
};

class SmallImagesTest : public BuiltinTest {
 protected:
  double naive(const SmallCase& s, const Tensor* x, const Tensor* w, const Tensor* bias, int64_t at) const {
    const int64_t height = s.outputs(s.rows), width = s.outputs(s.columns), plane = height * width,
                  filter = at / plane % (s.groups * s.filters), image = at / plane / (s.groups * s.filters),
                  top = at % plane / width * s.stride - s.pad, left = at % width * s.stride - s.pad;
    double sum = static_cast<double>(bias->as<float>()[filter]);
    for (int64_t channel = 0; channel < s.channels; ++channel)
      for (int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
        const int64_t row = top + tap / s.kernel * s.dilation, column = left + tap % s.kernel * s.dilation,
                      from = (image * s.groups + filter / s.filters) * s.channels + channel;
        if (row < 0 || row >= s.rows || column < 0 || column >= s.columns) continue;
        sum +=
            static_cast<double>(x->as<float>()[(from * s.rows + row) * s.columns + column]) *
            static_cast<double>(w->as<float>()[(filter * s.channels + channel) * s.kernel * s.kernel + tap]);
      }
    return sum;
  }

  // By one way, for each number of threads: the naive sums, and the same bits.
  void expectSums(const SmallCase& s, kernels::Way way) {
    std::vector<int32_t> numbers{2 + 8 * (static_cast<int32_t>(way) + 1), static_cast<int32_t>(s.groups)};
    for (const int64_t value : {s.stride, s.stride, s.dilation, s.dilation})
      numbers.push_back(static_cast<int32_t>(value));
    Tensor *x = floats({s.batch, s.groups * s.channels, s.rows, s.columns}),
           *w = floats({s.groups * s.filters, s.channels, s.kernel, s.kernel}),
           *bias = floats({s.groups * s.filters}), *first = nullptr;
    ASSERT_TRUE(call("conv_pack", {w}, {.numbers = numbers}).ok());
    Tensor* packed = result(0);
    for (const int64_t size : {s.groups * s.filters, s.channels, s.kernel, s.kernel})
      numbers.push_back(static_cast<int32_t>(size));
    for (ThreadPool* threads : pools_) {
      threads_ = threads;
      Tensor* y = output({s.batch, s.groups * s.filters, s.outputs(s.rows), s.outputs(s.columns)});
      const Status status =
          call("conv_packed", {x, packed, bias}, {.scalars = {s.pad, s.pad}, .numbers = numbers}, {y});
      ASSERT_TRUE(status.ok()) << status.toString();
      if (!first) first = y;
      for (int64_t i = 0; i < y->elementCount; ++i) {
        ASSERT_EQ(y->as<float>()[i], first->as<float>()[i]);
        ASSERT_NEAR(y->as<float>()[i], naive(s, x, w, bias, i), 1e-4)
            << s.batch << " images of " << s.groups << " x " << s.channels << " channels, " << s.rows << " x "
            << s.columns << ", window " << s.kernel << ", stride " << s.stride << ", at " << i;
      }
    }
  }
};

// Whole groups of lanes, and every number of channels behind them, at sizes of either side of each rule.
TEST_F(SmallImagesTest, depthwiseChannelsThatDoNotFillVectors) {
  for (const int64_t channels : {1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 31, 37})
    for (const int64_t size : {1, 2, 3, 4, 7, 13, 23})
      for (const int64_t kernel : {3, 5})
        for (const int64_t stride : {1, 2})
          expectSums({2, channels, 1, 1, size, size, kernel, stride, 1, kernel / 2}, kernels::Way::rows);
}

TEST_F(SmallImagesTest, depthwiseWindowsThatReachFarOrNowhere) {
  for (const int64_t channels : {5, 19, 32})
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 5}, {5, 1}, {3, 11}, {11, 3}, {7, 37}})
      for (const int64_t dilation : {1, 2, 5})
        for (const int64_t pad : {0, 1, 4, 6})
          for (const int64_t batch : {0, 3})
            for (const int64_t stride : {1, 3})
              if (const SmallCase s{batch, channels, 1, 1, rows, columns, 3, stride, dilation, pad};
                  s.hasOutput())
                expectSums(s, kernels::Way::rows);
}

// One tile for all places of an image, tiles of rows, and images in the rows of tiles.
TEST_F(SmallImagesTest, directWindowsOverAFewPlaces) {
  for (const int64_t groups : {1, 3})
    for (const int64_t channels : {1, 5, 17})
      for (const int64_t filters : {31, 32, 48})
        for (const int64_t size : {1, 2, 3, 4, 5, 7})
          for (const int64_t stride : {1, 2})
            for (const int64_t batch : {1, 2, 5})
              expectSums({batch, groups, channels, filters, size, size, 3, stride, 1, 1},
                         kernels::Way::direct);
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{2, 3}, {3, 2}, {1, 4}, {4, 3}, {2, 7}})
    for (const int64_t pad : {0, 1, 2})
      if (const SmallCase s{3, 2, 6, 37, rows, columns, 3, 1, 1, pad}; s.hasOutput())
        expectSums(s, kernels::Way::direct);
}

// y = 2 y + addend[0], where rows are scalars[0] long; how many rows it saw goes to `seen`.
int32_t doubleAndAdd(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end, void*) {
  const float* addend = static_cast<const float*>(buffers[0]);
  auto *y = static_cast<float*>(buffers[1]), *seen = static_cast<float*>(buffers[2]);
  for (int64_t row = begin; row < end; ++row) {
    *seen += 1;
    for (int64_t at = row * scalars[0] + scalars[1]; at < row * scalars[0] + scalars[2]; ++at)
      y[at] = 2 * y[at] + addend[0];
  }
  return DYN_KERNEL_OK;
}

TEST_F(SmallImagesTest, evenEpiloguesSeeWholePlanesAsOneRow) {
  const KernelRow row{"double_and_add", "double_and_add", 3, 3, 3, 0, ""};
  for (const int64_t size : {1, 2, 3})
    for (const kernels::Way way : {kernels::Way::staged, kernels::Way::direct}) {
      std::vector<int32_t> numbers{2 + 8 * (static_cast<int32_t>(way) + 1), 1, 1, 1, 1, 1};
      Tensor *x = floats({4, 7, size, size}), *w = floats({37, 7, 1, 1}), *addend = floats({1});
      ASSERT_TRUE(call("conv_pack", {w}, {.numbers = numbers}).ok());
      Tensor* packed = result(0);
      for (const int32_t of : {37, 7, 1, 1}) numbers.push_back(of);
      float rows[2];
      Tensor* made[2];
      for (const bool even : {false, true}) {
        threads_ = pools_[0];
        std::vector<int32_t> all = numbers;
        all.push_back(EpilogueNumber{1, {.even = even}}.number());
        Tensor *y = output({4, 37, size, size}), *seen = output({1});
        *seen->as<float>() = 0;
        const Status status =
            call("conv_packed", {x, packed, nullptr, addend},
                 {.scalars = {0, 0, size * size}, .numbers = all, .kernels = {doubleAndAdd}, .rows = {row}},
                 {y, seen});
        ASSERT_TRUE(status.ok()) << status.toString();
        rows[even ? 1 : 0] = *seen->as<float>();
        made[even ? 1 : 0] = y;
      }
      for (int64_t i = 0; i < made[0]->elementCount; ++i)
        ASSERT_EQ(made[0]->as<float>()[i], made[1]->as<float>()[i]) << "at " << i;
      EXPECT_EQ(rows[0], 4 * 37.0f);
      EXPECT_LE(rows[1], 4 * 5.0f) << "panels have 8 filters or more; size " << size << ", way "
                                   << static_cast<int32_t>(way);
    }
}

}  // namespace
}  // namespace dyn::vm::test
