// roi_align and col2im in scratch memory that is stated before: more samples than have room there, any rank
// of images, nothing to do.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/shared/dyn_builtin_calls.h"

namespace dyn::vm::test {
namespace {

class ImageTest : public BuiltinTest {
 protected:
  Tensor* integers(const std::vector<int64_t>& values) {
    return tensor(DataType::i64, {static_cast<int64_t>(values.size())}, values);
  }
};

// A ramp is what lies between its elements, so the mean over a cell is the ramp at the cell's centre, however
// many samples are taken.
TEST_F(ImageTest, RegionsWithManySamplesInACell) {
  constexpr int64_t kSize = 96;
  std::vector<double> ramp(kSize * kSize);
  for (int64_t i = 0; i < kSize * kSize; ++i)
    ramp[static_cast<size_t>(i)] = static_cast<double>(i % kSize + 3 * (i / kSize));
  Tensor* x = tensor(DataType::f64, {1, 1, kSize, kSize}, ramp);
  for (const double size : {2.0, 7.0, 16.0, 90.0})
    for (const int32_t samples : {0, 1, 3, 40}) {
      Tensor *regions = tensor<double>(DataType::f64, {1, 4}, {2, 1, 2 + size, 1 + size}),
             *y = output({1, 1, 2, 3}, DataType::f64);
      calls::RoiAlign::Numbers<calls::Owned> n;
      n.scale = 1, n.samples = samples;
      const Status status = call("roi_align", {x, regions, integers({0})},
                                 {.numbers = calls::writeNumbers<calls::RoiAlign>(n)}, {y});
      ASSERT_TRUE(status.ok()) << status.toString();
      for (int64_t cell = 0; cell < 6; ++cell) {
        const double column = 2 + (static_cast<double>(cell % 3) + 0.5) * size / 3,
                     row = 1 + (static_cast<double>(cell / 3) + 0.5) * size / 2;
        EXPECT_NEAR(y->as<double>()[cell], column + 3 * row, 1e-9) << size << ", " << samples << ", " << cell;
      }
    }
}

// A region that ends far before it begins has no samples.
TEST_F(ImageTest, ARegionThatEndsBeforeItBegins) {
  Tensor* x = floats({1, 1, 4, 4});
  for (const float end : {-1.0F, -1e30F}) {
    Tensor *regions = tensor<float>(DataType::f32, {1, 4}, {2, 1, end, end}), *y = output({1, 1, 2, 2});
    calls::RoiAlign::Numbers<calls::Owned> n;
    n.scale = 1, n.halfPixel = 1;
    const Status status = call("roi_align", {x, regions, integers({0})},
                               {.numbers = calls::writeNumbers<calls::RoiAlign>(n)}, {y});
    ASSERT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(data<float>(y), std::vector<float>(4, 0)) << end;
  }
}

// A tiny scale beside sizes makes places that are no numbers, and filters of endless length.
TEST_F(ImageTest, ResizeByATinyScale) {
  Tensor* x = tensor<float>(DataType::f32, {3}, {1, 2, 4});
  for (const float scale : {1e-45F, 1e-30F, 3e38F})
    for (const int32_t mode : {0, 1, 2})
      for (const int32_t grid : {0, 1, 2, 3, 4, 6}) {
        Tensor *scales = tensor<float>(DataType::f32, {1}, {scale}), *y = output({7});
        calls::Resize::Numbers<calls::Owned> n;
        n.mode = mode, n.grid = grid, n.axes = {0};
        const Status status =
            call("resize", {x, nullptr, scales}, {.numbers = calls::writeNumbers<calls::Resize>(n)}, {y});
        ASSERT_TRUE(status.ok()) << status.toString();
        for (int64_t i = 0; mode == 0 && i < 7; ++i) {
          const float element = y->as<float>()[i];
          EXPECT_TRUE(element == 1 || element == 2 || element == 4)
              << scale << ", " << grid << ": " << element;
        }
      }
  calls::Resize::Numbers<calls::Owned> n;
  n.mode = 1, n.antialias = 1, n.axes = {0};
  const Status status = call("resize", {x, nullptr, tensor<float>(DataType::f32, {1}, {1e-30F})},
                             {.numbers = calls::writeNumbers<calls::Resize>(n)}, {output({7})});
  EXPECT_EQ(status.code, DYN_BAD_INPUT);
  EXPECT_NE(status.toString().find("too small for an axis of 3"), std::string::npos) << status.toString();
}

// Of regions of one sample a cell, few samples and more than have room in a table.
TEST_F(ImageTest, TheLargestOfWhatPixelsGive) {
  constexpr int64_t kSize = 13, kChannels = 3, kRows = 3, kColumns = 4;
  std::vector<float> pixels(kChannels * kSize * kSize);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50);
  Tensor* x = tensor(DataType::f32, {1, kChannels, kSize, kSize}, pixels);
  for (const float size : {2.0F, 9.0F, 30.0F})
    for (const int32_t samples : {1, 2, 3, 40}) {
      Tensor *regions = tensor<float>(DataType::f32, {1, 4}, {2, 1, 2 + size, 1 + size}),
             *y = output({1, kChannels, kRows, kColumns});
      calls::RoiAlign::Numbers<calls::Owned> n;
      n.scale = 1, n.samples = samples, n.largest = 1;
      const Status status = call("roi_align", {x, regions, integers({0})},
                                 {.numbers = calls::writeNumbers<calls::RoiAlign>(n)}, {y});
      ASSERT_TRUE(status.ok()) << status.toString();
      // Low and high pixel of a sample, and their weights.
      struct Place {
        int64_t low = 0, high = 0;
        float lowWeight = 0, highWeight = 0;
      };
      const auto placeOf = [&](double begin, int64_t cell, int64_t cells, int64_t k) {
        const double length = static_cast<double>(size) / static_cast<double>(cells);
        double at = begin + static_cast<double>(cell) * length +
                    (static_cast<double>(k) + 0.5) * length / static_cast<double>(samples);
        if (at < -1 || at > kSize) return Place();
        at = std::max(at, 0.0);
        const auto low = static_cast<int64_t>(at);
        if (low >= kSize - 1) return Place{kSize - 1, kSize - 1, 1, 0};
        const double part = at - static_cast<double>(low);
        return Place{low, low + 1, static_cast<float>(1 - part), static_cast<float>(part)};
      };
      for (int64_t channel = 0; channel < kChannels; ++channel)
        for (int64_t cell = 0; cell < kRows * kColumns; ++cell) {
          float largest = std::numeric_limits<float>::lowest();
          for (int64_t i = 0; i < samples; ++i)
            for (int64_t k = 0; k < samples; ++k) {
              const Place v = placeOf(1, cell / kColumns, kRows, i),
                          h = placeOf(2, cell % kColumns, kColumns, k);
              const float* plane = pixels.data() + channel * kSize * kSize;
              for (const auto& [row, above] : {std::pair{v.low, v.lowWeight}, {v.high, v.highWeight}})
                for (const auto& [column, left] : {std::pair{h.low, h.lowWeight}, {h.high, h.highWeight}})
                  largest = std::max(largest, above * left * plane[row * kSize + column]);
            }
          EXPECT_EQ(y->as<float>()[channel * kRows * kColumns + cell], largest)
              << size << ", " << samples << ", " << channel << ", " << cell;
        }
    }
}

// By weights that are no short binary fractions: in f64, rows first, cut at the decimal point, as the
// standard's evaluator does.
TEST_F(ImageTest, IntegersBetweenPixelsAreCut) {
  constexpr int64_t kRows = 5, kColumns = 7, kOutRows = 9, kOutColumns = 12;
  std::vector<uint8_t> pixels(kRows * kColumns);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<uint8_t>(i % 3 == 0 ? 100 : i * 71 % 256);
  Tensor *x = tensor(DataType::u8, {1, kRows, kColumns}, pixels),
         *y = output({1, kOutRows, kOutColumns}, DataType::u8);
  calls::Resize::Numbers<calls::Owned> n;
  n.mode = 1, n.axes = {1, 2};
  const Status status = call("resize", {x, nullptr}, {.numbers = calls::writeNumbers<calls::Resize>(n)}, {y});
  ASSERT_TRUE(status.ok()) << status.toString();
  struct Place {
    int64_t low = 0, high = 0;
    double part = 0;
  };
  const auto placeOf = [](int64_t i, int64_t in, int64_t out) {
    const double at = (static_cast<double>(i) + 0.5) / (static_cast<double>(out) / static_cast<double>(in)) -
                      0.5,
                 base = std::floor(at);
    const auto inside = [&](double place) {
      return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(in - 1)));
    };
    return Place{inside(base), inside(base + 1), at - base};
  };
  for (int64_t row = 0; row < kOutRows; ++row)
    for (int64_t column = 0; column < kOutColumns; ++column) {
      const Place v = placeOf(row, kRows, kOutRows), h = placeOf(column, kColumns, kOutColumns);
      const auto blended = [&](int64_t at) {
        const double above = pixels[static_cast<size_t>(v.low * kColumns + at)],
                     below = pixels[static_cast<size_t>(v.high * kColumns + at)];
        return (1 - v.part) * above + v.part * below;
      };
      const double sum = (1 - h.part) * blended(h.low) + h.part * blended(h.high);
      EXPECT_EQ(y->as<uint8_t>()[row * kOutColumns + column], static_cast<uint8_t>(sum))
          << row << ", " << column;
    }
}

