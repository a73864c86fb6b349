// Pads of zeros that convolutions do by themselves: the bits of programs whose images are padded apart, the
// reference's results.
#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/passes/layout/image_module.h"

namespace dyn {
namespace {

using test::Compiled;
using test::parseText;

CompileOptions apart() {
  CompileOptions options;
  options.passes = "-fold_pads";
  return options;
}

int64_t padsOf(const std::string& text) {
  return test::opsAfter(text, "fold_pads", [](const Op& op) { return op.def == &ops::padOp; });
}

// Images [n, channels, size, size or a prime].
std::vector<std::vector<HostTensor>> smallAndWide(int64_t channels) {
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t size = 1; size <= 7; ++size)
    for (int64_t other : {size, int64_t{2}, int64_t{13}})
      sets.push_back({test::randomTensor(Dtype::f32, {2, channels, size, other}, 1)});
  sets.push_back({test::randomTensor(Dtype::f32, {0, channels, 5, 5}, 1)});
  sets.push_back({test::randomTensor(Dtype::f32, {2, channels, 0, 5}, 1)});
  sets.push_back({test::randomTensor(Dtype::f32, {1, channels, 32, 31}, 2)});
  sets.push_back({test::randomTensor(Dtype::f32, {1, channels, 37, 64}, 3)});
  return sets;
}

// Results of `text` with its pads apart and without are the same bits, or what both refuse; at least `least`
// of the images are taken.
void expectSameRuns(const std::string& text, size_t least) {
  const std::vector<std::vector<HostTensor>> sets = smallAndWide(3);
  for (const char* layout : {"", "+layout{regions=all},"}) {
    CompileOptions own, other;
    own.passes = std::string(layout) + "+fold_pads";
    other.passes = std::string(layout) + "-fold_pads";
    IrContext contexts[2];
    Result<Module> first = parseText(contexts[0], text), second = parseText(contexts[1], text);
    ASSERT_TRUE(first.ok() && second.ok()) << first.error().toString();
    Result<std::unique_ptr<Compiled>> a = Compiled::make(*first, own), b = Compiled::make(*second, other);
    ASSERT_TRUE(a.ok() && b.ok()) << (a.ok() ? b : a).error().toString();
    size_t taken = 0;
    for (const std::vector<HostTensor>& inputs : sets) {
      Result<std::vector<HostTensor>> actual = (*a)->run(inputs), expected = (*b)->run(inputs);
      ASSERT_EQ(actual.ok(), expected.ok()) << (actual.ok() ? expected : actual).error().toString();
      if (!actual.ok()) continue;
      ++taken;
      for (size_t i = 0; i < expected->size(); ++i)
        EXPECT_TRUE((*actual)[i].identical((*expected)[i]))
            << toString(inputs[0], 4) << ", output " << i << layout;
    }
    EXPECT_GE(taken, least);
  }
}

// TensorFlow's pads of an axis, computed from its size: %NAMEb before it, %NAMEe behind.
std::string samePads(const std::string& name, int axis, int64_t kernel, int64_t stride) {
  const auto number = [](int64_t value) {
    return " = constant() {value = i64[] " + std::to_string(value) + "}\n";
  };
  const std::string n = "%" + name;
  return n + "axis" + number(axis) + n + "stride" + number(stride) + n + "kernel" + number(kernel) + n +
         "one" + number(1) + n + "two" + number(2) + n + "zero" + number(0) + n + "shape = shape(%a)\n" + n +
         "size = gather(" + n + "shape, " + n + "axis)\n" + n + "up = add(" + n + "size, " + n + "stride)\n" +
         n + "more = sub(" + n + "up, " + n + "one)\n" + n + "count = div(" + n + "more, " + n + "stride)\n" +
         n + "steps = sub(" + n + "count, " + n + "one)\n" + n + "reach = mul(" + n + "steps, " + n +
         "stride)\n" + n + "whole = add(" + n + "reach, " + n + "kernel)\n" + n + "lack = sub(" + n +
         "whole, " + n + "size)\n" + n + "total = max(" + n + "lack, " + n + "zero)\n" + n + "b0 = div(" + n +
         "total, " + n + "two)\n" + n + "e0 = sub(" + n + "total, " + n + "b0)\n" + n + "b = reshape(" + n +
         "b0, %vector)\n" + n + "e = reshape(" + n + "e0, %vector)\n";
}

// A convolution and an activation, the statements that make %z of %a, with 8 channels both, one more behind.
std::string around(const std::string& statements, const std::string& results = "%z") {
  return "fn @main(%x: Tensor[(n, 3, h, w), f32]) {\n" + test::constant("w0", {8, 3, 1, 1}, 1) +
         test::constant("d3", {8, 1, 3, 3}, 2) + test::constant("c3", {16, 8, 3, 3}, 3) +
         test::constant("d5", {8, 1, 5, 5}, 4) + test::constant("p", {8, 8, 1, 1}, 5) +
         test::constant("b", {8}, 6) + test::constant("b16", {16}, 7) +
         "%vector = constant() {value = i64[1] [1]}\n%none = constant() {value = i64[2] [0, 0]}\n"
         "%c = conv(%x, %w0)\n%a = relu(%c)\n" +
         statements + "return " + results + " }";
}

// %m of %a by constant pads [top, left, bottom, right].
std::string padded(const std::vector<int64_t>& p) {
  return "%amounts = constant() {value = i64[8] " + test::list({0, 0, p[0], p[1], 0, 0, p[2], p[3]}) +
         "}\n%m = pad(%a, %amounts)\n";
}

// One pad that many convolutions read.
TEST(FoldPads, constantsHaveTheBitsOfPadsApart) {
  for (const std::vector<int64_t>& pads : std::vector<std::vector<int64_t>>{
           {0, 0, 1, 1}, {1, 1, 1, 1}, {5, 4, 6, 7}, {0, 3, 0, 0}, {-1, 2, 1, -1}}) {
    const std::string text = around(padded(pads) + R"(
      %y1 = conv(%m, %c3)
      %y2 = conv(%m, %c3) {strides = [2, 2]}
      %y3 = conv(%m, %c3, %b16) {strides = [3, 3], auto_pad = "VALID"}
      %y4 = conv(%m, %p)
      %y5 = conv(%m, %p, %b) {strides = [2, 3], auto_pad = "NOTSET"}
      %y6 = conv(%m, %c3, %b16) {pads = [0, 2, 2, 0], dilations = [2, 2]}
    )",
                                    "%y1, %y2, %y3, %y4, %y5, %y6");
    SCOPED_TRACE(test::list(pads));
    EXPECT_EQ(padsOf(text), 0);
    expectSameRuns(text, 10);
    test::expectSame(text, smallAndWide(3));
  }
}

