// Operations on ragged tensors that run for each sequence by itself: what is compiled gives what the
// reference does; what mixes sequences is refused.
#include <gmock/gmock.h>

#include <limits>

#include "tests/unit/compiler/passes/ragged/ragged_batches.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

// Two inputs of other lengths, an element for each sequence, a table.
std::vector<std::vector<HostTensor>> inputs() {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) {
    std::vector<int64_t> others;
    for (size_t i = 0; i < lengths.size(); ++i) others.push_back(1 + static_cast<int64_t>((7 * i + 3) % 5));
    const auto batch = static_cast<int64_t>(lengths.size());
    sets.push_back({rows(lengths, {4}, 1), rows(others, {4}, 2), randomTensor(Dtype::f32, {batch, 4}, 3),
                    randomTensor(Dtype::f32, {4, 4}, 4), lengthsOf(lengths), lengthsOf(others)});
  }
  return sets;
}

std::string raggedApartProgram(const std::string& body) {
  return "fn @main(%x: Tensor[(b, len[b], 4), f32], %y: Tensor[(b, more[b], 4), f32], %c: Tensor[(b, 4), "
         "f32], "
         "%w: Tensor[(4, 4), f32], %len: Tensor[(b), i64], %more: Tensor[(b), i64]) {\n" +
         body + "\n}";
}

TEST(RaggedApart, AttentionBetweenSequencesOfDifferentLengths) {
  const std::string text = raggedApartProgram(R"(
  %q = matmul(%x, %w)
  %k = transpose(%y) {perm = [0, 2, 1]}
  %s = mul(matmul(%q, %k), f32[] 0.5)
  %z = matmul(softmax(%s), %y)
  return layer_norm(add(%z, %x), %g, %g) {axis = -1}, %z)");
  const std::string whole = text.substr(0, text.find("%w: ")) +
                            "%w: Tensor[(4, 4), f32], %g: Tensor[(4), f32]" +
                            text.substr(text.find(", %len"));
  std::vector<std::vector<HostTensor>> sets = inputs();
  for (auto& set : sets) set.insert(set.begin() + 4, randomTensor(Dtype::f32, {4}, 9));
  expectSame(whole, sets);
  // One kernel for all sequences.
  EXPECT_EQ(counterOf(whole, "by_sequence"), 0);
  EXPECT_EQ(counterOf(whole, "attentions"), 1);
}

// Keys hidden by a mask or biased, keys with their features last, sequences without keys or queries.
TEST(RaggedApart, MasksOfKeysOfOtherSequences) {
  std::vector<std::vector<HostTensor>> sets = inputs();
  for (auto& set : sets) {
    const int64_t batch = set[4].elementCount();
    std::vector<int64_t> keys;
    for (int64_t i = 0; i < batch; ++i) keys.push_back((5 * i + 3) % 4 == 0 ? 0 : set[5].intAt(i));
    set[1] = rows(keys, {4}, 2);
    set[5] = lengthsOf(keys);
  }
  const std::string text = raggedApartProgram(R"(
  %k = transpose(reshape(%y, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 3, 1]}
  %v = transpose(reshape(%y, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 1, 3]}
  %q = transpose(reshape(%x, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 1, 3]}
  %f = unsqueeze(reduce_sum(%y, i64[1] [2]) {keepdims = 0}, i64[2] [1, 2])
  %m = greater(%f, f32[] 0)
  %s = mul(matmul(%q, %k), f32[] 0.5)
  %one = matmul(softmax(where(%m, %s, f32[] -1.0e9)), %v)
  %two = matmul(softmax(add(%s, %f)), %v)
  %t = matmul(%x, %y) {transpose_b = 1}
  %three = matmul(softmax(%t), %y)
  %join = transpose(add(%one, %two)) {perm = [0, 2, 1, 3]}
  return add(reshape(%join, i64[3] [0, 0, 4]), %three))");
  expectSame(text, sets);
  EXPECT_EQ(counterOf(text, "attentions"), 3);
  EXPECT_EQ(counterOf(text, "by_sequence"), 0);
}

TEST(RaggedApart, ScoresWithHeads) {
  expectSame(raggedApartProgram(R"(
  %q = transpose(reshape(%x, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 1, 3]}
  %k = transpose(reshape(%y, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 3, 1]}
  %v = transpose(reshape(%y, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 1, 3]}
  %s = matmul(%q, %k)
  %p = softmax(add(%s, mul(%s, %s))) {axis = -1}
  %z = reshape(transpose(matmul(%p, %v)) {perm = [0, 2, 1, 3]}, i64[3] [0, 0, 4])
  %most = reduce_max(%s, i64[1] [3]) {keepdims = 0}
  return %z, transpose(%most) {perm = [0, 2, 1]}, add(%x, %z))"),
             inputs());
}

