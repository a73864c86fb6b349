// :check --assert: sizes that fail, proofs, and the formats of tools.
#include <gmock/gmock.h>

#include "app/session/explain/node_source.h"
#include "app/session/views/problem_views.h"
#include "app/session/views/text/check_formats.h"
#include "app/session/views/view_text.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Pair;

constexpr const char* kTable = R"(fn @main(%x: Tensor[(batch, seq, 4), f32], %table: Tensor[(512, 4), f32]) {
  %start = constant() {value = i64[1] [0]}
  %axis = constant() {value = i64[1] [0]}
  %p = slice(%table, %start, dims_value() {value = dims(seq)}, %axis)
  %y = add(%x, %p)
  return %y
}
)";

class Check : public test::SessionFixture {
 protected:
  const ProblemList& check(const std::string& text, const std::string& arguments) {
    outcome_ = line(":check " + folder_.write("m.dyn", text) + " " + arguments);
    static const ProblemList kNone;
    return outcome_->as<ProblemList>() ? *outcome_->as<ProblemList>() : kNone;
  }
  std::shared_ptr<const Outcome> outcome_;
};

TEST_F(Check, TheSmallestSizesThatFail) {
  const ProblemList& list = check(kTable, "--assert \"batch>=2\"");
  ASSERT_TRUE(list.sizes.has_value()) << outcome_->error->toString();
  ASSERT_EQ(list.sizes->findings.size(), 1u);
  EXPECT_THAT(list.sizes->findings[0].sizes, testing::ElementsAre(Pair("batch", 2), Pair("seq", 513)));
  EXPECT_EQ(list.sizes->findings[0].diagnostic.severity, Severity::error);
  EXPECT_FALSE(outcome_->ok());
  EXPECT_EQ(exitCode(outcome_->error->id), 1);
}

TEST_F(Check, ProvedWithinTheAssertion) {
  const ProblemList& list = check(kTable, "--assert \"batch>=1, seq<=512\"");
  ASSERT_TRUE(list.sizes.has_value()) << outcome_->error->toString();
  EXPECT_TRUE(outcome_->ok());
  EXPECT_TRUE(list.sizes->findings.empty());
  EXPECT_THAT(toText(outcome_->view, TextOptions()),
              HasSubstr("proved: it runs for all sizes with batch>=1"));
}

TEST_F(Check, FewSizesAreWalked) {
  // Of 8 and 9 only 9 fails.
  const ProblemList& fails = check(R"(fn @main(%a: Tensor[(n), f32], %b: Tensor[(k), f32]) {
  %s = reshape(%a, dims_value() {value = dims(floordiv(n*n, 8), floordiv(n, 8))})
  return %s, %b
}
)",
                                   "--assert \"8<=n<=9\"");
  ASSERT_TRUE(fails.sizes.has_value()) << outcome_->error->toString();
  ASSERT_EQ(fails.sizes->findings.size(), 1u);
  EXPECT_THAT(fails.sizes->findings[0].sizes, testing::Contains(Pair("n", 9)));
}

TEST_F(Check, FailsAtAllSizes) {
  const ProblemList& list =
      check("fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(4, n), f32]) {\n  return matmul(%a, %b)\n}\n",
            "--assert \"\"");
  ASSERT_TRUE(list.sizes.has_value()) << outcome_->error->toString();
  ASSERT_EQ(list.sizes->findings.size(), 1u);
  EXPECT_THAT(list.sizes->findings[0].diagnostic.message, HasSubstr("fails at all sizes"));
}

TEST_F(Check, PositionsBeyondATable) {
  const ProblemList& list = check(R"(fn @main(%x: Tensor[(seq, 4), f32], %table: Tensor[(16, 4), f32]) {
  %n = gather(shape(%x), i64[] 0) {axis = 0}
  %p = gather(%table, range(i64[] 0, %n, i64[] 1)) {axis = 0}
  return add(%x, %p)
}
)",
                                  "--assert \"\"");
  ASSERT_TRUE(list.sizes.has_value()) << outcome_->error->toString();
  ASSERT_EQ(list.sizes->findings.size(), 1u);
  EXPECT_THAT(list.sizes->findings[0].sizes, testing::ElementsAre(Pair("seq", 17)));
}

TEST_F(Check, WhatARunDecidesIsNotProved) {
  const ProblemList& list = check(R"(fn @main(%x: Tensor[(n), f32], %y: Tensor[(n), f32]) {
  %a = transpose(nonzero(%x)) {perm = [1, 0]}
  %b = transpose(nonzero(%y)) {perm = [1, 0]}
  return add(%a, %b)
}
)",
                                  "--assert \"\"");
  ASSERT_TRUE(list.sizes.has_value()) << outcome_->error->toString();
  ASSERT_EQ(list.sizes->findings.size(), 1u);
  EXPECT_EQ(list.sizes->findings[0].diagnostic.severity, Severity::warning);
  EXPECT_FALSE(outcome_->ok());
}

TEST_F(Check, AssertionsThatAreNone) {
  for (const char* text : {"\"seq<=\"", "\"sequ<=512\"", "seq"}) {
    check(kTable, std::string("--assert ") + text);
    ASSERT_FALSE(outcome_->ok()) << text;
    EXPECT_EQ(exitCode(outcome_->error->id), 2) << text;
  }
}

TEST_F(Check, FormatsOfTools) {
  const ProblemList& list = check(kTable, "--assert \"\" --format sarif");
  const std::string sarif = toText(outcome_->view, TextOptions());
  EXPECT_THAT(sarif, HasSubstr("\"version\": \"2.1.0\""));
  EXPECT_THAT(sarif, HasSubstr("\"ruleId\": \"E0302\""));
  EXPECT_THAT(sarif, HasSubstr("\"startLine\": 5"));
  EXPECT_THAT(githubText(list), HasSubstr(",line=5,title=E0302::fails at batch=1, seq=513"));
}

TEST(NodeSource, OfBothExporters) {
  const NodeSource trace = sourceIn(
      "File \"/a/run.py\", line 3, in <module>\n  model(x)\nFile \"/a/model.py\", line 12, in forward\n  y = "
      "x.view(1, -1)\n");
  EXPECT_EQ(trace.file, "/a/model.py");
  EXPECT_EQ(trace.line, 12);
  EXPECT_EQ(trace.code, "y = x.view(1, -1)");
  const NodeSource comment = sourceIn("Reshape # /home/me/net.py:45:0");
  EXPECT_EQ(comment.file, "/home/me/net.py");
  EXPECT_EQ(comment.line, 45);
  EXPECT_EQ(sourceIn("a comment").line, 0);
}

}  // namespace
}  // namespace dyn