// The depthwise kernel sums in an order that depends on the image's size.
TEST(FoldPads, depthwise) {
  for (const std::vector<int64_t>& pads :
       std::vector<std::vector<int64_t>>{{0, 0, 1, 1}, {2, 0, 1, 3}, {1, 1, 1, 1}, {1, -2, -1, 1}}) {
    const std::string text = around(padded(pads) + R"(
      %y1 = conv(%m, %d3) {group = 8}
      %y2 = conv(%m, %d3, %b) {group = 8, strides = [2, 2]}
      %y3 = conv(%m, %d5) {group = 8, pads = [2, 0, 0, 1], strides = [3, 1]}
    )",
                                    "%y1, %y2, %y3");
    EXPECT_EQ(padsOf(text), 0);
    CompileOptions channelsLast;
    channelsLast.passes = "+layout{regions=all}";
    test::expectSame(text, smallAndWide(3));
    test::expectSame(text, smallAndWide(3), channelsLast);
  }
}

// As TensorFlow does it: from the image's size, at run time.
TEST(FoldPads, computedOnesHaveTheBitsOfPadsApart) {
  for (int64_t stride : {1, 2, 3})
    for (const auto& [kernel, weights] : std::vector<std::pair<int64_t, std::string>>{
             {3, "%c3) {"}, {3, "%d3) {group = 8, "}, {5, "%d5) {group = 8, "}}) {
      const std::string text =
          around(samePads("h", 2, kernel, stride) + samePads("w", 3, kernel, stride) +
                 "%amounts = concat(%none, %hb, %wb, %none, %he, %we) {axis = 0}\n%m = pad(%a, %amounts)\n" +
                 "%z = conv(%m, " + weights + "strides = " + test::list({stride, stride}) + "}\n");
      SCOPED_TRACE(weights + " " + std::to_string(stride));
      EXPECT_EQ(padsOf(text), 0);
      if (weights == "%c3) {") expectSameRuns(text, smallAndWide(3).size() - 1);
      test::expectSame(text, smallAndWide(3));
    }
}

// One and three spatial axes, f64, and two convolutions that share the pad.
TEST(FoldPads, otherRanksAndTypes) {
  const std::string line =
      "fn @main(%x: Tensor[(n, 2, l), f64]) {\n"
      "%k = constant() {value = f64[2, 1, 3] [[[1, 2, 3]], [[-1, 0.5, 2]]]}\n"
      "%axes = constant() {value = i64[1] [-1]}\n%zero = constant() {value = f64[] 0}\n"
      "%p = constant() {value = i64[2] [2, 1]}\n%m = pad(%x, %p, %zero, %axes)\n"
      "%y = conv(%m, %k) {group = 2, strides = [2]}\n%z = conv(%m, %k) {group = 2}\nreturn %y, %z }";
  EXPECT_EQ(padsOf(line), 0);
  const std::string space =
      "fn @main(%x: Tensor[(n, 1, d, h, w), f32]) {\n" + test::constant("k", {2, 1, 2, 2, 3}, 1) +
      "%p = constant() {value = i64[10] [0, 0, 1, 0, 2, 0, 0, 0, 1, 1]}\n%m = pad(%x, %p)\n"
      "%y = conv(%m, %k) {strides = [1, 2, 2]}\nreturn %y }";
  EXPECT_EQ(padsOf(space), 0);
  std::vector<std::vector<HostTensor>> lines, spaces;
  for (int64_t size : {1, 2, 3, 7, 31}) {
    lines.push_back({test::randomTensor(Dtype::f64, {2, 2, size}, 1)});
    spaces.push_back({test::randomTensor(Dtype::f32, {1, 1, size, 3, 5}, 1)});
  }
  test::expectSame(line, lines);
  test::expectSame(space, spaces);
  test::expectSameBits(line, {}, apart(), lines);
  test::expectSameBits(space, {}, apart(), spaces);
}

