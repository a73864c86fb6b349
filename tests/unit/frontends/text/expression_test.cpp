// Operators and indices that stand for several operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/printer.h"
#include "compiler/ops/op_table.h"
#include "frontends/text/parser.h"

namespace dyn::text {
namespace {

using ::testing::HasSubstr;

ParseOptions withAllOperators() {
  ParseOptions made;
  made.findOp = findOp;
  made.file = "test.dyn";
  return made;
}

// The names of the operations that an expression of x (reals), i (integers), k (one integer) and u (of no
// known type) becomes, constants left out, or its error.
std::string operations(std::string_view expression) {
  const std::string text =
      "fn @f(x: Tensor[(n, m), f32], i: Tensor[(n, m), i64], k: Tensor[(), i64], u) { y = " +
      std::string(expression) + " return y }";
  IrContext context;
  Result<Module> module = parseModule(context, text, withAllOperators());
  if (!module.ok()) return module.error().message;
  IrContext other;
  const std::string printed = print(*module);
  Result<Module> again = parseModule(other, printed, withAllOperators());
  EXPECT_TRUE(again.ok()) << printed;
  EXPECT_EQ(again.ok() ? print(*again) : "", printed);
  std::string names;
  for (const Op* op : module->functions[0]->ops) {
    if (op->def->name == "constant") continue;
    names += (names.empty() ? "" : " ") + std::string(op->def->name);
    if (op->attributes.has("axis")) names += std::to_string(op->attributes.integer("axis"));
  }
  return names;
}

TEST(Expressions, indices) {
  EXPECT_EQ(operations("x[0]"), "gather");
  EXPECT_EQ(operations("x[0, -1]"), "gather gather");
  EXPECT_EQ(operations("x[:, 0]"), "gather1");
  EXPECT_EQ(operations("x[..., 0]"), "gather-1");
  EXPECT_EQ(operations("x[..., k, 0]"), "gather-2 gather-1");
  EXPECT_EQ(operations("x[k][0]"), "gather gather");
  // Of no known rank: the axes before it stay those that they are.
  EXPECT_EQ(operations("x[u, u]"), "gather1 gather");
  EXPECT_EQ(operations("x[x > 1]"), "greater nonzero transpose gather_nd");
}

TEST(Expressions, parts) {
  EXPECT_EQ(operations("x[:]"), "");
  EXPECT_EQ(operations("x[:, :]"), "");
  EXPECT_EQ(operations("x[1:3, ::-1]"), "slice");
  EXPECT_EQ(operations("x[0, 1:]"), "gather slice");
  EXPECT_EQ(operations("x[:k, 1:]"), "reshape slice slice");
  EXPECT_EQ(operations("x[x > 1, 0]"), "a mask stands alone in its brackets: a[mask][...]");
  EXPECT_EQ(operations("x[::0]"), "the step of a part is not 0");
  EXPECT_EQ(operations("x[0.5:]"), "the bounds of a part are integers");
  EXPECT_EQ(operations("x[1:2:3:4]"), "a part is written start:end:step");
  EXPECT_EQ(operations("x[..., ...]"), "'...' stands once among the indices");
  EXPECT_THAT(operations("x[::k]"), HasSubstr("the step of a part is a number"));
  EXPECT_THAT(operations("x[]"), HasSubstr("a value is expected, not ']'"));
}

TEST(Expressions, precedence) {
  EXPECT_EQ(operations("-x ** 2"), "pow neg");
  EXPECT_EQ(operations("-2 ** x"), "pow neg");
  EXPECT_EQ(operations("x ** -2"), "pow");
  EXPECT_EQ(operations("x ** x ** 2"), "pow pow");
  EXPECT_EQ(operations("x * -x"), "neg mul");
  EXPECT_EQ(operations("x + 1 > 2 and x < 3 or x == 4"), "add greater less logical_and equal logical_or");
  EXPECT_EQ(operations("not x > 1"), "greater logical_not");
  EXPECT_EQ(operations("!(x > 1)"), "greater logical_not");
  EXPECT_EQ(operations("x != 1"), "equal logical_not");
  EXPECT_EQ(operations("i // 2 * 2"), "mod sub div mul");
}

TEST(Expressions, quotientsAndRemaindersByElementType) {
  EXPECT_EQ(operations("i // 2"), "mod sub div");
  EXPECT_EQ(operations("i % 2"), "mod");
  EXPECT_EQ(operations("u % 2"), "mod");
  EXPECT_EQ(operations("x % 2"), "mod sign mul less add where");
  EXPECT_EQ(operations("x // 2"), "mod sign mul less sub div sub where round equal div where");
  EXPECT_EQ(operations("i%2"), "mod");
  EXPECT_EQ(operations("i %k"), "this value is not used: give it a name, 'h = ...'");
}

TEST(Expressions, callsOfWords) {
  EXPECT_EQ(operations("len(x)"), "shape gather");
  EXPECT_EQ(operations("len(list(x, x))"), "list list_length");
  EXPECT_EQ(operations("len(x, x)"), "len takes a tensor or a list");
  EXPECT_EQ(operations("cast(x, i64)"), "cast");
  EXPECT_EQ(operations("i64(x)"), "cast");
  EXPECT_EQ(operations("i64(x, x)"), "i64(...) casts one value");
  EXPECT_EQ(operations("max(x)"),
            "max takes two values, element by element; over all elements it is reduce_max(a)");
}

// Without a blank behind it, it begins a name: line breaks are blanks, and bodies may stand on one line.
TEST(Expressions, aPercentSignBeforeAWordIsItsName) {
  IrContext context;
  Result<Module> module = parseModule(
      context, "fn @f(%x: Tensor[(n), f32]) { %h = relu(%x) %y = exp(%h) return %y }", withAllOperators());
  ASSERT_TRUE(module.ok()) << module.error().toString();
  EXPECT_EQ(module->functions[0]->ops.size(), 2u);
}

TEST(Expressions, numbersWithSeparators) {
  EXPECT_EQ(parseTensor("1_000")->intAt(0), 1000);
  EXPECT_EQ(parseTensor("[1_0.2_5, 1e1_0]")->realAt(0), 10.25);
  EXPECT_FALSE(parseTensor("1_").ok());
  EXPECT_FALSE(parseTensor("1__0").ok());
  EXPECT_THAT(parseTensor("1e400").error().message, HasSubstr("infinity is written inf"));
}

}  // namespace
}  // namespace dyn::text
