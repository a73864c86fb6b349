// grid_sample, affine_grid, dft, deform_conv, col2im, roi_align, det, tensor_scatter, running products,
// bitcast.
#include <cmath>
#include <limits>

#include "tests/unit/compiler/ops/lowered_op.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn::test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

TEST(GridSample, CornersAndCentre) {
  const HostTensor x = reals({1, 1, 2, 2}, {1, 2, 3, 4});
  const HostTensor grid = reals({1, 1, 3, 2}, {-1, -1, 0, 0, 1, 1});
  OpCase aligned("grid_sample", {x, grid}, {{"align_corners", int64_t{1}}});
  EXPECT_THAT(elements(checkOp(aligned)), ElementsAre(1, 2.5, 4));
  // The outer edges lie half an element outside, where zeros are.
  OpCase edges("grid_sample", {x, grid});
  EXPECT_THAT(elements(checkOp(edges)), ElementsAre(0.25, 2.5, 1));
}

// What a cubic finds just beyond the border goes on as the polynomial does; the values are of PyTorch 2.15.
TEST(GridSample, CubicsBeyondTheBorder) {
  const HostTensor x = reals({1, 1, 1, 4}, {1, 2, 4, 8});
  const HostTensor grid = reals({1, 1, 4, 2}, {-0.85, 0, 0.85, 0, -3, 0, 1.1, 0});
  const auto at = [&](int64_t aligned) {
    return elements(checkOp(OpCase("grid_sample", {x, grid},
                                   {{"mode", std::string("cubic")},
                                    {"padding_mode", std::string("border")},
                                    {"align_corners", aligned}})));
  };
  EXPECT_THAT(at(0), Pointwise(DoubleNear(1e-4), {0.904000, 8.384003, 1.0, 8.189001}));
  EXPECT_THAT(at(1), Pointwise(DoubleNear(1e-4), {1.142170, 7.254758, 1.0, 8.325123}));
}

TEST(GridSample, ModesBordersAndRanksAgreeWithTheKernel) {
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* border : {"zeros", "border", "reflection"}) {
      for (int64_t aligned : {0, 1}) {
        const Attributes attributes = {
            {"mode", std::string(mode)}, {"padding_mode", std::string(border)}, {"align_corners", aligned}};
        checkOp(OpCase("grid_sample", {real({2, 3, 5, 7}), real({2, 3, 2, 2}, Dtype::f32, 2)}, attributes));
        checkOp(OpCase("grid_sample", {real({1, 1, 1, 1}), real({1, 2, 1, 2}, Dtype::f32, 3)}, attributes));
        checkOp(OpCase("grid_sample", {real({2, 1, 6}), real({2, 5, 1}, Dtype::f32, 4)}, attributes));
      }
    }
  }
  checkOp(OpCase("grid_sample", {real({1, 2, 3, 2, 4}), real({1, 2, 1, 3, 3}, Dtype::f32, 5)}));
  checkOp(OpCase("grid_sample", {real({0, 2, 3, 3}), real({0, 2, 2, 2})}));
}

// NaN reads as -1 in every mode. An infinite coordinate lies outside: zeros there, the border's elements, and
// what -1 reads where it would have to be mirrored.
TEST(GridSample, CoordinatesThatAreNoNumbers) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = HUGE_VAL;
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const std::string border : {"zeros", "border", "reflection"})
      for (int64_t aligned : {0, 1})
        for (Dtype dtype : {Dtype::f32, Dtype::f64}) {
          SCOPED_TRACE(mode + (" " + border));
          const HostTensor x = reals({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}, dtype);
          const HostTensor grid =
              reals({1, 1, 6, 2}, {-1, -1, kNaN, -1, -1, kNaN, kInf, -1, -kInf, -1, kNaN, kInf}, dtype);
          const std::vector<double> y = elements(checkOp(
              OpCase("grid_sample", {x, grid},
                     {{"mode", std::string(mode)}, {"padding_mode", border}, {"align_corners", aligned}})));
          EXPECT_EQ(y[1], y[0]);
          EXPECT_EQ(y[2], y[0]);
          const std::vector<double> infinite(y.begin() + 3, y.end());
          if (border == "zeros") {
            EXPECT_THAT(infinite, ElementsAre(0, 0, 0));
          } else if (border == "reflection") {
            EXPECT_THAT(infinite, ElementsAre(y[0], y[0], y[0]));
          } else if (std::string(mode) != "cubic") {
            EXPECT_THAT(infinite, ElementsAre(3, 1, 4));
          }
        }
}

