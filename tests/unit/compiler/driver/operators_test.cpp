// Operators that come with a builtin or a lowering of their own, compiled and interpreted: one artefact, many
// shapes.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

HostTensor f32(std::vector<int64_t> shape, uint32_t seed = 1) {
  return randomTensor(Dtype::f32, std::move(shape), seed);
}
HostTensor sizes(std::initializer_list<int64_t> values) {
  return HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>(values));
}
HostTensor number(int64_t value) { return HostTensor::scalarInt(Dtype::i64, value); }

TEST(Operators, gridSample) {
  for (const char* options : {"mode = \"linear\"", "mode = \"nearest\", padding_mode = \"border\"",
                              "mode = \"cubic\", padding_mode = \"reflection\", align_corners = 1"}) {
    const std::string text =
        "fn @main(%x: Tensor[(n, c, h, w), f32], %g: Tensor[(n, a, b, 2), f32]) { %y = grid_sample(%x, %g) "
        "{" +
        std::string(options) + "} return %y }";
    expectSame(text, {{f32({2, 3, 5, 7}), f32({2, 3, 4, 2}, 2)},
                      {f32({1, 1, 1, 1}), f32({1, 1, 2, 2}, 3)},
                      {f32({2, 0, 3, 3}), f32({2, 2, 2, 2}, 4)},
                      {f32({1, 2, 13, 11}), f32({1, 7, 5, 2}, 5)}});
  }
}

TEST(Operators, affineGridOfARunTimeSize) {
  expectSame(
      "fn @main(%t: Tensor[(n, 2, 3), f32], %s: Tensor[(4), i64]) { %y = affine_grid(%t, %s) {align_corners "
      "= 1} return %y }",
      {{f32({2, 2, 3}), sizes({2, 1, 3, 5})},
       {f32({1, 2, 3}), sizes({1, 3, 1, 1})},
       {f32({1, 2, 3}), sizes({1, 3, 0, 2})}});
}

TEST(Operators, transformAlongARunTimeAxis) {
  expectSame("fn @main(%x: Tensor[(n, m, 2), f32], %a: Tensor[(), i64]) { %y = dft(%x, _, %a) return %y }",
             {{f32({3, 5, 2}), number(0)},
              {f32({3, 5, 2}), number(1)},
              {f32({1, 7, 2}), number(-2)},
              {f32({4, 1, 2}), number(-3)},
              {f32({3, 5, 2}), number(2)}});
}

TEST(Operators, oneSideOfATransform) {
  expectSame(
      "fn @main(%x: Tensor[(n, m, 1), f32], %l: Tensor[(), i64]) { %s = dft(%x, %l) {onesided = 1} "
      "%y = dft(%s, %l) {onesided = 1, inverse = 1} return %s, %y }",
      {{f32({2, 6, 1}), number(6)},
       {f32({2, 5, 1}), number(7)},
       {f32({1, 9, 1}), number(4)},
       {f32({0, 3, 1}), number(1)}});
}

TEST(Operators, runningProducts) {
  expectSame(
      "fn @main(%x: Tensor[(n, m), f32], %a: Tensor[(), i64]) { %y = cumprod(%x, %a) {exclusive = 1, reverse "
      "= 1} return %y }",
      {{f32({3, 4}), number(0)}, {f32({1, 7}), number(-1)}, {f32({0, 2}), number(1)}});
}

TEST(Operators, columnsBackToAnImage) {
  expectSame(
      "fn @main(%x: Tensor[(n, m, l), f32], %i: Tensor[(2), i64], %k: Tensor[(2), i64]) "
      "{ %y = col2im(%x, %i, %k) {pads = [1, 0, 0, 1], strides = [2, 1]} return %y }",
      {{f32({2, 8, 10}), sizes({4, 5}), sizes({2, 2})},
       {f32({1, 3, 6}), sizes({3, 2}), sizes({1, 1})},
       {f32({1, 3, 7}), sizes({3, 2}), sizes({1, 1})}});  // an error in both
}

