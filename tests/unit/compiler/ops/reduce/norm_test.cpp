// Normalisations, resize and quantization: values by hand, then sweeps, reference against kernel.
#include <cmath>

#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {

namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using Shapes = std::vector<int64_t>;

TEST(LayerNorm, RowsAndStatistics) {
  OpCase test("layer_norm", {reals({1, 4}, {1, 2, 3, 4}), reals({4}, {1, 1, 1, 2}), reals({4}, {0, 0, 0, 1})},
              {{"epsilon", 0.0}});
  test.results = 3;
  const std::vector<Value> results = checkOp(test);
  const double d = std::sqrt(1.25);
  EXPECT_THAT(elements(results), ElementsAre(DoubleNear(-1.5 / d, 1e-6), DoubleNear(-0.5 / d, 1e-6),
                                             DoubleNear(0.5 / d, 1e-6), DoubleNear(3 / d + 1, 1e-6)));
  EXPECT_THAT(elements(results, 1), ElementsAre(2.5));
  EXPECT_THAT(elements(results, 2), ElementsAre(DoubleNear(1 / d, 1e-6)));
}

TEST(Norm, Sweep) {
  for (Shapes shape : {Shapes{2, 4, 3, 5}, {1, 4, 1, 7}, {0, 4, 2, 2}}) {
    const HostTensor x = real(shape), scale = real({4}), bias = real({4}, Dtype::f32, 2);
    const HostTensor mean = real({4}, Dtype::f32, 3), variance = real({4}, Dtype::f32, 4, 0.5, 2);
    checkOp({"layer_norm", {x, real({shape[3]}), real({shape[3]})}});
    checkOp({"layer_norm", {x, real({shape[1], shape[2], shape[3]})}, {{"axis", int64_t{1}}}});
    checkOp({"rms_norm", {x, real({shape[2], shape[3]})}, {{"axis", int64_t{2}}}});
    checkOp({"batch_norm", {x, scale, bias, mean, variance}});
    checkOp({"instance_norm", {x, scale, bias}});
    checkOp({"group_norm", {x, scale, bias}, {{"num_groups", int64_t{2}}}});
    checkOp({"lrn", {x}, {{"size", int64_t{3}}, {"alpha", 0.5}}});
    checkOp({"mean_variance_normalization", {x}});
    checkOp({"mean_variance_normalization", {x}, {{"axes", std::vector<int64_t>{1, -1}}}});
  }
  OpCase half("layer_norm", {real({3, 16}, Dtype::f16), real({16}, Dtype::f16)});
  half.tolerance = 4e-3;
  checkOp(half);
  checkOp({"batch_norm", {real({3, 4}), real({4}), real({4}), real({4}), real({4}, Dtype::f32, 1, 1, 2)}});
  EXPECT_EQ(
      inferError({"group_norm", {real({1, 3, 2}), real({3}), real({3})}, {{"num_groups", int64_t{2}}}}).id,
      DiagnosticId::shapeMismatch);
}

OpCase resizeBy(HostTensor x, std::initializer_list<double> scales, Attributes attributes) {
  OpCase test("resize", {std::move(x), std::nullopt, reals({static_cast<int64_t>(scales.size())}, scales)},
              std::move(attributes));
  test.constants = {2};
  return test;
}

