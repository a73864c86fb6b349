// roi_align and col2im in scratch memory that is stated before: more samples than have room there, any rank
// of images, nothing to do.
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