// Far outside, where f32 has no halves any more, and where 64 bits hold no place: reference and kernel agree.
// What is mirrored is mirrored exactly: 3e9 is the place 6e9 of 4 elements, a whole number of turns of 8.
TEST(GridSample, CoordinatesFarOutside) {
  const std::vector<double> far = {1e6,  -1e6, 16777218, 3e9,  1e15,  -1e15,
                                   4e18, 1e19, -1e19,    1e30, -1e30, 3e38};
  std::vector<double> places, image;
  for (const double at : far) places.insert(places.end(), {at, 0.3, 0.3, at});
  for (int i = 1; i <= 16; ++i) image.push_back(i);
  const auto count = static_cast<int64_t>(places.size() / 2);
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const std::string border : {"zeros", "border", "reflection"})
      for (int64_t aligned : {0, 1})
        for (Dtype dtype : {Dtype::f32, Dtype::f64}) {
          SCOPED_TRACE(mode + (" " + border) + (aligned ? " aligned" : ""));
          const std::vector<double> y = elements(checkOp(
              OpCase("grid_sample",
                     {HostTensor::vectorReal(dtype, image).reshaped({1, 1, 4, 4}),
                      HostTensor::vectorReal(dtype, places).reshaped({1, 1, count, 2})},
                     {{"mode", std::string(mode)}, {"padding_mode", border}, {"align_corners", aligned}})));
          if (border == "zeros") {
            EXPECT_THAT(y, ::testing::Each(0));
          }
          if (std::string(mode) != "nearest" || aligned) continue;
          if (border == "border") {
            EXPECT_THAT(std::vector<double>(y.begin(), y.begin() + 4), ElementsAre(12, 15, 9, 3));
          } else if (border == "reflection" && dtype == Dtype::f32) {
            EXPECT_THAT(std::vector<double>(y.begin() + 6, y.begin() + 8), ElementsAre(9, 3));
          }
        }
}

TEST(GridSample, NothingToSample) {
  OpCase test("grid_sample", {real({1, 1, 0, 2}), real({1, 1, 1, 2})});
  EXPECT_THAT(inferError(test).message, HasSubstr("something to sample"));
}

