// Results with several axes of lengths, (b, h, len[b], more[b]): stored exactly, sequence by sequence, and
// programs over sequences of two batches, each with lengths of its own.
#include <gmock/gmock.h>

#include "tests/unit/compiler/passes/ragged/ragged_batches.h"
#include "vm/include/dyn_ragged.h"

namespace dyn::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string raggedResultsProgram(const std::string& body) {
  return "fn @main(%x: Tensor[(b, len[b], 4), f32], %y: Tensor[(b, more[b], 4), f32], %len: Tensor[(b), "
         "i64], %more: Tensor[(b), i64]) {\n" +
         body + "\n}";
}

std::vector<std::vector<HostTensor>> raggedResultsInputs() {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) {
    std::vector<int64_t> others;
    for (size_t i = 0; i < lengths.size(); ++i) others.push_back(static_cast<int64_t>((7 * i + 3) % 5));
    sets.push_back({rows(lengths, {4}, 1), rows(others, {4}, 2), lengthsOf(lengths), lengthsOf(others)});
  }
  return sets;
}

TEST(RaggedResults, ScoresOfTwoLengths) {
  expectSame(raggedResultsProgram("%s = matmul(%x, transpose(%y) {perm = [0, 2, 1]}) return %s, relu(%s)"),
             raggedResultsInputs());
}

HostTensor raggedResultsPadded(const HostTensor& rows, const std::vector<int64_t>& lengths, int64_t longest) {
  HostTensor made = *HostTensor::create(rows.dtype(), {static_cast<int64_t>(lengths.size()), longest, 4});
  for (int64_t i = 0; i < made.elementCount(); ++i) made.setReal(i, 0);
  for (int64_t s = 0, at = 0; s < static_cast<int64_t>(lengths.size()); ++s)
    for (int64_t i = 0; i < 4 * lengths[static_cast<size_t>(s)]; ++i)
      made.setReal(s * longest * 4 + i, rows.realAt(at++));
  return made;
}

// Beside the padded run of the same program over plain tensors: its elements at positions that are there.
TEST(RaggedResults, AsThePaddedRun) {
  const std::string body = "%s = matmul(%x, transpose(%y) {perm = [0, 2, 1]}) return tanh(%s)";
  IrContext context, plain;
  Result<Module> parsed = parseText(context, raggedResultsProgram(body)),
                 whole =
                     parseText(plain, "fn @main(%x: Tensor[(b, m, 4), f32], %y: Tensor[(b, n, 4), f32]) {\n" +
                                          body + "\n}");
  ASSERT_TRUE(parsed.ok() && whole.ok());
  Result<std::unique_ptr<Compiled>> ragged = Compiled::make(*parsed), rectangular = Compiled::make(*whole);
  ASSERT_TRUE(ragged.ok() && rectangular.ok());
  for (const std::vector<HostTensor>& set : raggedResultsInputs()) {
    std::vector<int64_t> lengths, others;
    for (int64_t i = 0; i < set[2].elementCount(); ++i) {
      lengths.push_back(set[2].intAt(i));
      others.push_back(set[3].intAt(i));
    }
    const int64_t m = 40, n = 7;
    Result<std::vector<HostTensor>> actual = (*ragged)->run(set),
                                    expected = (*rectangular)
                                                   ->run({raggedResultsPadded(set[0], lengths, m),
                                                          raggedResultsPadded(set[1], others, n)});
    ASSERT_TRUE(actual.ok() && expected.ok());
    int64_t at = 0;
    for (size_t s = 0; s < lengths.size(); ++s)
      for (int64_t i = 0; i < lengths[s]; ++i)
        for (int64_t j = 0; j < others[s]; ++j) {
          const int64_t there = (static_cast<int64_t>(s) * m + i) * n + j;
          ASSERT_NEAR((*actual)[0].realAt(at++), (*expected)[0].realAt(there), 1e-5);
        }
    EXPECT_EQ(at, (*actual)[0].elementCount());
  }
}

