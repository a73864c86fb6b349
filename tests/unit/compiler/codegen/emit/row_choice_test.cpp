// A choice among rows of several tensors is one load, whose address is chosen before the loop. Numbers are
// compared by the operators' sweep and by random programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/compiler/codegen/emit/kernel_ir.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

// The LLVM IR of a kernel over rows of a[8, n], b[24, n] and c[n], whose elements are `value`.
std::string rows(const std::string& value, const std::string& machine = "x86-64-v4") {
  return test::kernelIr(
      machine,
      "kernel @rows(in a: f32[8, n], in b: f32[24, n], in c: f32[n], in f: bool[32], out y: f32[32, n]) "
      "scalars (n) units u < 32 {\n  for i < n vector {\n    y[u, i] = " +
          value + "\n  }\n}\n");
}

TEST(RowChoice, TheAddressIsChosenBeforeTheLoop) {
  const std::string text = rows("select(u < 8, a[u, i], b[u + -8, i])");
  EXPECT_THAT(text, Not(HasSubstr("select.join")));
  EXPECT_THAT(text, HasSubstr("inttoptr"));
  const size_t chosen = text.find("select i1"), loop = text.find("load <");
  ASSERT_NE(chosen, std::string::npos);
  EXPECT_LT(chosen, loop);
}

TEST(RowChoice, TreesOfChoicesAreOne) {
  const std::string text =
      rows("select(u < 8, select(u < 4, a[u, i], a[u + -4, i]), b[u + -8, i]) * 2.0:f32");
  EXPECT_THAT(text, Not(HasSubstr("select.join")));
}

TEST(RowChoice, OtherChoicesBranch) {
  // Other places of the row; a condition that is read; no row; 32-bit addresses.
  EXPECT_THAT(rows("select(u < 8, a[u, i], b[u + -8, n - i - 1])"), HasSubstr("select.join"));
  EXPECT_THAT(rows("select(f[u], a[mod(u, 8), i], b[mod(u, 24), i])"), HasSubstr("select.join"));
  EXPECT_THAT(rows("select(u < 8, a[u, i], c[i])"), HasSubstr("select.join"));
  EXPECT_THAT(rows("select(u < 8, a[u, i], b[u + -8, i])", "cortex-m4"), HasSubstr("select.join"));
}

}  // namespace
}  // namespace dyn
