// Convolutions and pools along the positions of ragged tensors: what is compiled gives what the reference
// does, which takes each sequence by itself.
#include <gmock/gmock.h>

#include <limits>

#include "tests/unit/compiler/passes/ragged/ragged_batches.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

std::vector<std::vector<HostTensor>> raggedWindowsInputsFor(const std::vector<std::vector<int64_t>>& batches,
                                                            std::vector<int64_t> weights) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : batches)
    sets.push_back({rows(lengths, {4}, 1), randomTensor(Dtype::f32, weights, 2),
                    randomTensor(Dtype::f32, {weights[0]}, 3), lengthsOf(lengths)});
  return sets;
}

// Channels before positions, as convolutions have them.
std::string convolution(const std::string& weights, const std::string& attributes,
                        const std::string& facts = "") {
  return facts + "fn @main(%x: Tensor[(b, len[b], 4), f32], %w: Tensor[" + weights +
         ", f32], %bias: Tensor[(6), f32]) {\n"
         "  %c = transpose(%x) {perm = [0, 2, 1]}\n"
         "  %y = relu(conv(%c, %w, %bias) {" +
         attributes + "})\n  return transpose(%y) {perm = [0, 2, 1]}\n}";
}

TEST(RaggedWindows, ConvolutionsThatKeepTheLength) {
  for (const char* attributes : {"pads = [1, 1]", "auto_pad = \"SAME_UPPER\""})
    expectSame(convolution("(6, 4, 3)", attributes), raggedWindowsInputsFor(kBatches, {6, 4, 3}));
  expectSame(convolution("(6, 4, 5)", "pads = [4, 0]"), raggedWindowsInputsFor(kBatches, {6, 4, 5}));
  expectSame(convolution("(6, 4, 3)", "pads = [2, 2], dilations = [2]"),
             raggedWindowsInputsFor(kBatches, {6, 4, 3}));
  expectSame(convolution("(6, 4, 1)", ""), raggedWindowsInputsFor(kBatches, {6, 4, 1}));
  expectSame(convolution("(6, 2, 3)", "pads = [1, 1], group = 2"),
             raggedWindowsInputsFor(kBatches, {6, 2, 3}));
}

TEST(RaggedWindows, ConvolutionsThatMakeSequencesLonger) {
  expectSame(convolution("(6, 4, 2)", "pads = [1, 1]"), raggedWindowsInputsFor(kBatches, {6, 4, 2}));
  expectSame(convolution("(6, 4, 3)", "pads = [5, 4]"), raggedWindowsInputsFor(kBatches, {6, 4, 3}));
}

TEST(RaggedWindows, ConvolutionsWithStrides) {
  for (int stride : {2, 3, 7})
    for (const char* pads : {"[1, 1]", "[2, 0]", "[4, 3]"}) {
      SCOPED_TRACE(std::to_string(stride) + pads);
      expectSame(convolution("(6, 4, 3)", "strides = [" + std::to_string(stride) + "], pads = " + pads),
                 raggedWindowsInputsFor(kBatches, {6, 4, 3}));
    }
  expectSame(convolution("(6, 4, 1)", "strides = [2]"), raggedWindowsInputsFor(kBatches, {6, 4, 1}));
  expectSame(
      convolution("(6, 4, 7)", "strides = [2], pads = [3, 3], dilations = [2]", "dim len[b] in 7..40\n"),
      raggedWindowsInputsFor({{7, 11}, {40}, {}, {13, 7, 8}}, {6, 4, 7}));
}

// Without padding a sequence may be too short: a check, as of any tensor.
TEST(RaggedWindows, SequencesThatAreTooShort) {
  expectSame(convolution("(6, 4, 3)", ""),
             raggedWindowsInputsFor({{3, 5}, {2}, {2, 7, 3}, {1}, {0}, {}, {4, 1}}, {6, 4, 3}));
}

TEST(RaggedWindows, DepthwiseBehindEachOther) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {4}, 1), randomTensor(Dtype::f32, {4, 1, 5}, 2),
                    randomTensor(Dtype::f32, {8, 4, 3}, 3), lengthsOf(lengths)});
  const std::string text = R"(
fn @main(%x: Tensor[(b, len[b], 4), f32], %d: Tensor[(4, 1, 5), f32], %w: Tensor[(8, 4, 3), f32]) {
  %c = transpose(%x) {perm = [0, 2, 1]}
  %y = conv(%c, %d) {group = 4, pads = [2, 2]}
  %z = conv(add(relu(%y), %c), %w) {strides = [2], pads = [1, 1]}
  %t = transpose(%z) {perm = [0, 2, 1]}
  return %t, reduce_mean(%t, i64[1] [1]) {keepdims = 0}, conv(%z, slice(transpose(%w) {perm = [1, 0, 2]}, i64[1] [0], i64[1] [2], i64[1] [2])) {strides = [2], pads = [1, 1]}
})";
  EXPECT_THAT(refusalOf(text), HasSubstr("(b, len[b], ...)"));
  expectSame(text.substr(0, text.find(", conv(%z")) + "\n}", sets);
  EXPECT_EQ(counterOf(text.substr(0, text.find(", conv(%z")) + "\n}", "windows"), 2);
}

