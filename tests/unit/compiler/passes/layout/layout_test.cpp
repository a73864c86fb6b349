// Regions of convolutions with their channels last, against the reference.
#include <array>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "tests/unit/compiler/passes/layout/image_module.h"

namespace dyn {
namespace {

using test::constant;
using test::residual;

CompileOptions withLayout() {
  CompileOptions options;
  options.passes = "+layout{regions=all}";
  return options;
}

int64_t countAfterLayout(const std::string& text, const OpDef& def) {
  return test::opsAfter(
      text, "layout", [&](const Op& op) { return op.def == &def; }, withLayout());
}

TEST(Layout, aRegionIsTurnedAtItsBordersOnly) {
  const std::string text = residual();
  EXPECT_EQ(countAfterLayout(text, ops::convOp), 0);
  EXPECT_EQ(countAfterLayout(text, ops::matmulOp), 4);
  EXPECT_EQ(countAfterLayout(text, ops::transposeOp), 1);  // the first convolution turns as it goes
  EXPECT_EQ(test::opsAfter(
                text, "layout", [](const Op& op) { return makesChannelsLast(op); }, withLayout()),
            4 + 2);
}

TEST(Layout, resultsAreThoseOfTheReference) {
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : std::vector<std::array<int64_t, 3>>{
           {1, 8, 8}, {2, 7, 13}, {0, 9, 9}, {1, 1, 1}, {3, 2, 31}, {1, 33, 1}, {1, 40, 37}})
    sets.push_back({test::randomTensor(Dtype::f32, {n, 3, h, w}, 1)});
  test::expectSame(residual(), sets, withLayout(), 1e-3);
}

// What others want lies in planes as well.
TEST(Layout, whatLeavesTheRegionIsTurnedBack) {
  std::string text = "fn @main(%x: Tensor[(n, 4, h, w), f32]) {\n";
  for (int i = 0; i < 6; ++i)
    text += constant("w" + std::to_string(i), {4, 4, 1, 1}, static_cast<uint32_t>(i));
  text += "%y0 = conv(%x, %w0)\n";
  for (int i = 1; i < 6; ++i)
    text +=
        "%y" + std::to_string(i) + " = conv(%y" + std::to_string(i - 1) + ", %w" + std::to_string(i) + ")\n";
  text += "%axis = constant() {value = i64[1] [1]}\n%s = reduce_sum(%y3, %axis)\nreturn %y5, %s }";
  EXPECT_EQ(countAfterLayout(text, ops::matmulOp), 6);
  EXPECT_EQ(countAfterLayout(text, ops::transposeOp), 3);
  test::expectSame(
      text,
      {{test::randomTensor(Dtype::f32, {2, 4, 5, 7}, 1)}, {test::randomTensor(Dtype::f32, {1, 4, 1, 0}, 1)}},
      withLayout());
}

// A decoder: a place becomes an image, whose transposed convolutions overlap.
std::string decoder(const std::string& sizes,
                    const std::vector<std::pair<std::vector<int64_t>, std::string>>& steps) {
  std::string text = "fn @main(%y0: Tensor[(n, 5, " + sizes + "), f32]) {\n";
  int64_t channels = 5;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto& [window, attributes] = steps[i];
    const std::string number = std::to_string(i), to = std::to_string(i + 1);
    const int64_t filters = 3 + 2 * static_cast<int64_t>(i);
    text += constant("w" + number, {channels, filters, window[0], window[1]}, static_cast<uint32_t>(i)) +
            constant("b" + number, {filters}, static_cast<uint32_t>(7 + i)) + "%t" + number +
            " = conv_transpose(%y" + number + ", %w" + number + ", %b" + number + ") {" + attributes +
            "}\n%y" + to + " = relu(%t" + number + ")\n";
    channels = filters;
  }
  return text + "return %y" + std::to_string(steps.size()) + " }";
}

TEST(Layout, transposedConvolutionsAreConvolutionsOfTheirPhases) {
  const std::string text =
      decoder("1, 1", {{{4, 3}, "strides = [1, 1]"},
                       {{4, 4}, "strides = [2, 2], pads = [1, 1, 1, 1]"},
                       {{6, 2}, "strides = [2, 1], pads = [2, 0, 2, 1]"},
                       {{4, 6}, "strides = [4, 3], pads = [0, 2, 1, 1], output_padding = [1, 0]"},
                       {{2, 2}, "strides = [2, 2]"}});
  EXPECT_EQ(countAfterLayout(text, ops::conv_transposeOp), 0);
  EXPECT_EQ(countAfterLayout(text, ops::matmulOp), 2);  // of one place, and of windows side by side
  EXPECT_EQ(countAfterLayout(text, ops::conv_packedOp), 3);
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t n : {1, 0, 3}) sets.push_back({test::randomTensor(Dtype::f32, {n, 5, 1, 1}, 1)});
  test::expectSame(text, sets, withLayout(), 1e-3);
}