TEST(Operators, movedConvolution) {
  expectSame(
      "fn @main(%x: Tensor[(n, 2, h, w), f32], %w: Tensor[(3, 2, 2, 2), f32], %o: Tensor[(n, 16, a, b), "
      "f32]) "
      "{ %y = deform_conv(%x, %w, %o) {offset_group = 2} return %y }",
      {{f32({1, 2, 4, 5}), f32({3, 2, 2, 2}, 2), f32({1, 16, 3, 4}, 3)},
       {f32({2, 2, 2, 2}), f32({3, 2, 2, 2}, 2), f32({2, 16, 1, 1}, 3)}});
}

TEST(Operators, regions) {
  expectSame(
      "fn @main(%x: Tensor[(n, c, h, w), f32], %r: Tensor[(k, 4), f32], %b: Tensor[(k), i64]) "
      "{ %y = roi_align(%x, %r, %b) {output_height = 2, output_width = 3, spatial_scale = 2.0} return %y }",
      {{f32({2, 3, 6, 5}), f32({2, 4}, 2), sizes({1, 0})},
       {f32({1, 1, 1, 1}), f32({1, 4}, 3), sizes({0})},
       {f32({1, 2, 3, 3}), f32({0, 4}), sizes({})},
       {f32({1, 2, 3, 3}), f32({1, 4}), sizes({1})}});
}

// One that ends far before it begins has no samples.
TEST(Operators, regionsTurnedAround) {
  HostTensor region = *HostTensor::create(Dtype::f32, {2, 4});
  for (int64_t i = 0; i < 8; ++i) region.setReal(i, i % 4 < 2 ? 2 : i < 4 ? -1 : -1e30);
  expectSame(
      "fn @main(%x: Tensor[(n, c, h, w), f32], %r: Tensor[(k, 4), f32], %b: Tensor[(k), i64]) "
      "{ %y = roi_align(%x, %r, %b) {output_height = 2, output_width = 3, coordinate_transformation_mode = "
      "\"half_pixel\"} return %y }",
      {{f32({2, 3, 6, 5}), region, sizes({1, 0})}});
}

TEST(Operators, determinants) {
  expectSame("fn @main(%x: Tensor[(n, m, m), f32]) { %y = det(%x) return %y }",
             {{f32({2, 3, 3})}, {f32({3, 1, 1})}, {f32({1, 0, 0})}, {f32({0, 2, 2})}, {f32({2, 7, 7})}});
}

// Wherever the divisor stands: one for each element, one for each row, one for all.
TEST(Operators, divisionsOfIntegersByZeroAreFaults) {
  for (const char* op : {"div", "mod"})
    for (const char* divisor : {"n, m", "n, 1", "1, m", ""}) {
      IrContext context;
      Result<Module> parsed =
          test::parseText(context, "fn @main(%x: Tensor[(n, m), i32], %y: Tensor[(" + std::string(divisor) +
                                       "), i32]) { %z = " + op + "(%x, %y) return %z }");
      ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
      Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed);
      ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
      std::vector<int64_t> shape;
      if (*divisor) shape = {divisor[0] == 'n' ? 3 : 1, divisor[3] == 'm' ? 37 : 1};
      HostTensor y = *HostTensor::create(Dtype::i32, shape);
      for (int64_t i = 0; i < y.elementCount(); ++i) y.setInt(i, -1 - i);
      const HostTensor x = randomTensor(Dtype::i32, {3, 37}, 1);
      EXPECT_TRUE((*compiled)->run({x, y}).ok()) << op << " " << divisor;
      y.setInt(y.elementCount() - 1, 0);
      Result<std::vector<HostTensor>> result = (*compiled)->run({x, y});
      ASSERT_FALSE(result.ok()) << op << " " << divisor;
      EXPECT_NE(result.error().message.find("division by zero"), std::string::npos) << result.error().message;
    }
}

TEST(Operators, cachesWrittenAtTheirOwnPlaces) {
  for (const char* mode : {"linear", "circular"}) {
    const std::string text =
        "fn @main(%x: Tensor[(b, s, 3), f32], %u: Tensor[(b, u, 3), f32], %p: Tensor[(b), i64]) "
        "{ %y = tensor_scatter(%x, %u, %p) {mode = \"" +
        std::string(mode) + "\"} return %y }";
    expectSame(text, {{f32({2, 5, 3}), f32({2, 2, 3}, 2), sizes({0, 3})},
                      {f32({2, 5, 3}), f32({2, 2, 3}, 2), sizes({4, 0})},
                      {f32({1, 1, 3}), f32({1, 0, 3}, 2), sizes({0})}});
  }
}

