// Demands on ragged computations, by their names: places of rows and sequences, launches, orders.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "tests/support/share.h"
#include "tests/unit/compiler/passes/ragged/ragged_batches.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

std::unique_ptr<Compiled> raggedChecklistCompiledOf(const std::string& text, IrContext& context) {
  Result<Module> parsed = parseText(context, text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() ? std::move(*compiled) : nullptr;
}

std::string paddedConvolution(int64_t pad, int64_t kernel, const std::string& facts = "") {
  const std::string k = std::to_string(kernel), p = std::to_string(pad);
  return facts + "fn @main(%x: Tensor[(b, len[b], 2), f32], %w: Tensor[(3, 2, " + k +
         "), f32]) { %y = conv(transpose(%x) {perm = [0, 2, 1]}, %w) {pads = [" + p + ", " + p +
         "]} return transpose(%y) {perm = [0, 2, 1]} }";
}

// R-a: how many windows a sequence has and how much room it takes are apart: any padding gives what the
// reference does, and a window that no sequence has room for is an error when it is compiled.
TEST(RaggedChecklist, RaWindowsAndRoomAreApart) {
  const Share share(8);  // of 1 to 64
  SCOPED_TRACE(share.text());
  for (int64_t pad = 1; pad <= 64; ++pad) {
    if (!share.has(static_cast<uint64_t>(pad))) continue;
    std::vector<std::vector<HostTensor>> sets;
    for (const auto& lengths : std::vector<std::vector<int64_t>>{{3, 0, 2}, {1}, {}, {13, 0, 1}})
      sets.push_back({rows(lengths, {2}, 1), randomTensor(Dtype::f32, {3, 2, 3}, 2), lengthsOf(lengths)});
    expectSame(paddedConvolution(pad, 3), sets);
  }
  const std::string refused = refusalOf(paddedConvolution(1, 9, "dim len[b] in 1..5\n"));
  EXPECT_THAT(refused, HasSubstr("the window fits into the padded input"));
  EXPECT_THAT(refused, HasSubstr("len[b]"));
}

// Calls `visit` with all lists of up to four lengths up to three.
template <typename Visit>
void forAllLengths(Visit&& visit) {
  for (size_t batch = 0; batch <= 4; ++batch) {
    std::vector<int64_t> lengths(batch, 0);
    while (true) {
      visit(lengths);
      size_t i = 0;
      while (i < batch && lengths[i] == 3) lengths[i++] = 0;
      if (i == batch) break;
      ++lengths[i];
    }
  }
}

// R-c: with `sequence` and `position` of a row, and the row of a sequence's position, the axioms of fused
// loops hold: row(sequence f, position f) = f, sequence(row(o, i)) = o, position(row(o, i)) = i.
TEST(RaggedChecklist, RcAxiomsOfFusedPositions) {
  IrContext context;
  const auto compiled =
      raggedChecklistCompiledOf(R"(fn @main(%row: Tensor[(b, len[b]), i64], %number: Tensor[(b, 1), i64]) {
  %size = gather(shape(%row), i64[] 1) {axis = 0}
  %zero = sub(%row, %row)
  %first = slice(%row, i64[1] [0], i64[1] [9223372036854775807], i64[1] [1])
  return add(%zero, range(i64[] 0, %size, i64[] 1)), add(%zero, %number), %first
})",
                                context);
  ASSERT_TRUE(compiled);
  forAllLengths([&](const std::vector<int64_t>& lengths) {
    const int64_t count = rowsOf(lengths);
    HostTensor row = *HostTensor::create(Dtype::i64, {count}),
               number = *HostTensor::create(Dtype::i64, {static_cast<int64_t>(lengths.size()), 1});
    for (int64_t i = 0; i < count; ++i) row.setInt(i, i);
    for (int64_t i = 0; i < number.elementCount(); ++i) number.setInt(i, i);
    Result<std::vector<HostTensor>> made = compiled->run({row, number, lengthsOf(lengths)});
    ASSERT_TRUE(made.ok()) << made.error().toString();
    const HostTensor &position = (*made)[0], &sequence = (*made)[1];
    std::vector<int64_t> begins{0};
    for (int64_t length : lengths) begins.push_back(begins.back() + length);
    for (int64_t f = 0; f < count; ++f) {
      ASSERT_EQ(begins[static_cast<size_t>(sequence.intAt(f))] + position.intAt(f), f);
      ASSERT_EQ((*made)[2].intAt(f), f);
    }
    for (size_t o = 0; o < lengths.size(); ++o)
      for (int64_t i = 0; i < lengths[o]; ++i) {
        ASSERT_EQ(sequence.intAt(begins[o] + i), static_cast<int64_t>(o));
        ASSERT_EQ(position.intAt(begins[o] + i), i);
      }
  });
}

