// Recurrences along the positions of ragged tensors: what is compiled gives what the reference does, which
// takes each sequence by itself.
#include <gmock/gmock.h>

#include <limits>

#include "tests/unit/compiler/passes/ragged/ragged_batches.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

struct Cell {
  const char* states;   // initial ones
  const char* carried;  // how the body calls them
  const char* body;     // from %row: new states
  const char* after;    // the new states, then what is stacked
  int gates, count;     // how many states
};

const Cell kPlain{"%h0", "%h", "    %n = tanh(add(%row, matmul(%h, %r)))\n", "%n, %n", 1, 1};
const Cell kGated{"%h0", "%h", R"(
    %p = matmul(%h, %r)
    %z = sigmoid(add(slice(%row, i64[1] [0], i64[1] [5], i64[1] [1]), slice(%p, i64[1] [0], i64[1] [5], i64[1] [1])))
    %a = sigmoid(add(slice(%row, i64[1] [5], i64[1] [10], i64[1] [1]), slice(%p, i64[1] [5], i64[1] [10], i64[1] [1])))
    %c = tanh(add(slice(%row, i64[1] [10], i64[1] [15], i64[1] [1]), mul(%a, slice(%p, i64[1] [10], i64[1] [15], i64[1] [1]))))
    %n = add(mul(sub(f32[] 1, %z), %c), mul(%z, %h))
)", "%n, %n", 3, 1};
const Cell kLong{"%h0, %c0", "%h, %c", R"(
    %p = add(%row, matmul(%h, %r))
    %i1 = sigmoid(slice(%p, i64[1] [0], i64[1] [5], i64[1] [1]))
    %o1 = sigmoid(slice(%p, i64[1] [5], i64[1] [10], i64[1] [1]))
    %f1 = sigmoid(slice(%p, i64[1] [10], i64[1] [15], i64[1] [1]))
    %g1 = tanh(slice(%p, i64[1] [15], i64[1] [20], i64[1] [1]))
    %d = add(mul(%f1, %c), mul(%i1, %g1))
    %n = mul(%o1, tanh(%d))
)", "%n, %d, %n", 4, 2};

// Over %x (b, len[b], 4), from either end, as (b, len[b], 5) and the final states.
std::string recurrence(const Cell& cell, bool backward, const std::string& name) {
  const std::string gates = std::to_string(5 * cell.gates), step = backward ? "%t" : "%i";
  std::string finals, states;
  for (int k = 0; k < cell.count; ++k) finals += "%final" + std::to_string(k) + "_" + name + ", ";
  for (const char* state : {"%h", "%c"})
    if (cell.count == 2 || state[1] == 'h') states += std::string(state) + ": Tensor[(b, 5), f32], ";
  return "  %g_" + name + " = transpose(add(matmul(%x, %w), %bias)) {perm = [1, 0, 2]}\n  " + finals +
         "%made_" + name + " = loop(%steps, _, " + cell.states + ", %g_" + name +
         ", %r, %last) {carried = " + std::to_string(cell.count) + "} body (%i: Tensor[(), i64], " + states +
         "%g: Tensor[(len[b], b, " + gates + "), f32], %r: Tensor[(5, " + gates +
         "), f32], %last: Tensor[(), i64]) {\n" + (backward ? "    %t = sub(%last, %i)\n" : "") +
         "    %row = gather(%g, " + step + ") {axis = 0}\n" + cell.body + "    return true, " + cell.after +
         "\n  }\n" +
         (backward ? "  %turned_" + name + " = slice(%made_" + name +
                         ", i64[1] [-1], i64[1] [-9223372036854775807], i64[1] [0], i64[1] [-1])\n"
                   : "") +
         "  %" + name + " = transpose(" + (backward ? "%turned_" : "%made_") + name +
         ") {perm = [1, 0, 2]}\n";
}

std::string raggedRecurrenceProgram(const Cell& cell, const std::string& body, const std::string& results) {
  const std::string gates = std::to_string(5 * cell.gates);
  return "fn @main(%x: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, " + gates + "), f32], %r: Tensor[(5, " +
         gates + "), f32], %bias: Tensor[(" + gates +
         "), f32], %h0: Tensor[(b, 5), f32], %c0: Tensor[(b, 5), f32]) {\n"
         "  %steps = gather(shape(%x), i64[] 1) {axis = 0}\n  %last = sub(%steps, i64[] 1)\n" +
         body + "  return " + results + "\n}";
}

std::vector<std::vector<HostTensor>> raggedRecurrenceInputsFor(const Cell& cell) {
  const int64_t gates = 5 * cell.gates;
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) {
    const auto batch = static_cast<int64_t>(lengths.size());
    sets.push_back({rows(lengths, {4}, 1), randomTensor(Dtype::f32, {4, gates}, 2),
                    randomTensor(Dtype::f32, {5, gates}, 3), randomTensor(Dtype::f32, {gates}, 4),
                    randomTensor(Dtype::f32, {batch, 5}, 5), randomTensor(Dtype::f32, {batch, 5}, 6),
                    lengthsOf(lengths)});
  }
  return sets;
}