TEST(Layout, transposedConvolutionsOfOpenSizes) {
  const std::string text = decoder("h, w", {{{4, 4}, "strides = [2, 2], pads = [1, 1, 1, 1]"},
                                            {{6, 6}, "strides = [2, 2], pads = [2, 2, 2, 2]"},
                                            {{4, 2}, "strides = [2, 2], pads = [0, 0, 1, 0]"},
                                            {{1, 1}, ""}});
  EXPECT_EQ(countAfterLayout(text, ops::conv_transposeOp), 0);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] :
       std::vector<std::array<int64_t, 3>>{{1, 4, 4}, {2, 1, 1}, {1, 7, 2}, {0, 3, 3}, {1, 13, 5}})
    sets.push_back({test::randomTensor(Dtype::f32, {n, 5, h, w}, 1)});
  test::expectSame(text, sets, withLayout(), 1e-3);
}

// Windows that are no multiple of their step or are dilated, and where more is added than cut off.
TEST(Layout, otherTransposedConvolutionsStay) {
  for (const char* attributes :
       {"strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]",
        "strides = [1, 1], dilations = [2, 2]", "strides = [3, 3], output_padding = [1, 0]"}) {
    const std::vector<std::pair<std::vector<int64_t>, std::string>> steps(4, {{3, 3}, attributes});
    EXPECT_EQ(countAfterLayout(decoder("h, w", steps), ops::conv_transposeOp), 4) << attributes;
  }
}

// Channels that fill vectors are turned, few channels stay in planes.
TEST(Layout, aRegionIsTurnedWhereThatCostsLess) {
  const auto turned = [](int64_t channels) {
    std::string text = "fn @main(%y0: Tensor[(n, " + std::to_string(channels) + ", 28, 28), f32]) {\n" +
                       constant("w", {channels, channels, 3, 3}, 1);
    for (int i = 0; i < 4; ++i)
      text +=
          "%y" + std::to_string(i + 1) + " = conv(%y" + std::to_string(i) + ", %w) {pads = [1, 1, 1, 1]}\n";
    text += "%axes = constant() {value = i64[2] [2, 3]}\n%z = reduce_mean(%y4, %axes)\nreturn %z }";
    return test::opsAfter(text, "layout", [](const Op& op) { return makesChannelsLast(op); }) > 0;
  };
  EXPECT_TRUE(turned(32));
  EXPECT_FALSE(turned(5));
}

// Each image is wanted in planes, too. There a convolution of bytes turns what it reads by itself.
TEST(Layout, bytesAreTurnedWhateverTheirBorders) {
  std::string text =
      "fn @main(%y0: Tensor[(n, 16, h, w), u8]) {\n%axes = constant() {value = i64[1] [1]}\n"
      "%zero = constant() {value = u8[] 3}\n%w = constant() {value = i8[16, 16, 3, 3] [";
  for (int i = 0; i < 16 * 16 * 9; ++i) text += (i == 0 ? "" : ", ") + std::to_string(i * 37 % 11 - 5);
  text += "]}\n%least = constant() {value = i32[] 0}\n%most = constant() {value = i32[] 255}\n";
  for (int i = 0; i < 4; ++i) {
    const std::string from = std::to_string(i), to = std::to_string(i + 1);
    text += "%c" + to + " = conv_integer(%y" + from + ", %w, %zero) {pads = [1, 1, 1, 1]}\n%d" + to +
            " = clip(%c" + to + ", %least, %most)\n%y" + to + " = cast(%d" + to + ") {to = u8}\n%s" + to +
            " = cumsum(%c" + to + ", i64[] 1)\n";
  }
  text += "return %y4, %s1, %s2, %s3, %s4 }";
  EXPECT_EQ(test::opsAfter(text, "layout", [](const Op& op) { return op.def == &ops::conv_integerOp; }), 0);
  EXPECT_EQ(
      test::opsAfter(text, "layout", [](const Op& op) { return op.def == &ops::conv_integer_packedOp; }), 4);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] :
       std::vector<std::array<int64_t, 3>>{{1, 8, 8}, {2, 7, 13}, {0, 9, 9}, {1, 1, 1}, {3, 2, 31}})
    sets.push_back({test::randomTensor(Dtype::u8, {n, 16, h, w}, 1)});
  test::expectSame(text, sets);
}

TEST(Layout, fewConvolutionsStayAsTheyAre) {
  const std::string text = "fn @main(%x: Tensor[(n, 4, h, w), f32]) {\n" + constant("w", {4, 4, 1, 1}, 1) +
                           "%a = conv(%x, %w)\n%b = relu(%a)\n%c = conv(%b, %w)\nreturn %c }";
  EXPECT_EQ(countAfterLayout(text, ops::convOp), 2);
}

}  // namespace
}  // namespace dyn
