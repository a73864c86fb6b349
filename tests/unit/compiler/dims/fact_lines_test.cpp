// Facts that travel as text.
#include "compiler/dims/fact_lines.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TEST(FactLines, AreReadAsTheyWereWritten) {
  DimContext dims;
  DimSolver facts(dims);
  const Dim n = dims.symbol("n"), m = dims.symbol("m"), k = dims.symbol("k"), p = dims.symbol("p");
  ASSERT_TRUE(facts.addEqual(m, 2 * n, {"user: --dim\tm=2*n\n", {}}).ok());
  ASSERT_TRUE(facts.addRange(n, 1, std::nullopt, {"file: n>=1", {}}).ok());
  ASSERT_TRUE(facts.addRange(n - k, std::nullopt, 64, {"", {}}).ok());
  ASSERT_TRUE(facts.addMultipleOf(k + 1, 8, {"eight", {}}).ok());
  ASSERT_TRUE(facts.addEqualProduct(n * p, k, {"product", {}}).ok());
  facts.addLikely(n, {3, 4}, {"observed", {}});
  const std::string lines = factLines(facts.facts());
  const FactsOfText read(lines);
  ASSERT_EQ(read.facts.facts().size(), facts.facts().size() - 1) << lines;
  for (size_t i = 1; i < read.facts.facts().size(); ++i)
    EXPECT_EQ(read.facts.facts()[i].toString(), facts.facts()[i].toString());
  EXPECT_EQ(read.facts.facts()[0].toString(), "m = 2*n (user: --dim m=2*n )");
  EXPECT_EQ(factLines(read.facts.facts()), lines);
}

TEST(FactLines, AreTextFromAnywhere) {
  for (const char* bad :
       {"", "\n\n", "equal", "equal\tn", "equal\tn\t(", "range\tn\t5", "range\tn\t9..x..", "multiple\tn\t0",
        "multiple\tn\t99999999999999999999", "likely\tn\t3", "x\ty\tz\tw"})
    EXPECT_LE(FactsOfText(bad).facts.facts().size(), 1u) << bad;
  // What contradicts the lines before it is passed over.
  const FactsOfText read("range\tn\t1..8\ta\nrange\tn\t9..\tb\nmultiple\tn\t4\tc\n");
  ASSERT_EQ(read.facts.facts().size(), 2u);
  EXPECT_EQ(read.facts.facts()[1].reason.text, "c");
}

}  // namespace
}  // namespace dyn