// R-c: that row(sequence f, position f) = f is a rule of rewriting, which asks no solver: the place where a
// sequence begins, plus the position that was counted from there, is the row. Not of reals, which round.
TEST(RaggedChecklist, RcRowOfSequenceAndPositionIsRewritten) {
  const auto opsOf = [](const std::string& dtype, const char* sum) {
    IrContext context;
    Result<Module> parsed =
        parseText(context, withType("fn @main(%row: Tensor[(n), TYPE], %begins: Tensor[(b), TYPE], %of: "
                                    "Tensor[(n), i64]) {\n  %begin = gather(%begins, %of)\n  %position = "
                                    "sub(%row, %begin)\n  return ",
                                    dtype) +
                               sum + "\n}");
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    CompileOptions options;
    options.passes = "infer,simplify,cse,dce";
    Trace trace;
    Result<Module> made = runPasses(*parsed, options, trace);
    EXPECT_TRUE(made.ok()) << made.error().toString();
    return made.ok() ? made->main()->ops.size() : 0;
  };
  for (const char* sum : {"add(%begin, %position)", "add(%position, %begin)"}) {
    EXPECT_EQ(opsOf("i64", sum), 0u);
    EXPECT_EQ(opsOf("i32", sum), 0u);
    EXPECT_EQ(opsOf("f32", sum), 3u);
  }
  EXPECT_EQ(opsOf("i64", "add(%row, %position)"), 3u);
}

// R-c: ranges go over soundly: the rows of a box of sequences and positions lie between those of its corners,
// and rows between two belong to sequences between theirs, at positions between theirs where that is one.
TEST(RaggedChecklist, RcRangesOfFusedPositions) {
  IrContext context;
  const auto compiled =
      raggedChecklistCompiledOf(R"(fn @main(%zero: Tensor[(b, len[b]), i64], %number: Tensor[(b, 1), i64]) {
  %size = gather(shape(%zero), i64[] 1) {axis = 0}
  return add(%zero, range(i64[] 0, %size, i64[] 1)), add(%zero, %number)
})",
                                context);
  ASSERT_TRUE(compiled);
  std::mt19937 random(11);
  const auto within = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 60; ++round) {
    std::vector<int64_t> lengths(static_cast<size_t>(within(1, 7)));
    for (int64_t& length : lengths) length = within(0, 9);
    const int64_t count = rowsOf(lengths), batch = static_cast<int64_t>(lengths.size());
    if (count == 0) continue;
    HostTensor zero = *HostTensor::create(Dtype::i64, {count}),
               number = *HostTensor::create(Dtype::i64, {batch, 1});
    for (int64_t i = 0; i < batch; ++i) number.setInt(i, i);
    Result<std::vector<HostTensor>> made = compiled->run({zero, number, lengthsOf(lengths)});
    ASSERT_TRUE(made.ok()) << made.error().toString();
    const HostTensor &position = (*made)[0], &sequence = (*made)[1];
    std::vector<int64_t> begins{0};
    for (int64_t length : lengths) begins.push_back(begins.back() + length);
    const int64_t firstOf = within(0, batch - 1), lastOf = within(firstOf, batch - 1), low = within(0, 9),
                  high = within(low, 9);
    for (int64_t f = 0; f < count; ++f) {
      const int64_t o = sequence.intAt(f), i = position.intAt(f);
      if (o < firstOf || o > lastOf || i < low || i > high) continue;
      EXPECT_GE(f, begins[static_cast<size_t>(firstOf)] + (o == firstOf ? low : 0));
      EXPECT_LE(f, begins[static_cast<size_t>(lastOf)] + high);
    }
    const int64_t first = within(0, count - 1), last = within(first, count - 1);
    const bool one = sequence.intAt(first) == sequence.intAt(last);
    for (int64_t f = first; f <= last; ++f) {
      const int64_t o = sequence.intAt(f), i = position.intAt(f);
      EXPECT_GE(o, sequence.intAt(first));
      EXPECT_LE(o, sequence.intAt(last));
      EXPECT_GE(i, one ? position.intAt(first) : 0);
      EXPECT_LE(i, one ? position.intAt(last) : lengths[static_cast<size_t>(o)] - 1);
    }
  }
}