// What is no pad of a convolution stays apart.
TEST(FoldPads, whatStays) {
  const auto with = [](const std::string& amounts, const std::string& pad, const std::string& behind) {
    return around("%amounts = constant() {value = i64[8] " + amounts +
                  "}\n%one = constant() {value = f32[] 1}\n" + pad + behind);
  };
  const std::string conv = "%z = conv(%m, %d3) {group = 8}\n", ones = "[0, 0, 1, 1, 0, 0, 1, 1]";
  for (const std::string& text :
       {with(ones, "%m = pad(%a, %amounts, %one)\n", conv),
        with(ones, "%m = pad(%a, %amounts) {mode = \"edge\"}\n", conv),
        with("[0, 0, -1, 1, 0, 0, 1, 1]", "%m = pad(%a, %amounts)\n",
             "%z = conv(%m, %d3) {group = 8, pads = [1, 0, 0, 0]}\n"),
        with("[1, 0, 1, 1, 0, 0, 1, 1]", "%m = pad(%a, %amounts)\n", conv),
        with(ones, "%m = pad(%a, %amounts)\n", "%z = conv(%m, %d3) {group = 8, auto_pad = \"SAME_UPPER\"}\n"),
        with(ones, "%m = pad(%a, %amounts)\n", "%y = conv(%m, %p)\n%z = add(%y, %m)\n"),
        with(ones, "%m = pad(%a, %amounts)\n", "%z = conv_transpose(%m, %p)\n")}) {
    EXPECT_EQ(padsOf(text), 1) << text;
    test::expectSame(text, test::images(3));
  }
  // What is known of none of these amounts is also unknown of images and channels.
  EXPECT_EQ(padsOf("fn @main(%x: Tensor[(n, 1, l), f32], %p: Tensor[(6), i64]) {\n" +
                   test::constant("k", {1, 1, 3}, 1) + "%m = pad(%x, %p)\n%y = conv(%m, %k)\nreturn %y }"),
            1);
  // 0 times a weight that is not finite is not 0.
  EXPECT_EQ(
      padsOf("fn @main(%x: Tensor[(n, 1, l), f32]) {\n%k = constant() {value = f32[1, 1, 2] [[[1, inf]]]}\n"
             "%p = constant() {value = i64[6] [0, 0, 1, 0, 0, 1]}\n%m = pad(%x, %p)\n%y = conv(%m, %k)\n"
             "return %y }"),
      1);
}

// Amounts that an input says, less than 0 too.
TEST(FoldPads, amountsOfAnInput) {
  const std::string text = "fn @main(%x: Tensor[(n, 2, l), f32], %p: Tensor[(2), i64]) {\n" +
                           test::constant("k", {3, 2, 3}, 1) +
                           "%axes = constant() {value = i64[1] [2]}\n%zero = constant() {value = f32[] 0}\n"
                           "%m = pad(%x, %p, %zero, %axes)\n%y = conv(%m, %k) {strides = [2]}\nreturn %y }";
  EXPECT_EQ(padsOf(text), 0);
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t size : {0, 1, 2, 5, 31})
    for (int64_t begin : {-3, -1, 0, 2, 9})
      for (int64_t end : {-2, 0, 1, 7})
        if (size + begin + end >= 3)
          sets.push_back({test::randomTensor(Dtype::f32, {2, 2, size}, 1),
                          HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{begin, end})});
  test::expectSame(text, sets);
  test::expectSameBits(text, {}, apart(), sets);
}

// A pad by nothing goes, whoever reads it.
TEST(FoldPads, byNothing) {
  const std::string text = around(
      "%amounts = constant() {value = i64[8] [0, 0, 0, 0, 0, 0, 0, 0]}\n"
      "%m = pad(%a, %amounts) {mode = \"edge\"}\n%y = conv(%m, %p)\n%z = add(%y, %m)\n");
  EXPECT_EQ(padsOf(text), 0);
  expectSameRuns(text, smallAndWide(3).size() - 1);
}

}  // namespace
}  // namespace dyn