TEST(Resize, ValuesByHand) {
  const HostTensor x = reals({1, 1, 2, 2}, {1, 2, 3, 4});
  const Attributes linear{{"mode", std::string("linear")}, {"axes", std::vector<int64_t>{2, 3}}};
  EXPECT_THAT(elements(checkOp(resizeBy(x, {1, 1, 1, 2}, {}))), ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(elements(checkOp(resizeBy(x, {1, 2}, linear))),
              ElementsAre(1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4));
  Attributes corners = linear;
  corners.set("coordinate_transformation_mode", std::string("align_corners"));
  OpCase sized("resize", {x, std::nullopt, std::nullopt, vec({2, 3})}, corners);
  EXPECT_THAT(elements(checkOp(sized)), ElementsAre(1, 1.5, 2, 3, 3.5, 4));
}

TEST(Resize, Sweep) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* place :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      SCOPED_TRACE(std::string(mode) + " " + place);
      const Attributes attributes{{"mode", std::string(mode)},
                                  {"coordinate_transformation_mode", std::string(place)},
                                  {"axes", std::vector<int64_t>{1, 2}}};
      checkOp(resizeBy(real({2, 5, 7}), {0.6, 1.7}, attributes));
      checkOp(resizeBy(real({1, 1, 4}), {3, 2}, attributes));
      OpCase sized("resize", {real({1, 5, 3}), std::nullopt, std::nullopt, vec({3, 8})}, attributes);
      checkOp(sized);
    }
  }
  for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
    checkOp(resizeBy(real({1, 6}), {1, 0.5}, {{"nearest_mode", std::string(nearest)}}));
  checkOp(
      resizeBy(real({1, 6}), {1, 1.5}, {{"mode", std::string("cubic")}, {"exclude_outside", int64_t{1}}}));
  OpCase crop("resize", {real({4, 6}), reals({4}, {0.2, 0.1, 0.9, 1.4}), std::nullopt, vec({3, 5})},
              {{"mode", std::string("linear")},
               {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
               {"extrapolation_value", 9.0}});
  checkOp(crop);
  OpCase larger("resize", {real({4, 6}), std::nullopt, std::nullopt, vec({8, 9})},
                {{"keep_aspect_ratio_policy", std::string("not_larger")}});
  larger.constants = {3};
  larger.dynamic = false;
  EXPECT_EQ(shapeOf(checkOp(larger)), (Shapes{6, 9}));
}

TEST(Resize, SizesOfScalesAreThoseOfSingles) {
  // 10 * 0.7f is 7 in f32, though 0.7f is less than 0.7.
  EXPECT_EQ(shapeOf(checkOp(resizeBy(real({10}), {0.7}, {}))), Shapes{7});
  EXPECT_EQ(inferError({"resize", {real({2}), std::nullopt, reals({1}, {2})}}).id,
            DiagnosticId::unsupportedFeature);
}

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  const HostTensor x = reals({6}, {0.5, 1.5, -0.5, 200, -200, 3});
  EXPECT_THAT(elements(checkOp({"quantize_linear", {x, reals({}, {1}), scalar(0, Dtype::i8)}})),
              ElementsAre(0, 2, 0, 127, -128, 3));
  EXPECT_THAT(elements(checkOp({"quantize_linear", {x, reals({}, {0.5}), scalar(10, Dtype::u8)}})),
              ElementsAre(11, 13, 9, 255, 0, 16));
  EXPECT_THAT(elements(checkOp(
                  {"dequantize_linear", {vec({1, 3}, Dtype::u8), reals({}, {0.5}), scalar(2, Dtype::u8)}})),
              ElementsAre(-0.5, 0.5));
  const Attributes axis{{"axis", int64_t{1}}};
  const HostTensor scales = reals({3}, {0.5, 0.25, 2}), zeros = vec({1, 2, 3}, Dtype::i8);
  checkOp({"quantize_linear", {real({2, 3, 5}), scales, zeros}, axis});
  checkOp({"dequantize_linear", {integers({2, 3, 5}, -128, 127, Dtype::i8), scales, zeros}, axis});
  checkOp({"dequantize_linear", {integers({2, 3}, -100000, 100000, Dtype::i32), scales}, axis});
}

TEST(Quantize, Dynamic) {
  OpCase test("dynamic_quantize_linear", {reals({6}, {0, 2, -3, -2.5, 1.34, 0.5})});
  test.results = 3;
  test.tolerance = 0;
  const std::vector<Value> results = checkOp(test);
  EXPECT_THAT(elements(results), ElementsAre(153, 255, 0, 26, 221, 179));
  EXPECT_THAT(elements(results, 1), ElementsAre(DoubleNear(0.0196078438, 1e-9)));
  EXPECT_THAT(elements(results, 2), ElementsAre(153));
}

}  // namespace
}  // namespace dyn::test