// Scores of a sequence with itself, of a form that no rule knows.
TEST(RaggedApart, ScoresThatAreReadOtherwise) {
  expectSame(raggedApartProgram(R"(
  %s = matmul(%x, transpose(%x) {perm = [0, 2, 1]})
  %z = matmul(softmax(mul(%s, %s)), %x)
  return %z, matmul(trilu(%s), %x))"),
             inputs());
}

TEST(RaggedApart, AlongThePositions) {
  expectSame(raggedApartProgram(R"(
  %sums = cumsum(%x, i64[] 1)
  %order, %at = topk(%x, i64[] 2) {axis = 2}
  %size = gather(shape(%x), i64[] 1) {axis = 0}
  %sorted, %from = topk(%x, %size) {axis = 1}
  %low = trilu(%x)
  return %sums, %order, %sorted, %low, relu(%sums))"),
             inputs());
}

TEST(RaggedApart, SeveralAxesAtOnce) {
  expectSame(raggedApartProgram(R"(
  %s = reduce_sum(%x, i64[2] [1, 2]) {keepdims = 0}
  %n = reduce_l2(%x, i64[1] [1]) {keepdims = 1}
  %p = reduce_prod(%x, i64[1] [1]) {keepdims = 0}
  return %s, %n, %p, add(%x, %n))"),
             inputs());
}

TEST(RaggedApart, InBranches) {
  const std::string text =
      R"(fn @main(%x: Tensor[(b, len[b], 4), f32], %c: Tensor[(b, 4), f32], %go: Tensor[(), bool]) {
  %y, %m = if(%go, %x, %c) then (%x: Tensor[(b, len[b], 4), f32], %c: Tensor[(b, 4), f32]) {
    %r = relu(%x) %m = reduce_sum(%x, i64[1] [1]) {keepdims = 0} return %r, %m
  } else (%x: Tensor[(b, len[b], 4), f32], %c: Tensor[(b, 4), f32]) {
    %n = neg(%x) return %n, %c
  }
  return %y, %m, exp(%y)
})";
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    for (int64_t go : {0, 1})
      sets.push_back({rows(lengths, {4}, 1),
                      randomTensor(Dtype::f32, {static_cast<int64_t>(lengths.size()), 4}, 2),
                      HostTensor::scalarInt(Dtype::boolean, go), lengthsOf(lengths)});
  expectSame(text, sets);
}

// Captured and carried.
TEST(RaggedApart, InLoops) {
  const std::string text =
      R"(fn @main(%x: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, 4), f32], %n: Tensor[(), i64]) {
  %y = loop(%n, _, %x, %x, %w) {carried = 1} body (%i: Tensor[(), i64], %h: Tensor[(b, len[b], 4), f32], %x: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, 4), f32]) {
    %next = tanh(add(matmul(%h, %w), %x))
    return true, %next
  }
  return %y
})";
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    for (int64_t n : {0, 3})
      sets.push_back({rows(lengths, {4}, 1), randomTensor(Dtype::f32, {4, 4}, 2),
                      HostTensor::scalarInt(Dtype::i64, n), lengthsOf(lengths)});
  expectSame(text, sets);
}

TEST(RaggedApart, WhatMixesSequencesIsRefused) {
  EXPECT_THAT(refusalOf(raggedApartProgram("return reduce_sum(%x, i64[1] [0]) {keepdims = 0}")),
              HasSubstr("unsupported: reduce_sum"));
  EXPECT_THAT(refusalOf(raggedApartProgram("return reshape(%x, i64[2] [-1, 4])")),
              HasSubstr("unsupported: reshape"));
  EXPECT_THAT(refusalOf(raggedApartProgram("return cumsum(%x, i64[] 0)")), HasSubstr("unsupported: cumsum"));
  EXPECT_THAT(refusalOf(raggedApartProgram(
                  "%s, %at = topk(%x, i64[] 1) {axis = 0} return reduce_sum(%s, i64[1] [0])")),
              HasSubstr("unsupported: topk"));
}

// R-d: nothing of one sequence reaches another.
TEST(RaggedApart, RdNothingCrossesTheBordersOfSequences) {
  IrContext context;
  Result<Module> parsed = parseText(context, raggedApartProgram(R"(
  %z = matmul(softmax(matmul(%x, transpose(%y) {perm = [0, 2, 1]})), %y)
  return cumsum(%z, i64[] 1))"));
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  size_t at = 0;
  for (std::vector<HostTensor> set : inputs()) {
    const std::vector<int64_t>& lengths = kBatches[at++];
    if (lengths.empty()) continue;
    const int64_t first = set[5].intAt(0);
    for (int64_t i = 0; i < first * 4; ++i) set[1].setReal(i, std::numeric_limits<double>::quiet_NaN());
    Result<std::vector<HostTensor>> results = (*compiled)->run(set);
    ASSERT_TRUE(results.ok()) << results.error().toString();
    for (int64_t i = 0; i < (*results)[0].elementCount(); ++i)
      EXPECT_EQ(std::isnan((*results)[0].realAt(i)), i < lengths[0] * 4) << i;
  }
}

}  // namespace
}  // namespace dyn::test
