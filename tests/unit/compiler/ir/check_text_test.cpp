// Checks as sentences.
#include "compiler/ir/check_text.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TEST(CheckText, SaysWhatIsDemanded) {
  DimContext context;
  const Dim n = context.symbol("n"), m = context.symbol("m"), most = context.constant(512);
  const auto text = [](std::string_view relation, Dim a, Dim b) {
    return checkText(relation, a, b, [](Dim dim) { return dim.toString(); });
  };
  EXPECT_EQ(text("eq", n, m), "n must equal m");
  EXPECT_EQ(text("le", n, m), "n must be at most m");
  EXPECT_EQ(text("broadcast", n, m), "n and m must be equal, or one of them 1");
  EXPECT_EQ(text("broadcast", min(most, n), n), "n must be at most 512");
  EXPECT_EQ(text("eq", n, min(n, most)), "n must be at most 512");
  EXPECT_EQ(text("eq", min(n, m), m), "m must be at most n");
  EXPECT_EQ(text("broadcast", min(n, m), m), "min(m, n) and m must be equal, or one of them 1");
  EXPECT_EQ(text("le", min(most, n), n), "min(512, n) must be at most n");
}

}  // namespace
}  // namespace dyn
