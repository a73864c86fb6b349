#include "compiler/loop/expr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

namespace dyn::loop {
namespace {

// `if (a == b)` would ask whether there is such an expression, which there always is.
static_assert(!std::is_constructible_v<bool, decltype(Expr() == Expr())>);
static_assert(!std::is_constructible_v<bool, decltype(Expr() < Expr())>);
static_assert(std::is_constructible_v<bool, Expr>);

struct ExprTest : ::testing::Test {
  DimContext dims;
  LoopContext c{dims};
  Dim n = dims.symbol("n"), m = dims.symbol("m");
  Expr loopVariable(const char* hint, Dim extent) {
    Expr v = c.variable(hint);
    c.bound(v, c.dim(extent));
    return v;
  }
};

TEST_F(ExprTest, equalExpressionsAreOneNode) {
  Expr i = c.variable("i");
  EXPECT_TRUE((i * 3 + 1).same(i * 3 + 1));
  EXPECT_FALSE((i * 3).same(i * 4));
  EXPECT_TRUE(c.real(0.1, Dtype::f32).same(c.real(0.1f, Dtype::f32)));
  EXPECT_FALSE(c.real(0.0, Dtype::f32).same(c.real(-0.0, Dtype::f32)));
  EXPECT_FALSE(c.variable("i").same(i)) << "variable() gives a fresh one";
}

// A kernel is given each dim it uses. A sum or product of a long one would be a dim that it is not given.
TEST_F(ExprTest, longDimsStayAsTheyAre) {
  EXPECT_EQ((c.dim(n) * c.dim(m + 1)).kind(), ExprKind::dim);
  Dim size = n;
  for (int i = 0; i < 20; ++i) size = max(floorDiv(size * m + 7, dims.constant(8)), min(size, m));
  const Expr product = c.dim(size) * c.dim(m), sum = c.dim(n) + c.dim(size);
  EXPECT_EQ(product.kind(), ExprKind::binary);
  EXPECT_TRUE(product.operands()[0].same(c.dim(size)));
  EXPECT_EQ(sum.kind(), ExprKind::binary);
  EXPECT_TRUE((c.dim(size) * 1).same(c.dim(size)));
  EXPECT_EQ((c.dim(size) - c.dim(size)).toString(), "0");
}

TEST_F(ExprTest, integerIdentities) {
  Expr i = c.variable("i"), j = c.variable("j");
  EXPECT_TRUE((i + 0).same(i));
  EXPECT_TRUE((i * 1).same(i));
  EXPECT_EQ((i * 0).toString(), "0");
  EXPECT_EQ((i - i).toString(), "0");
  EXPECT_EQ((i + 1 + j - 1).toString(), "i + j");
  EXPECT_EQ((c.integer(2) + i * 2 * 3).toString(), "i * 6 + 2");
  EXPECT_EQ(floorDiv(i, c.integer(1)).toString(), "i");
  EXPECT_EQ(mod(i, c.integer(1)).toString(), "0");
  EXPECT_EQ((c.integer(200, Dtype::u8) + c.integer(100, Dtype::u8)).intValue(), 44);
  EXPECT_EQ(floorDiv(c.integer(-7), c.integer(2)).intValue(), -4);
  EXPECT_EQ(mod(c.integer(-7), c.integer(2)).intValue(), 1);
}

TEST_F(ExprTest, realArithmeticIsKeptAsWritten) {
  const Buffer* x = c.buffer("x", Dtype::f32, {c.dim(n)}, BufferRole::input);
  Expr v = c.load(x, {c.variable("i")});
  EXPECT_EQ((v + c.real(0, Dtype::f32)).toString(), "x[i] + 0.0");  // -0.0 + 0.0 is 0.0
  EXPECT_EQ((v * c.real(0, Dtype::f32)).toString(), "x[i] * 0.0");  // NaN
  EXPECT_EQ((v - v).toString(), "x[i] - x[i]");
  EXPECT_EQ((c.real(1, Dtype::f32) / c.real(3, Dtype::f32)).realValue(), 1.0f / 3.0f);
}

TEST_F(ExprTest, divisionByFactorsUsesRanges) {
  Expr i = loopVariable("i", n), j = loopVariable("j", m), f = c.variable("f");
  EXPECT_EQ(floorDiv(i * c.dim(m) + j, c.dim(m)).toString(), "i");
  EXPECT_EQ(mod(i * c.dim(m) + j, c.dim(m)).toString(), "j");
  EXPECT_EQ(mod(i * c.dim(m) + f, c.dim(m)).toString(), "mod(f, m)") << "f has no range";
  EXPECT_EQ(floorDiv(i * c.dim(m) + j, c.dim(n * m)).toString(), "0") << "i*m + j < n*m";
  EXPECT_EQ(floorDiv(i * c.dim(m) + j + 1, c.dim(n * m)).toString(),
            "floorDiv(i * m + j + 1, dim(" + (n * m).toString() + "))");
  Expr h = c.variable("h"), d = c.variable("d");
  c.bound(h, c.integer(12));
  c.bound(d, c.integer(64));
  EXPECT_EQ(floorDiv(h * 64 + d, c.integer(64)).toString(), "h");
  EXPECT_EQ(floorDiv(h * 64 + d, c.integer(768)).toString(), "0");
  EXPECT_EQ(mod(h * 128 + d + 64, c.integer(128)).toString(), "d + 64");
  EXPECT_EQ(mod(h * 128 + d + 65, c.integer(128)).toString(), "mod(d + 65, 128)");
}

TEST_F(ExprTest, arithmeticOfDimsIsOneDim) {
  EXPECT_EQ((c.dim(n) + c.dim(n)).toString(), "dim(2*n)");
  EXPECT_EQ((c.dim(n) - c.dim(n)).toString(), "0");
  EXPECT_TRUE((c.dim(n) == c.dim(n)).intValue());
  EXPECT_EQ((c.dim(n) < c.dim(n + 1)).toString(), "true");
  EXPECT_EQ((c.dim(n) < c.dim(m)).toString(), "n < m");
}

TEST_F(ExprTest, reductionsAreEqualWhateverTheirVariablesAreCalled) {
  const Buffer* x = c.buffer("x", Dtype::f32, {c.dim(n), c.dim(m)}, BufferRole::input);
  const auto rowSum = [&](Expr row) {
    Expr k = c.variable("k");
    return c.reduce(ReduceOp::sum, {k}, {c.dim(m)}, c.load(x, {row, k}));
  };
  Expr i = c.variable("i"), j = c.variable("j");
  EXPECT_TRUE(rowSum(i).same(rowSum(i)));
  EXPECT_FALSE(rowSum(i).same(rowSum(j)));
  // sum over k of (sum over l of x[k, l]): the inner variable is not captured.
  const auto total = [&] {
    Expr k = c.variable("k");
    return c.reduce(ReduceOp::sum, {k}, {c.dim(n)}, rowSum(k));
  };
  EXPECT_TRUE(total().same(total()));
  Expr inner = total().operands().back();
  ASSERT_EQ(inner.kind(), ExprKind::reduce);
  EXPECT_FALSE(inner.reduceVariables()[0].same(total().reduceVariables()[0]));
  // Rebuilding keeps the canonical form.
  Expr moved = c.substitute(rowSum(i), [&](Expr e) { return e.same(i) ? j : Expr(); });
  EXPECT_TRUE(moved.same(rowSum(j)));
}

TEST_F(ExprTest, substituteVisitsSharedNodesOnce) {
  Expr e = c.variable("i");
  for (int k = 0; k < 200; ++k) e = e * e + 1;  // 2^200 paths
  int asked = 0;
  Expr r = c.substitute(e, [&](Expr) {
    ++asked;
    return Expr();
  });
  EXPECT_TRUE(r.same(e));
  EXPECT_LT(asked, 1000);
}

TEST_F(ExprTest, deepExpressionsDoNotRecurse) {
  const Buffer* x = c.buffer("x", Dtype::f32, {c.dim(n)}, BufferRole::input);
  Expr i = c.variable("i"), j = c.variable("j");
  Expr e = c.load(x, {i});
  for (int k = 0; k < 100000; ++k) e = c.unary(UnaryOp::tanh, e);
  Expr moved = c.substitute(e, [&](Expr x) { return x.same(i) ? j : Expr(); });
  EXPECT_FALSE(moved.same(e));
  EXPECT_FALSE(e.toString().empty());
}

TEST_F(ExprTest, selectAndCastFold) {
  Expr i = c.variable("i");
  EXPECT_TRUE(select(c.boolean(true), i, i + 1).same(i));
  EXPECT_TRUE(select(i < c.integer(3), i, i).same(i));
  EXPECT_TRUE(c.cast(i, Dtype::i64).same(i));
  EXPECT_EQ(c.cast(c.real(1e10, Dtype::f32), Dtype::i32).intValue(), 2147483647);
  EXPECT_EQ(c.cast(c.real(-1.7, Dtype::f32), Dtype::i32).intValue(), -1);
  EXPECT_EQ(c.cast(c.integer(300), Dtype::u8).intValue(), 44);
  EXPECT_EQ(c.cast(c.real(NAN, Dtype::f64), Dtype::i64).intValue(), 0);
}

TEST_F(ExprTest, widenedBytesAreWithinTheirRange) {
  const auto isKnown = [](Expr e, bool value) {
    return e.kind() == ExprKind::intConstant && (e.intValue() != 0) == value;
  };
  for (Dtype dtype : {Dtype::u8, Dtype::i8}) {
    const bool fits = dtype == Dtype::u8;
    const Buffer* x = c.buffer("x", dtype, {c.dim(n)}, BufferRole::input);
    const Expr at = c.cast(c.cast(c.load(x, {c.variable("i")}), Dtype::i32), Dtype::i64);
    EXPECT_EQ(isKnown(at < c.integer(0), false), fits);
    EXPECT_EQ(isKnown(c.integer(0) <= at, true), fits);
    EXPECT_EQ(isKnown(at < c.integer(256), true), fits);
    EXPECT_EQ(isKnown(at <= c.integer(255), true), fits);
    EXPECT_EQ(select(at < c.integer(0), at + 256, at).same(at), fits);
    for (Expr open : {at < c.integer(255), at <= c.integer(0), c.integer(0) < at, c.integer(255) <= at})
      EXPECT_NE(open.kind(), ExprKind::intConstant);
  }
}

TEST_F(ExprTest, inverseFunctionsCancel) {
  const UninterpretedFunction* g =
      c.function({.name = "place", .arity = 1, .backing = FunctionBacking::array});
  const UninterpretedFunction* f = c.function(
      {.name = "unplace", .arity = 1, .backing = FunctionBacking::array, .facts = {.inverseOf = g}});
  Expr i = c.variable("i");
  EXPECT_TRUE(c.call(f, {c.call(g, {i})}).same(i));
  EXPECT_EQ(c.call(g, {c.call(f, {i})}).toString(), "place(unplace(i))");
}

}  // namespace
}  // namespace dyn::loop