// Attention whose probabilities are a result, too.
const char* const kProbabilities = R"(
  %q = transpose(reshape(%x, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 1, 3]}
  %k = transpose(reshape(%x, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 3, 1]}
  %p = softmax(matmul(%q, %k))
  %z = reshape(transpose(matmul(%p, %q)) {perm = [0, 2, 1, 3]}, i64[3] [0, 0, 4])
  return %z, %p, add(%x, %z))";

TEST(RaggedResults, ProbabilitiesWithHeads) {
  expectSame(raggedResultsProgram(kProbabilities), raggedResultsInputs());
}

TEST(RaggedResults, OtherTypesAndMoreAxes) {
  expectSame(raggedResultsProgram(R"(
  %a = reduce_sum(%x, i64[1] [2]) {keepdims = 1}
  %b = transpose(reduce_sum(%y, i64[1] [2]) {keepdims = 1}) {perm = [0, 2, 1]}
  %three = unsqueeze(greater(%a, %b), i64[1] [3])
  return greater(%a, %b), cast(%three) {to = i64}, add(unsqueeze(%x, i64[1] [2]), unsqueeze(%y, i64[1] [1])))"),
             raggedResultsInputs());
}

// The output is the sum over the batch of what each sequence has, no element more, and says so.
TEST(RaggedResults, StoredExactly) {
  IrContext context;
  Result<Module> parsed = parseText(context, raggedResultsProgram(kProbabilities));
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> made = Compiled::make(*parsed);
  ASSERT_TRUE(made.ok()) << made.error().toString();
  Compiled& compiled = **made;
  const vm::ContractValue& output = compiled.model->lowered.program.outputs[1];
  ASSERT_EQ(output.type.dims.size(), 1u);
  EXPECT_EQ(output.type.dims[0].text, "2*len.len.sum");
  const std::vector<int64_t> lengths{3, 0, 5}, others{1, 2, 0};
  Result<std::vector<HostTensor>> results =
      compiled.run({rows(lengths, {4}, 1), rows(others, {4}, 2), lengthsOf(lengths), lengthsOf(others)});
  ASSERT_TRUE(results.ok()) << results.error().toString();
  EXPECT_THAT((*results)[1].shape(), ElementsAre(2 * (9 + 25)));
  // In C: how many elements each sequence has.
  dyn_value* raw = nullptr;
  ASSERT_EQ(dyn_context_get_ragged_output(compiled.context.get(), 1, &raw), DYN_OK) << dyn_last_message();
  const ValueHandle probabilities(raw);
  const int64_t* known = nullptr;
  int64_t count = 0;
  ASSERT_EQ(dyn_value_ragged_parts(probabilities.get(), &raw, &known, &count), DYN_OK);
  const ValueHandle elements(raw);
  EXPECT_THAT(std::vector<int64_t>(known, known + count), ElementsAre(18, 0, 50));
  EXPECT_EQ(dyn_value_shape(elements.get())[0], 68);
}

TEST(RaggedResults, WhatIsRefused) {
  // The batch first.
  EXPECT_THAT(
      refusalOf(raggedResultsProgram("%s = matmul(%x, transpose(%y) {perm = [0, 2, 1]}) return transpose(%s) "
                                     "{perm = [1, 0, 2]}")),
      HasSubstr("a ragged one is (b, len[b], ...)"));
}

// --- two batches

std::string ofTwo(const std::string& body) {
  return "fn @main(%x: Tensor[(b, len[b], 4), f32], %y: Tensor[(c, more[c], 4), f32], %w: Tensor[(4, 4), "
         "f32], %len: Tensor[(b), i64], %more: Tensor[(c), i64]) {\n" +
         body + "\n}";
}

HostTensor partOf(const HostTensor& all, const std::vector<int64_t>& lengths, size_t which) {
  int64_t begin = 0;
  for (size_t i = 0; i < which; ++i) begin += lengths[i];
  HostTensor part = *HostTensor::create(all.dtype(), {1, lengths[which], 4});
  for (int64_t i = 0; i < part.elementCount(); ++i) part.setReal(i, all.realAt(4 * begin + i));
  return part;
}