TEST(RaggedRecurrence, EveryCellFromEitherEnd) {
  for (const Cell* cell : {&kPlain, &kGated, &kLong})
    for (bool backward : {false, true}) {
      SCOPED_TRACE(std::string(cell->body) + (backward ? " backward" : ""));
      const std::string text =
          raggedRecurrenceProgram(*cell, recurrence(*cell, backward, "y"),
                                  cell->count == 2 ? "%y, %final0_y, %final1_y" : "%y, %final0_y");
      expectSame(text, raggedRecurrenceInputsFor(*cell));
      if (cell != &kPlain) continue;
      EXPECT_EQ(counterOf(text, "recurrences"), 1);
      EXPECT_EQ(counterOf(text, "by_sequence"), 0);
    }
}

// Both directions side by side, and a second layer.
TEST(RaggedRecurrence, BothDirections) {
  const std::string body = recurrence(kLong, false, "y") + recurrence(kLong, true, "z") +
                           "  %both = concat(%y, %z) {axis = 2}\n"
                           "  %pooled = reduce_max(%both, i64[1] [1]) {keepdims = 0}\n";
  const std::string text =
      raggedRecurrenceProgram(kLong, body, "%both, %pooled, concat(%final0_y, %final0_z) {axis = 1}");
  EXPECT_EQ(counterOf(text, "recurrences"), 2);
  EXPECT_EQ(counterOf(text, "preludes"), 1);
  expectSame(text, raggedRecurrenceInputsFor(kLong));
}

// What is stacked from the last step to the first is read so, too.
TEST(RaggedRecurrence, InTheOrderOfItsSteps) {
  expectSame(raggedRecurrenceProgram(kPlain, recurrence(kPlain, true, "y"),
                                     "%y, transpose(%made_y) {perm = [1, 0, 2]}"),
             raggedRecurrenceInputsFor(kPlain));
}

// Rows of the positions as they lie: (b, len[b], c) gathered along its second axis.
TEST(RaggedRecurrence, AlongTheSecondAxis) {
  const std::string text = raggedRecurrenceProgram(kPlain, R"(  %g = add(matmul(%x, %w), %bias)
  %final, %made = loop(%steps, _, %h0, %g, %r) {carried = 1} body (%i: Tensor[(), i64], %h: Tensor[(b, 5), f32], %g: Tensor[(b, len[b], 5), f32], %r: Tensor[(5, 5), f32]) {
    %row = gather(%g, %i) {axis = 1}
    %n = tanh(add(%row, matmul(%h, %r)))
    return true, %n, mul(%n, %row)
  }
)",
                                                   "%final, transpose(%made) {perm = [1, 0, 2]}");
  EXPECT_EQ(counterOf(text, "recurrences"), 1);
  expectSame(text, raggedRecurrenceInputsFor(kPlain));
}

// R-d: nothing of one sequence reaches another, and sequences of nothing keep their initial states.
TEST(RaggedRecurrence, RdNothingCrossesTheBordersOfSequences) {
  const std::string text = raggedRecurrenceProgram(
      kLong, recurrence(kLong, false, "y") + recurrence(kLong, true, "z"), "add(%y, %z), %final0_y");
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  size_t set = 0;
  for (std::vector<HostTensor> inputs : raggedRecurrenceInputsFor(kLong)) {
    const std::vector<int64_t>& lengths = kBatches[set++];
    if (lengths.empty()) continue;
    for (int64_t i = 0; i < lengths[0] * 4; ++i)
      inputs[0].setReal(i, std::numeric_limits<double>::quiet_NaN());
    Result<std::vector<HostTensor>> results = (*compiled)->run(inputs);
    ASSERT_TRUE(results.ok()) << results.error().toString();
    for (int64_t i = 0; i < (*results)[0].elementCount(); ++i)
      EXPECT_EQ(std::isnan((*results)[0].realAt(i)), i < lengths[0] * 5) << i;
    for (int64_t i = 0; i < (*results)[1].elementCount(); ++i) {
      EXPECT_EQ(std::isnan((*results)[1].realAt(i)), lengths[0] > 0 && i < 5) << i;
      const bool empty = lengths[static_cast<size_t>(i / 5)] == 0;
      EXPECT_TRUE(!empty || (*results)[1].realAt(i) == inputs[4].realAt(i)) << i;
    }
  }
}

TEST(RaggedRecurrence, EachPassMayBeLeftOut) {
  const std::string text = raggedRecurrenceProgram(kPlain, recurrence(kPlain, true, "y"), "%y, %final0_y");
  for (const char* pass : {"simplify", "views", "fuse", "schedule"}) {
    CompileOptions options;
    options.passes = std::string("-") + pass;
    SCOPED_TRACE(options.passes);
    expectSame(text, raggedRecurrenceInputsFor(kPlain), options);
  }
}

}  // namespace
}  // namespace dyn::test
