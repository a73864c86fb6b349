#include "frontends/text/familiar_names.h"

#include <gtest/gtest.h>

#include "compiler/ops/op_table.h"

namespace dyn::text {
namespace {

TEST(FamiliarNames, leadToOperatorsAndAreNone) {
  for (const FamiliarName& name : familiarNames()) {
    EXPECT_NE(findOp(name.ours), nullptr) << name.ours;
    EXPECT_EQ(findOp(name.theirs), nullptr) << name.theirs << " needs no hint: it is an operator";
  }
}

TEST(FamiliarNames, caseDoesNotMatter) {
  EXPECT_EQ(ourName("ReduceSum"), "reduce_sum");
  EXPECT_EQ(ourName("cat"), "concat");
  EXPECT_EQ(ourName("nothing_of_the_kind"), "");
}

}  // namespace
}  // namespace dyn::text