// (b, channels, positions, 6): windows over positions and another axis.
TEST(RaggedWindows, TwoAxesOfWindows) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {6}, 1), randomTensor(Dtype::f32, {3, 1, 3, 3}, 2), lengthsOf(lengths)});
  expectSame(R"(fn @main(%x: Tensor[(b, len[b], 6), f32], %w: Tensor[(3, 1, 3, 3), f32]) {
  %c = unsqueeze(%x, i64[1] [1])
  %y = conv(%c, %w) {strides = [2, 2], pads = [1, 1, 1, 1]}
  %m = max_pool(%y) {kernel_shape = [3, 2], pads = [1, 0, 1, 0]}
  return reshape(transpose(%m) {perm = [0, 2, 1, 3]}, i64[3] [0, 0, 6])
})",
             sets);
}

TEST(RaggedWindows, Pools) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) sets.push_back({rows(lengths, {4}, 1), lengthsOf(lengths)});
  for (const char* pool :
       {"max_pool(%c) {kernel_shape = [3], pads = [1, 1]}",
        "max_pool(%c) {kernel_shape = [2], strides = [2]}",
        "max_pool(%c) {kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1}",
        "average_pool(%c) {kernel_shape = [3], pads = [1, 1]}",
        "average_pool(%c) {kernel_shape = [4], strides = [3], pads = [2, 1]}",
        "average_pool(%c) {kernel_shape = [3], strides = [2], pads = [1, 1], count_include_pad = 1}",
        "average_pool(%c) {kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1}",
        "average_pool(%c) {kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1, "
        "count_include_pad = 1}",
        "lp_pool(%c) {kernel_shape = [3], pads = [1, 1]}",
        "max_pool(cast(%c) {to = i32}) {kernel_shape = [3], pads = [1, 1]}"}) {
    SCOPED_TRACE(pool);
    expectSame("fn @main(%x: Tensor[(b, len[b], 4), f32]) { %c = transpose(%x) {perm = [0, 2, 1]} %y = " +
                   std::string(pool) + " return transpose(%y) {perm = [0, 2, 1]} }",
               sets);
  }
}

// What is computed of the lengths of a result is checked and known: another of them is no fit.
TEST(RaggedWindows, LengthsOfResults) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {4}, 1), randomTensor(Dtype::f32, {4, 4, 3}, 2), lengthsOf(lengths)});
  expectSame(R"(fn @main(%x: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, 4, 3), f32]) {
  %c = transpose(%x) {perm = [0, 2, 1]}
  %y = conv(%c, %w) {strides = [2], pads = [1, 1]}
  %p = max_pool(%c) {kernel_shape = [1], strides = [2]}
  %sum = transpose(add(%y, %p)) {perm = [0, 2, 1]}
  %q = softmax(%sum) {axis = 1}
  %h = concat(%sum, %x) {axis = 1}
  return %sum, %q, %h, slice(%x, i64[1] [0], i64[1] [9], i64[1] [1])
})",
             sets);
  EXPECT_NE(
      refusalOf("fn @main(%x: Tensor[(b, 4, s), f32], %y: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, 4, "
                "3), f32]) { %t = transpose(%y) {perm = [0, 2, 1]} %z = conv(%t, %w) {strides = [2], pads = "
                "[1, 1]} return transpose(add(%t, %z)) {perm = [0, 2, 1]} }"),
      "");
}

// R-d: nothing of one sequence reaches another.
TEST(RaggedWindows, RdNothingCrossesTheBordersOfSequences) {
  IrContext context;
  Result<Module> parsed = parseText(context, convolution("(6, 4, 5)", "strides = [2], pads = [2, 2]"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  for (const auto& lengths : kBatches)
    for (size_t poisoned = 0; poisoned < lengths.size(); ++poisoned) {
      std::vector<HostTensor> inputs = raggedWindowsInputsFor({lengths}, {6, 4, 5})[0];
      int64_t begin = 0;
      for (size_t i = 0; i < poisoned; ++i) begin += lengths[i];
      for (int64_t i = begin * 4; i < (begin + lengths[poisoned]) * 4; ++i)
        inputs[0].setReal(i, std::numeric_limits<double>::quiet_NaN());
      Result<std::vector<HostTensor>> results = (*compiled)->run(inputs);
      ASSERT_TRUE(results.ok()) << results.error().toString();
      int64_t row = 0;
      for (size_t s = 0; s < lengths.size(); ++s)
        for (int64_t i = 0; i < (lengths[s] + 1) / 2; ++i, ++row)
          for (int64_t c = 0; c < 6; ++c)
            EXPECT_TRUE(s == poisoned || !std::isnan((*results)[0].realAt(row * 6 + c))) << s << " " << i;
      EXPECT_EQ(row, (*results)[0].shape()[0]);
    }
}

// Padding that follows from the length is another one for each sequence: they run one by one.
TEST(RaggedWindows, PaddingThatFollowsFromTheLength) {
  const std::string text = convolution("(6, 4, 3)", "strides = [2], auto_pad = \"SAME_UPPER\"");
  EXPECT_EQ(counterOf(text, "windows"), 0);
  EXPECT_EQ(counterOf(text, "by_sequence"), 1);
  expectSame(text, raggedWindowsInputsFor(kBatches, {6, 4, 3}));
}

}  // namespace
}  // namespace dyn::test