// Windows of one element that do not overlap put every column where it came from.
TEST_F(ImageTest, ColumnsOfImagesOfAnyRank) {
  for (const int64_t rank : {1, 2, 3, 4})
    for (const int64_t batch : {0, 1, 2}) {
      const auto axes = static_cast<size_t>(rank);
      const std::vector<int64_t> sizes(axes, 3), ones(axes, 1);
      std::vector<int64_t> shape = {batch, 2};
      shape.insert(shape.end(), sizes.begin(), sizes.end());
      int64_t places = 1;
      for (int64_t size : sizes) places *= size;
      Tensor *x = floats({batch, 2, places}), *y = output(shape);
      calls::Col2im::Numbers<calls::Owned> n;
      n.strides = n.dilations = calls::Owned(axes, 1);
      n.pads = n.padsBehind = calls::Owned(axes, 0);
      Status status = call("col2im", {x, integers(sizes), integers(ones)},
                           {.numbers = calls::writeNumbers<calls::Col2im>(n)}, {y});
      ASSERT_TRUE(status.ok()) << rank << ": " << status.toString();
      EXPECT_EQ(data<float>(y), data<float>(x)) << rank;
      // With a step of two every other element gets one, all others none.
      n.strides = calls::Owned(axes, 2);
      int64_t few = 1;
      for (size_t i = 0; i < axes; ++i) few *= 2;
      Tensor *less = floats({batch, 2, few}), *spread = output(shape);
      status = call("col2im", {less, integers(sizes), integers(ones)},
                    {.numbers = calls::writeNumbers<calls::Col2im>(n)}, {spread});
      ASSERT_TRUE(status.ok()) << rank << ": " << status.toString();
      double sum = 0, sumSpread = 0;
      for (float value : data<float>(less)) sum += static_cast<double>(value);
      for (float value : data<float>(spread)) sumSpread += static_cast<double>(value);
      EXPECT_NEAR(sum, sumSpread, 1e-5) << rank;
    }
}

}  // namespace
}  // namespace dyn::vm::test