// Of each pair of sequences the program alone, on plain tensors of one sequence each: [b, c] results.
void expectOfEachPair(const std::string& ragged, const std::string& plain) {
  IrContext context, other;
  Result<Module> parsed = parseText(context, ragged), alone = parseText(other, plain);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  ASSERT_TRUE(alone.ok()) << alone.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  const HostTensor w = randomTensor(Dtype::f32, {4, 4}, 3);
  const std::vector<std::vector<int64_t>> queries{{3, 1, 2}, {1}, {}, {5, 4}, {2, 2, 2, 2}},
      documents{{7, 1, 1, 5, 13}, {1}, {3, 2}, {}, {1, 2, 3}};
  for (size_t k = 0; k < queries.size(); ++k) {
    const std::vector<int64_t>&lengths = queries[k], &others = documents[k];
    const HostTensor x = rows(lengths, {4}, 1), y = rows(others, {4}, 2);
    Result<std::vector<HostTensor>> actual =
        (*compiled)->run({x, y, w, lengthsOf(lengths), lengthsOf(others)});
    ASSERT_TRUE(actual.ok()) << actual.error().toString();
    const HostTensor& scores = (*actual)[0];
    ASSERT_THAT(scores.shape(), ElementsAre(lengths.size(), others.size()));
    for (size_t i = 0; i < lengths.size(); ++i)
      for (size_t j = 0; j < others.size(); ++j) {
        Result<std::vector<Value>> expected =
            interpret(*alone, {Value(partOf(x, lengths, i)), Value(partOf(y, others, j)), Value(w)});
        ASSERT_TRUE(expected.ok()) << expected.error().toString();
        const double e = (*expected)[0].tensor().realAt(0);
        const double a = scores.realAt(static_cast<int64_t>(i * others.size() + j));
        EXPECT_NEAR(a, e, 1e-4 * (1 + std::abs(e))) << k << ": query " << i << ", document " << j;
      }
  }
}

std::string plainOf(std::string text) {
  const auto put = [&](const std::string& from, const std::string& to) {
    for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  };
  put(", %len: Tensor[(b), i64], %more: Tensor[(c), i64]", "");
  put("len[b]", "m");
  put("more[c]", "n");
  return text;
}

// A bi-encoder: each sequence one vector.
TEST(TwoBatches, OneVectorOfEachSequence) {
  const std::string text = ofTwo(R"(
  %q = reduce_mean(tanh(matmul(%x, %w)), i64[1] [1]) {keepdims = 0}
  %d = reduce_max(relu(matmul(%y, %w)), i64[1] [1]) {keepdims = 0}
  return matmul(%q, transpose(%d) {perm = [1, 0]}))");
  expectOfEachPair(text, plainOf(text));
}

// Late interaction: of each position of a query the best one of a document, summed.
TEST(TwoBatches, LateInteraction) {
  const std::string text = ofTwo(R"(
  %q = unsqueeze(matmul(%x, %w), i64[1] [1])
  %d = unsqueeze(transpose(matmul(%y, %w)) {perm = [0, 2, 1]}, i64[1] [0])
  %s = matmul(%q, %d)
  %best = reduce_max(%s, i64[1] [3]) {keepdims = 0}
  return reduce_sum(%best, i64[1] [2]) {keepdims = 0})");
  expectOfEachPair(text, plainOf(text));
}

// Attention within the sequences of each batch, and rows of both as results.
TEST(TwoBatches, AttentionInEach) {
  const std::string text = ofTwo(R"(
  %z = matmul(softmax(matmul(%x, transpose(%x) {perm = [0, 2, 1]})), %x)
  %u = matmul(softmax(matmul(%y, transpose(%y) {perm = [0, 2, 1]})), %y)
  %q = reduce_sum(%z, i64[1] [1]) {keepdims = 0}
  %d = reduce_sum(%u, i64[1] [1]) {keepdims = 0}
  return matmul(%q, transpose(%d) {perm = [1, 0]}), %z, %u)");
  EXPECT_EQ(counterOf(text, "attentions"), 2);
  EXPECT_EQ(counterOf(text, "by_sequence"), 0);
  expectOfEachPair(text, plainOf(text));
}

}  // namespace
}  // namespace dyn::test