TEST(Operators, bitsOfAnotherType) {
  expectSame(
      "fn @main(%x: Tensor[(n), f32]) { %i = bitcast(%x) {to = i32} %m = constant() {value = i32[] "
      "2147483647} "
      "%a = bit_and(%i, %m) %y = bitcast(%a) {to = f32} return %y }",
      {{f32({5})}, {f32({0})}});
}

TEST(Operators, narrowRealsAreStoredAndReadBack) {
  for (const char* narrow : {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f4e2m1", "f8e8m0"}) {
    for (const char* saturate : {"0", "1"}) {
      const std::string text =
          "fn @main(%x: Tensor[(n, m), f32]) { %s = mul(%x, %x) %c = cast(%s) {to = " + std::string(narrow) +
          ", saturate = " + saturate + "} %y = cast(%c) {to = f32} %z = add(%y, %x) return %y, %z }";
      expectSame(text, {{f32({3, 7})}, {f32({0, 2})}, {f32({1, 1})}});
    }
  }
}

TEST(Operators, shrunkWithoutAliases) {
  for (const char* mode : {"linear", "cubic"}) {
    const std::string text =
        "fn @main(%x: Tensor[(n, h, w), f32], %s: Tensor[(2), i64]) { %y = resize(%x, _, _, %s) "
        "{axes = [1, 2], antialias = 1, mode = \"" +
        std::string(mode) + "\"} return %y }";
    expectSame(
        text,
        {{f32({2, 7, 9}), sizes({3, 4})}, {f32({1, 5, 5}), sizes({1, 11})}, {f32({1, 4, 1}), sizes({4, 1})}});
  }
}

TEST(Operators, aProductThatTwoResultsFollowFrom) {
  // A recurrence with lengths: the state goes on where a row has ended, its output is 0.
  expectSame(
      "fn @main(%a: Tensor[(n, k), f32], %b: Tensor[(k, m), f32], %s: Tensor[(n, m), f32], %c: Tensor[(n, "
      "1), bool]) "
      "{ %z = constant() {value = f32[] 0.0} %p = matmul(%a, %b) %t = tanh(%p) %y = where(%c, %t, %z) "
      "%w = where(%c, %t, %s) return %w, %y }",
      {{f32({3, 5}), f32({5, 4}, 2), f32({3, 4}, 3), randomTensor(Dtype::boolean, {3, 1}, 4)},
       {f32({1, 0}), f32({0, 2}, 2), f32({1, 2}, 3), randomTensor(Dtype::boolean, {1, 1}, 4)}});
}

TEST(Operators, halvesAreSummedAndScattered) {
  for (const char* type : {"f16", "bf16"}) {
    const Dtype dtype = std::string(type) == "f16" ? Dtype::f16 : Dtype::bf16;
    const auto half = [&](std::vector<int64_t> shape, uint32_t seed) {
      return randomTensor(dtype, std::move(shape), seed);
    };
    for (const char* op : {"cumsum", "cumprod"})
      expectSame(std::string("fn @main(%x: Tensor[(n, m), ") + type + "], %a: Tensor[(), i64]) { %y = " + op +
                     "(%x, %a) return %y }",
                 {{half({3, 5}, 1), number(1)}, {half({0, 2}, 1), number(0)}}, {}, 2e-2);
    for (const char* how : {"add", "mul", "min", "max"})
      expectSame(std::string("fn @main(%x: Tensor[(n), ") + type +
                     "], %i: Tensor[(k), i64], %u: Tensor[(k), " + type +
                     "]) { %y = scatter_elements(%x, %i, %u) {reduction = \"" + how + "\"} return %y }",
                 {{half({4}, 1), sizes({0, 3, 0}), half({3}, 2)}}, {}, 2e-2);
  }
}

TEST(Operators, theProductOfNoDimsIsOne) {
  expectSame(
      "fn @main(%x: Tensor[(n, m), f32]) { %b = shape(%x) {end = 0} %r = reduce_prod(%b) %s = shape(%x) "
      "%c = reduce_prod(%s) %t = concat(%r, %c) {axis = 0} %y = reshape(%x, %t) {allowzero = 1} return %y }",
      {{f32({2, 3})}, {f32({0, 3})}, {f32({0, 0})}});
}

}  // namespace
}  // namespace dyn
