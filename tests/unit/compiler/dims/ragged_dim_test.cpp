// Dims that differ from sequence to sequence: text, sums, and what the solver may learn of them.
#include <gtest/gtest.h>

#include "compiler/dims/dim_solver.h"
#include "compiler/dims/ragged_dim.h"

namespace dyn {
namespace {

TEST(RaggedDim, TextReadsBack) {
  for (const char* text : {"len[b]", "len[b] + 1", "2*len[b] + more[b]", "max(3, len[b])", "x.len[batch]"}) {
    DimContext context;
    const Result<Dim> dim = parseDim(context, text);
    ASSERT_TRUE(dim.ok()) << dim.error().toString();
    EXPECT_EQ(dim->toString(), text);
    EXPECT_TRUE(isRagged(*dim));
  }
  DimContext context;
  EXPECT_EQ(*parseDim(context, " len [ b ] "), context.symbol("len[b]"));
  EXPECT_EQ(raggedDim(context.symbol("len[b]"))->batch, context.symbol("b"));
  EXPECT_FALSE(isRagged(context.symbol("b")));
  for (const char* wrong : {"len[", "len[]", "len[3]", "len[b", "len[b+1]", "[b]"})
    EXPECT_FALSE(parseDim(context, wrong).ok()) << wrong;
}

TEST(RaggedDim, SumOverTheBatch) {
  DimContext context;
  const auto sum = [&](const char* text) {
    const Dim made = sumOverBatch(*parseDim(context, text));
    return made ? made.toString() : "";
  };
  EXPECT_EQ(sum("len[b]"), "len.sum");
  EXPECT_EQ(sum("len[b] + 1"), "b + len.sum");
  EXPECT_EQ(sum("2*len[b] + more[b] + n"), "b*n + 2*len.sum + more.sum");
  EXPECT_EQ(sum("n*len[b]"), "len.sum*n");
  EXPECT_EQ(sum("max(len[b], 3)"), "");
  EXPECT_EQ(sum("len[b]*len[b]"), "");
  EXPECT_EQ(sum("len[b] + more[c]"), "");
}

// Equal only to the same lengths: no number, no size and no other lengths.
TEST(RaggedDim, TheSolverKeepsLengthsApart) {
  DimContext context;
  DimSolver solver(context);
  const Dim length = context.symbol("len[b]"), other = context.symbol("more[b]"), n = context.symbol("n");
  EXPECT_EQ(solver.equal(length, length), Answer::yes);
  EXPECT_EQ(solver.equal(length * 2, length + length), Answer::yes);
  EXPECT_EQ(solver.equal(length, other), Answer::unknown);
  EXPECT_EQ(solver.lessEqual(length, length + 1), Answer::yes);
  for (Dim size : {other, n, context.constant(3), other + 1, n * 2}) {
    const Status learnt = solver.addEqual(length, size, {"a test"});
    ASSERT_FALSE(learnt.ok()) << size.toString();
    EXPECT_NE(learnt.error().message.find("differs from sequence to sequence"), std::string::npos);
  }
  const Dim fresh = context.any("a size that an operation finds");
  EXPECT_TRUE(solver.addEqual(fresh, length, {"a test"}).ok());
  EXPECT_EQ(solver.canonical(fresh), length);
  EXPECT_FALSE(solver.addEqual(fresh, n, {"a test"}).ok());
}

}  // namespace
}  // namespace dyn