TEST(AffineGrid, IdentityGivesTheRegularGrid) {
  const HostTensor identity = reals({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  OpCase corners("affine_grid", {identity, vec({1, 1, 2, 3})}, {{"align_corners", int64_t{1}}});
  EXPECT_THAT(elements(checkOp(corners)), ElementsAre(-1, -1, 0, -1, 1, -1, -1, 1, 0, 1, 1, 1));
  OpCase edges("affine_grid", {identity, vec({1, 1, 2, 1})});
  EXPECT_THAT(elements(checkOp(edges)), ElementsAre(0, -0.5, 0, 0.5));
  checkOp(OpCase("affine_grid", {real({2, 3, 4}), vec({2, 1, 2, 3, 1})}));
  EXPECT_THAT(inferError(OpCase("affine_grid", {real({1, 2, 3}), vec({1, 2, 3})})).message,
              HasSubstr("the size"));
}

// Whether the last axis holds real or complex numbers must be known.
std::vector<Value> checkDft(OpCase test) {
  test.dynamic = false;
  return checkOp(test);
}

TEST(Dft, OfAnImpulseAndBack) {
  OpCase forward("dft", {reals({1, 4, 1}, {0, 1, 0, 0})});
  EXPECT_THAT(elements(checkDft(forward)), Pointwise(DoubleNear(1e-6), {1., 0., 0., -1., -1., 0., 0., 1.}));
  OpCase back("dft", {reals({1, 4, 2}, {1, 0, 0, -1, -1, 0, 0, 1})}, {{"inverse", int64_t{1}}});
  EXPECT_THAT(elements(checkDft(back)), Pointwise(DoubleNear(1e-6), {0., 0., 1., 0., 0., 0., 0., 0.}));
}

TEST(Dft, OneSideGoesThereAndBack) {
  const HostTensor x = real({2, 7, 1});
  auto spectrum = checkDft(OpCase("dft", {x}, {{"onesided", int64_t{1}}}));
  ASSERT_THAT(shapeOf(spectrum), ElementsAre(2, 4, 2));
  OpCase back("dft", {spectrum[0].tensor(), scalar(7)}, {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}});
  auto again = checkDft(back);
  ASSERT_THAT(shapeOf(again), ElementsAre(2, 7, 1));
  EXPECT_EQ(difference(x, again[0].tensor(), 1e-5), "");
}

TEST(Dft, AxesAndLengths) {
  for (int64_t axis : {0, 1, -2, -3}) {
    checkDft(OpCase("dft", {real({3, 4, 2}), std::nullopt, scalar(axis)}));
    checkDft(OpCase("dft", {real({3, 4, 1}), scalar(5), scalar(axis)}, {{"onesided", int64_t{1}}}));
  }
  checkDft(OpCase("dft", {real({1, 6, 2}), scalar(3)}));
  checkDft(OpCase("dft", {real({0, 6, 1})}));
  OpCase ofTheParts("dft", {real({3, 4, 1}), std::nullopt, scalar(-1)});
  ofTheParts.constants = {2};
  EXPECT_THAT(inferError(ofTheParts).message, HasSubstr("not that of the parts"));
}

TEST(DeformConv, WithoutOffsetsItIsAConvolution) {
  const HostTensor x = real({2, 4, 5, 4}), w = real({6, 2, 2, 3}, Dtype::f32, 2);
  const Attributes shared = {{"group", int64_t{2}}, {"pads", std::vector<int64_t>{1, 0, 0, 1}}};
  auto plain = checkOp(OpCase("conv", {x, w}, shared));
  HostTensor none = *HostTensor::create(Dtype::f32, {2, 12, 5, 3});
  auto same = checkOp(OpCase("deform_conv", {x, w, none}, shared));
  EXPECT_EQ(difference(plain[0].tensor(), same[0].tensor(), 1e-5), "");
}

TEST(DeformConv, OffsetsMaskAndBiasAgreeWithTheKernel) {
  const Attributes attributes = {{"offset_group", int64_t{2}},
                                 {"strides", std::vector<int64_t>{2, 1}},
                                 {"dilations", std::vector<int64_t>{1, 2}}};
  checkOp(OpCase("deform_conv",
                 {real({1, 4, 5, 5}), real({3, 4, 2, 2}, Dtype::f32, 2), real({1, 16, 2, 3}, Dtype::f32, 3),
                  real({3}, Dtype::f32, 4), real({1, 8, 2, 3}, Dtype::f32, 5)},
                 attributes));
}

TEST(Col2im, AddsOverlappingWindows) {
  const HostTensor ones = reals({1, 4, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  auto image = checkOp(OpCase("col2im", {ones, vec({3, 3}), vec({2, 2})}));
  EXPECT_THAT(shapeOf(image), ElementsAre(1, 1, 3, 3));
  EXPECT_THAT(elements(image), ElementsAre(1, 2, 1, 2, 4, 2, 1, 2, 1));
  OpCase wrong("col2im", {ones, vec({4, 3}), vec({2, 2})});
  EXPECT_THAT(runError(wrong).message, HasSubstr("places"));
  wrong.constants = {1, 2};
  EXPECT_THAT(inferError(wrong).message, HasSubstr("places"));
}

TEST(RoiAlign, MeanOfAWholePlane) {
  const HostTensor x = reals({1, 1, 2, 2}, {1, 2, 3, 4});
  const Attributes attributes = {{"coordinate_transformation_mode", std::string("output_half_pixel")},
                                 {"sampling_ratio", int64_t{1}}};
  auto cells = checkOp(OpCase("roi_align", {x, reals({1, 4}, {0, 0, 1, 1}), vec({0})}, attributes));
  EXPECT_THAT(elements(cells), ElementsAre(2.5));
  OpCase wrong("roi_align", {x, reals({1, 4}, {0, 0, 1, 1}), vec({3})}, attributes);
  EXPECT_THAT(runError(wrong).message, HasSubstr("out of range"));
}

TEST(RoiAlign, RegionsOfNoUsableSize) {
  const HostTensor x = reals({1, 1, 2, 2}, {1, 2, 3, 4});
  for (const double end : {1e30, 1e8, HUGE_VAL, std::nan("")}) {
    OpCase test("roi_align", {x, reals({1, 4}, {0, 0, 1, end}), vec({0})});
    EXPECT_THAT(runError(test).message, HasSubstr("no usable size")) << end;
  }
}

// A scale beside sizes may be any positive number, so that places are none.
TEST(Resize, TinyScalesBesideSizes) {
  for (const char* places : {"half_pixel_symmetric", "half_pixel", "asymmetric"})
    for (const double scale : {1e-45, 1e-30, 3e38}) {
      const Attributes attributes = {{"coordinate_transformation_mode", std::string(places)}};
      checkOp(OpCase("resize", {real({3}), std::nullopt, reals({1}, {scale}), vec({7})}, attributes));
    }
  OpCase filtered("resize", {real({3}), std::nullopt, reals({1}, {1e-30}), vec({7})},
                  {{"mode", std::string("linear")}, {"antialias", int64_t{1}}});
  EXPECT_THAT(runError(filtered).message, HasSubstr("is too small for an axis of 3"));
}

TEST(Resize, ProportionsOfSizesBeyondAllNumbers) {
  OpCase test("resize", {real({1, 4}), std::nullopt, std::nullopt, vec({INT64_MAX, 4})},
              {{"keep_aspect_ratio_policy", std::string("not_smaller")}});
  test.constants = {3};
  test.dynamic = false;
  EXPECT_THAT(inferError(test).message, HasSubstr("cannot be resized"));
}

TEST(Det, SmallMatrices) {
  EXPECT_THAT(elements(checkOp(OpCase("det", {reals({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0})}))),
              ElementsAre(-2, -1));
  EXPECT_THAT(elements(checkOp(OpCase("det", {reals({1, 0, 0}, {})}))), ElementsAre(1));
  EXPECT_THAT(elements(checkOp(OpCase("det", {reals({3, 3}, {0, 0, 2, 0, 3, 0, 4, 0, 0})}))),
              ElementsAre(-24));
}

TEST(TensorScatter, EachBatchAtItsOwnPlace) {
  const HostTensor past = reals({2, 3, 1}, {1, 2, 3, 4, 5, 6}), update = reals({2, 2, 1}, {-1, -2, -3, -4});
  EXPECT_THAT(elements(checkLowered(OpCase("tensor_scatter", {past, update, vec({1, 0})}))),
              ElementsAre(1, -1, -2, -3, -4, 6));
  OpCase circular("tensor_scatter", {past, update, vec({2, 0})}, {{"mode", std::string("circular")}});
  EXPECT_THAT(elements(checkLowered(circular)), ElementsAre(-2, 2, -1, -3, -4, 6));
  OpCase outside("tensor_scatter", {past, update, vec({2, 0})});
  EXPECT_THAT(runError(outside).message, HasSubstr("out of range"));
  EXPECT_EQ(loweredFault(outside), DYN_KERNEL_INDEX_OUT_OF_RANGE);
}

TEST(Cumprod, ExclusiveAndReverse) {
  const HostTensor x = reals({4}, {1, 2, 3, 4});
  EXPECT_THAT(elements(checkOp(OpCase("cumprod", {x, scalar(0)}))), ElementsAre(1, 2, 6, 24));
  EXPECT_THAT(elements(checkOp(
                  OpCase("cumprod", {x, scalar(0)}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}))),
              ElementsAre(24, 12, 4, 1));
}

TEST(Bitcast, BitsStay) {
  EXPECT_THAT(elements(checkOp(OpCase("bitcast", {reals({2}, {1, -2})}, {{"to", Dtype::u32}}))),
              ElementsAre(0x3f800000, 0xc0000000));
  EXPECT_THAT(inferError(OpCase("bitcast", {reals({1}, {1})}, {{"to", Dtype::i64}})).message,
              HasSubstr("differ in size"));
}

}  // namespace
}  // namespace dyn::test