// Attention, a convolution and elementwise steps over %x.
const char* const kLayer = R"(fn @main(%x: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, 4, 3), f32]) {
  %z = matmul(softmax(mul(matmul(%x, transpose(%x) {perm = [0, 2, 1]}), f32[] 0.5)), %x)
  %y = conv(transpose(tanh(%z)) {perm = [0, 2, 1]}, %w) {strides = [2], pads = [1, 1]}
  return transpose(%y) {perm = [0, 2, 1]}, %z
})";

// R-f: sequences of all lengths are in one launch: as many as there are sequences, as many launches.
TEST(RaggedChecklist, RfOneLaunchForSequencesOfAllLengths) {
  IrContext context;
  const auto compiled = raggedChecklistCompiledOf(kLayer, context);
  ASSERT_TRUE(compiled);
  const auto launches = [&](const std::vector<int64_t>& lengths) {
    dyn_statistics statistics{};
    Result<std::vector<HostTensor>> made =
        compiled->run({rows(lengths, {4}, 1), randomTensor(Dtype::f32, {4, 4, 3}, 2), lengthsOf(lengths)});
    EXPECT_TRUE(made.ok()) << made.error().toString();
    dyn_context_statistics(compiled->context.get(), &statistics);
    return statistics.launches_count;
  };
  const auto of = launches({7, 2});
  EXPECT_EQ(launches({1, 64, 3, 3, 0, 17, 5, 5, 2, 1, 1, 40}), of);
  EXPECT_EQ(launches({3, 3, 3, 3, 3, 3}), of);
}

// R-g: whatever order work is done in, a sequence gets the same bits wherever it stands in its batch.
TEST(RaggedChecklist, RgAnyOrderOfSequences) {
  const std::string recurrence = R"(fn @main(%x: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, 4, 3), f32]) {
  %n = gather(shape(%x), i64[] 1) {axis = 0}
  %batch = gather(shape(%x), i64[1] [0]) {axis = 0}
  %zero = constant_of_shape(concat(%batch, i64[1] [4]) {axis = 0}) {value = f32[1] [0]}
  %r = squeeze(slice(%w, i64[1] [0], i64[1] [1], i64[1] [2]), i64[1] [2])
  %h, %y = loop(%n, _, %zero, %x, %r) {carried = 1} body (%i: Tensor[(), i64], %h: Tensor[(b, 4), f32], %x: Tensor[(b, len[b], 4), f32], %r: Tensor[(4, 4), f32]) {
    %new = tanh(add(gather(%x, %i) {axis = 1}, matmul(%h, %r)))
    return true, %new, %new
  }
  return transpose(%y) {perm = [1, 0, 2]}
})";
  const std::vector<int64_t> lengths{3, 0, 17, 1, 5, 5, 29, 2};
  const HostTensor w = randomTensor(Dtype::f32, {4, 4, 3}, 2), all = rows(lengths, {4}, 1);
  std::vector<int64_t> begins{0};
  for (int64_t length : lengths) begins.push_back(begins.back() + length);
  for (const std::string& text : {std::string(kLayer), recurrence}) {
    IrContext context;
    const auto compiled = raggedChecklistCompiledOf(text, context);
    ASSERT_TRUE(compiled);
    Result<std::vector<HostTensor>> expected = compiled->run({all, w, lengthsOf(lengths)});
    ASSERT_TRUE(expected.ok()) << expected.error().toString();
    const HostTensor whole = expected->back();
    std::vector<size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (int round = 0; round < 4; ++round) {
      std::next_permutation(order.begin(), order.end());
      std::reverse(order.begin(), order.end());
      std::vector<int64_t> turned;
      for (size_t i : order) turned.push_back(lengths[i]);
      HostTensor x = *HostTensor::create(Dtype::f32, all.shape());
      int64_t at = 0;
      for (size_t i : order)
        for (int64_t k = begins[i] * 4; k < begins[i + 1] * 4; ++k) x.setReal(at++, all.realAt(k));
      Result<std::vector<HostTensor>> actual = compiled->run({x, w, lengthsOf(turned)});
      ASSERT_TRUE(actual.ok()) << actual.error().toString();
      at = 0;
      for (size_t i : order)
        for (int64_t k = begins[i] * 4; k < begins[i + 1] * 4; ++k)
          ASSERT_EQ(actual->back().realAt(at++), whole.realAt(k)) << "sequence " << i;
    }
  }
}

}  // namespace
}  // namespace dyn::test
