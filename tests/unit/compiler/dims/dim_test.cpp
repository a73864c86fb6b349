#include "compiler/dims/dim.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/dims/random_dim.h"

namespace dyn {
namespace {

struct DimTest : testing::Test {
  DimContext c;
  Dim n = c.symbol("n"), m = c.symbol("m"), k = c.symbol("k");
  Dim C(int64_t v) { return c.constant(v); }
  Dim parse(std::string_view text) {
    auto r = parseDim(c, text);
    EXPECT_TRUE(r.ok()) << text << ": " << (r.ok() ? "" : r.error().toString());
    return r.ok() ? *r : c.invalid();
  }
  int64_t at(Dim d, int64_t nValue, int64_t mValue = 0) {
    DimBinding b;
    b.set(n, nValue);
    b.set(m, mValue);
    auto r = evaluate(d, b);
    EXPECT_TRUE(r.ok()) << d.toString();
    return r.ok() ? *r : INT64_MIN;
  }
};

TEST_F(DimTest, equalSumsAreTheSameObject) {
  EXPECT_EQ(2 * (n + 1), n + n + 2);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ(n - n, C(0));
  EXPECT_EQ(n * 0, C(0));
  EXPECT_EQ(n * m * k, k * n * m);
  EXPECT_NE(n * n, n);
  EXPECT_NE(c.any("a"), c.any("b"));
}

TEST_F(DimTest, textIsReadableAndStable) {
  EXPECT_EQ((2 * (n + 1)).toString(), "2*n + 2");
  EXPECT_EQ((m - n).toString(), "m - n");
  EXPECT_EQ((n - m).toString(), "n - m");
  EXPECT_EQ((C(1) - n).toString(), "1 - n");
  EXPECT_EQ((C(-1) - n).toString(), "-n - 1");
  EXPECT_EQ((n * n + n * m * -3 + 1).toString(), "n*n - 3*m*n + 1");
  EXPECT_EQ(floorDiv(n, C(2)).toString(), "floordiv(n, 2)");
  EXPECT_EQ(min(min(n, m), k).toString(), "min(k, m, n)");
  EXPECT_EQ(min(min(n, m), k).operands().size(), 2u);
  EXPECT_EQ(c.any("NonZero counts values").toString(), "?0");
  EXPECT_EQ(C(INT64_MIN).toString(), "(-9223372036854775807 - 1)");
  EXPECT_EQ(parse(C(INT64_MIN).toString()), C(INT64_MIN));
  EXPECT_EQ(parse((n * INT64_MIN + 1).toString()), n * INT64_MIN + 1);
}

TEST_F(DimTest, textDoesNotDependOnTheOrderOfCreation) {
  DimContext d;
  Dim k2 = d.symbol("k"), m2 = d.symbol("m"), n2 = d.symbol("n");
  EXPECT_EQ(max(n + m * k, floorDiv(m, k)).toString(), max(floorDiv(m2, k2), k2 * m2 + n2).toString());
}

TEST_F(DimTest, floorDivRewrites) {
  EXPECT_EQ(floorDiv(4 * n + 6, C(2)), 2 * n + 3);
  EXPECT_EQ(floorDiv(4 * n + m, C(4)), n + floorDiv(m, C(4)));
  EXPECT_EQ(floorDiv(n - 1, C(2)) + 1, floorDiv(n + 1, C(2)));
  EXPECT_EQ(floorDiv(floorDiv(n, C(2)), C(3)), floorDiv(n, C(6)));
  EXPECT_EQ(floorDiv(floorDiv(n + 1, C(2)) + 1, C(2)), floorDiv(n + 3, C(4)));
  EXPECT_EQ(floorDiv(6 * n + 3, C(9)), floorDiv(2 * n + 1, C(3)));
  EXPECT_EQ(floorDiv(n, C(-2)), floorDiv(-1 * n, C(2)));
  EXPECT_EQ(floorDiv(n, C(1)), n);
  EXPECT_EQ(floorDiv(mod(n, C(4)), C(4)), C(0));
  EXPECT_EQ(floorDiv(C(-7), C(2)), C(-4));
  EXPECT_EQ(floorDiv(3 * n, C(2)), n + floorDiv(n, C(2)));
  EXPECT_EQ(ceilDiv(n, C(8)), floorDiv(n + 7, C(8)));
  EXPECT_EQ(ceilDiv(8 * n, C(8)), n);
  EXPECT_EQ(ceilDiv(C(-7), C(2)), C(-3));
  // m may be zero: nothing cancels.
  EXPECT_EQ(floorDiv(n * m, m).toString(), "floordiv(m*n, m)");
  EXPECT_EQ(floorDiv(C(0), m).toString(), "floordiv(0, m)");
}

TEST_F(DimTest, modRewrites) {
  EXPECT_EQ(mod(4 * n + 6, C(4)), C(2));
  EXPECT_EQ(mod(4 * n + m + 5, C(4)), mod(m + 1, C(4)));
  EXPECT_EQ(mod(2 * n + 5, C(4)), 2 * mod(n, C(2)) + 1);
  EXPECT_EQ(mod(2 * n, C(4)), 2 * mod(n, C(2)));
  EXPECT_EQ(mod(mod(n, C(8)), C(4)), mod(n, C(4)));
  EXPECT_EQ(mod(mod(n, C(4)), C(8)), mod(n, C(4)));
  EXPECT_EQ(mod(2 * mod(n, C(4)), C(30)), 2 * mod(n, C(4)));
  EXPECT_EQ(mod(n, C(1)), C(0));
  EXPECT_EQ(mod(C(5), C(-3)), C(-1));
  EXPECT_EQ(at(mod(n, C(-3)), 5), -1);
  EXPECT_EQ(at(mod(n, C(3)), -5), 1);
}

TEST_F(DimTest, minMaxRewrites) {
  EXPECT_EQ(min(n, n), n);
  EXPECT_EQ(min(n, n + 3), n);
  EXPECT_EQ(max(n - 1, n + 3), n + 3);
  EXPECT_EQ(max(C(2), C(7)), C(7));
  EXPECT_EQ(max(max(n, C(1)), max(C(5), n)), max(n, C(5)));
  EXPECT_EQ(min(n, max(n, m)), n);
  EXPECT_EQ(max(min(n, m), m), m);
  EXPECT_EQ(min(min(n, m), k), min(n, min(k, m)));
}

TEST_F(DimTest, overflowAndZeroDivisorsBecomeInvalidAndSpread) {
  Dim bad = C(INT64_MAX) + 1;
  EXPECT_TRUE(bad.isInvalid());
  EXPECT_TRUE(floorDiv(n, C(0)).isInvalid());
  EXPECT_TRUE(mod(n, C(0)).isInvalid());
  EXPECT_TRUE(ceilDiv(n, C(0)).isInvalid());
  EXPECT_TRUE(floorDiv(C(INT64_MIN), C(-1)).isInvalid());
  EXPECT_TRUE((n * INT64_MAX * 2).isInvalid());
  for (Dim d :
       {bad + n, n - bad, bad * 0, floorDiv(bad, n), mod(n, bad), ceilDiv(n, bad), min(bad, n), max(n, bad)})
    EXPECT_TRUE(d.isInvalid());
  EXPECT_EQ(evaluate(bad, {}).error().id, DiagnosticId::dimOverflow);
  EXPECT_EQ(parse("<invalid>"), bad);
}

// The canonical forms add numbers as large as the divisor, which must not overflow where the written form
// does not.
TEST_F(DimTest, quotientsByTheLargestNumbersDoNotOverflow) {
  for (int64_t k : {(int64_t{1} << 61) - 1, int64_t{1} << 61, (int64_t{1} << 61) + 1, int64_t{1} << 62,
                    INT64_MAX - 1, INT64_MAX, INT64_MIN + 1, INT64_MIN})
    for (int64_t x : {int64_t{-5}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{2}, int64_t{1} << 40}) {
      EXPECT_EQ(at(ceilDiv(n, C(k)), x), *checkedCeilDiv(x, k)) << x << " by " << k;
      EXPECT_EQ(at(floorDiv(n, C(k)), x), *checkedFloorDiv(x, k)) << x << " by " << k;
      EXPECT_EQ(at(floorDiv(n * -1, C(k)), x), *checkedFloorDiv(-x, k)) << x << " by " << k;
      EXPECT_EQ(at(mod(n, C(k)), x), *checkedMod(x, k)) << x << " by " << k;
      EXPECT_EQ(parse(ceilDiv(n, C(k)).toString()), ceilDiv(n, C(k)));
    }
  const Dim twice = floorDiv(floorDiv(n, C(int64_t{1} << 31)) + INT32_MAX, C(int64_t{1} << 31));
  EXPECT_EQ(at(twice, int64_t{1} << 62), 1);
}

TEST_F(DimTest, evaluationReportsItsErrors) {
  DimBinding b;
  EXPECT_EQ(evaluate(n, b).error().id, DiagnosticId::textName);
  b.set(n, INT64_MAX);
  b.set(m, 0);
  EXPECT_EQ(evaluate(n + 1, b).error().id, DiagnosticId::dimOverflow);
  EXPECT_EQ(evaluate(n * n, b).error().id, DiagnosticId::dimOverflow);
  EXPECT_EQ(evaluate(floorDiv(n, m), b).error().id, DiagnosticId::dimDomain);
  EXPECT_EQ(evaluate(mod(n, m), b).error().id, DiagnosticId::dimDomain);
  EXPECT_EQ(at(n * n, 3), 9);
}

TEST_F(DimTest, checkedArithmetic) {
  EXPECT_EQ(checkedAdd(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checkedMul(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checkedFloorDiv(-7, 2), -4);
  EXPECT_EQ(checkedFloorDiv(7, -2), -4);
  EXPECT_EQ(checkedCeilDiv(-7, 2), -3);
  EXPECT_EQ(checkedCeilDiv(7, 2), 4);
  EXPECT_EQ(checkedMod(-7, 3), 2);
  EXPECT_EQ(checkedMod(7, -3), -2);
  EXPECT_EQ(checkedMod(INT64_MIN, -1), 0);
  for (auto r :
       {checkedFloorDiv(1, 0), checkedCeilDiv(1, 0), checkedMod(1, 0), checkedFloorDiv(INT64_MIN, -1)})
    EXPECT_EQ(r, std::nullopt);
}

TEST_F(DimTest, namesAreCleanedWithoutMixingThemUp) {
  EXPECT_EQ(c.symbol("a b").toString(), "a_b");
  EXPECT_EQ(c.symbol("a b"), c.symbol("a_b"));  // the printed form names the same symbol
  EXPECT_NE(c.symbol("a:b"), c.symbol("a b"));
  EXPECT_EQ(c.symbol("a:b"), c.symbol("a:b"));
  EXPECT_EQ(c.symbol("2d").toString(), "_2d");
  EXPECT_EQ(c.symbol("").toString(), "_");
  EXPECT_TRUE(c.hasSymbol("a:b"));
  EXPECT_FALSE(c.hasSymbol("zz"));
  EXPECT_EQ(c.symbol("min") + 1, parse("min + 1"));
  Dim q = c.any("Shape of x");
  EXPECT_TRUE(c.isAnonymous(q.symbol()));
  EXPECT_EQ(c.symbolReason(q.symbol()), "Shape of x");
  EXPECT_FALSE(c.symbolReason(n.symbol()).empty());
}

TEST_F(DimTest, exporterTextIsUnderstood) {
  Dim h = c.symbol("h"), s0 = c.symbol("s0"), s1 = c.symbol("s1");
  EXPECT_EQ(parse("floor(h/2)"), floorDiv(h, C(2)));
  EXPECT_EQ(parse("floor(h/2 + 1/2)"), floorDiv(h + 1, C(2)));
  EXPECT_EQ(parse("floor(0.5*h - 0.5) + 1"), floorDiv(h - 1, C(2)) + 1);
  EXPECT_EQ(parse("ceiling(h/s0)"), ceilDiv(h, s0));
  EXPECT_EQ(parse("s0 + s1"), s0 + s1);
  EXPECT_EQ(parse("Max(1, s0)"), max(C(1), s0));
  EXPECT_EQ(parse("MIN(s0,s1, 4)"), min(min(s0, s1), C(4)));
  EXPECT_EQ(parse("(n*2)+1"), 2 * n + 1);
  EXPECT_EQ(parse("past_sequence_length + 1"), c.symbol("past_sequence_length") + 1);
  EXPECT_EQ(parse("past-1"), c.symbol("past") - 1);
  EXPECT_EQ(parse("unk__12"), c.symbol("unk__12"));
  EXPECT_EQ(parse("2*s0//5"), floorDiv(2 * s0, C(5)));
  EXPECT_EQ(parse("s0**2"), s0 * s0);
  EXPECT_EQ(parse("-s0**2"), -1 * s0 * s0);
  EXPECT_EQ(parse("s0**0"), C(1));
  EXPECT_EQ(parse("Mod(s0, 8)"), mod(s0, C(8)));
  EXPECT_EQ(parse("s0 % 8"), mod(s0, C(8)));
  EXPECT_EQ(parse("PythonMod(s0, 8) + CeilToInt(s0/8)"), mod(s0, C(8)) + ceilDiv(s0, C(8)));
  EXPECT_EQ(parse("(2*s0 + 4)/2"), s0 + 2);
  EXPECT_EQ(parse(" 12 "), C(12));
  EXPECT_EQ(parse("?7").toString(), "?7");
  EXPECT_EQ(parse("?7"), parse("?7"));
  EXPECT_NE(parse("?"), parse("?"));
}

TEST_F(DimTest, badTextGivesAnErrorWithItsColumn) {
  struct Bad {
    const char* text;
    uint32_t column;
  };
  const Bad bad[] = {
      {"", 1},      {"  ", 3},       {"1 +", 4},         {"(n", 3},      {"n)", 2},
      {"h/2", 1},   {"n m", 3},      {"2n", 2},          {"foo(n)", 1},  {"n ** m", 6},
      {"n**17", 6}, {"min()", 5},    {"floor(1,2)", 1},  {"$n", 1},      {"99999999999999999999", 19},
      {"n//0", 1},  {"\xc3\xa9", 1}, {"floordiv(n)", 1}, {"n**2**2", 5}, {"9223372036854775807 + 1", 1}};
  for (const Bad& b : bad) {
    auto r = parseDim(c, b.text);
    ASSERT_FALSE(r.ok()) << b.text << " gave " << r->toString();
    EXPECT_EQ(r.error().id, DiagnosticId::textSyntax) << b.text;
    EXPECT_EQ(r.error().place.column, b.column) << b.text << ": " << r.error().message;
  }
}

TEST_F(DimTest, nestingIsLimitedNotCrashing) {
  auto nested = [](int levels, std::string_view open) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += open;
    text += "n";
    for (int i = 0; i < levels; ++i) text += ")";
    return text;
  };
  EXPECT_TRUE(parseDim(c, nested(190, "(")).ok());
  EXPECT_EQ(parseDim(c, nested(30000, "(")).error().id, DiagnosticId::textSyntax);
  EXPECT_FALSE(parseDim(c, nested(9000, "floor(")).ok());
  EXPECT_EQ(parse(std::string(30000, '-') + "n"), n);
  EXPECT_FALSE(parseDim(c, std::string(100000, '1')).ok());
}

TEST_F(DimTest, substitutionRebuildsCanonically) {
  Dim d = floorDiv(2 * n + m, C(2)) + n * m;
  auto to = [&](SymbolId s) { return s == m.symbol() ? 2 * k : Dim(); };
  EXPECT_EQ(substitute(d, to), n + k + 2 * n * k);
  EXPECT_EQ(substitute(d, [](SymbolId) { return Dim(); }), d);
  EXPECT_EQ(symbolsOf(d), (std::vector<SymbolId>{n.symbol(), m.symbol()}));
}

TEST_F(DimTest, shapes) {
  EXPECT_EQ(toString(Shape{n, 2 * m, C(768)}), "(n, 2*m, 768)");
  EXPECT_EQ(toString(Shape{}), "()");
  EXPECT_EQ(elementCount(c, {}), C(1));
  EXPECT_EQ(elementCount(c, {n, C(2), m + 1}), 2 * n * m + 2 * n);
}

// A chain of 100,000 nested dims: no recursion, and each node is visited once.
TEST_F(DimTest, deepChainsDoNotOverflowTheStack) {
  Dim d = n;
  for (int i = 0; i < 100000; ++i) d = floorDiv(d + m, C(2));
  EXPECT_EQ(at(d, 5, 0), 0);
  EXPECT_EQ(symbolsOf(d).size(), 2u);
  Dim e = substitute(d, [&](SymbolId s) { return s == n.symbol() ? k : Dim(); });
  EXPECT_NE(e, d);
  EXPECT_LT(d.toString().size(), 70000u);
}

// Each size is made of the one before and another: their symbols are more than a set keeps.
TEST_F(DimTest, symbolsOfManyAreAllOfThem) {
  std::vector<Dim> chain{c.symbol("s0")};
  std::vector<SymbolId> symbols{chain[0].symbol()};
  for (int i = 1; i < 200; ++i) {
    const Dim next = c.symbol("s" + std::to_string(i));
    symbols.push_back(next.symbol());
    chain.push_back(mod(chain.back() + next, c.constant(1000 + i)));
  }
  const auto check = [&](size_t i) {
    const auto end = symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    EXPECT_EQ(symbolsOf(chain[i]), std::vector<SymbolId>(symbols.begin(), end)) << i;
  };
  check(150);  // before its parts were asked for, and after
  for (size_t i = 0; i < chain.size(); ++i) check(i);
  check(150);
}

TEST_F(DimTest, sharedPartsAreVisitedOnce) {
  Dim d = n;
  for (int i = 0; i < 200; ++i) d = mod(d, m + i) * floorDiv(d, m + i + 1);
  DimBinding b;
  b.set(n, 17);
  b.set(m, 3);
  EXPECT_TRUE(evaluate(d, b).ok());
  EXPECT_EQ(symbolsOf(d).size(), 2u);
}

TEST_F(DimTest, hugeSumsAndProductsAreKeptInParts) {
  Dim sum = C(0), product = C(1);
  DimBinding ones;
  for (int i = 0; i < 3000; ++i) {
    Dim s = c.symbol("x" + std::to_string(i));
    ones.set(s, 1);
    sum = sum + s;
    if (i % 3 == 2 && i < 60) product = product * (s + c.symbol("x" + std::to_string(i - 1)));
  }
  EXPECT_EQ(*evaluate(sum, ones), 3000);
  EXPECT_EQ(*evaluate(product, ones), 1 << 20);
  EXPECT_TRUE(parse(sum.toString()) == sum);
  ASSERT_LT(product.toString().size(), 60000u);
  EXPECT_TRUE(parse(product.toString()) == product);
  EXPECT_EQ(sum - sum, C(0));
  Dim power = n;
  for (int i = 1; i < 64; ++i) power = power * n;
  EXPECT_EQ(at(power, 1), 1);
  EXPECT_TRUE(parse(power.toString()) == power);
  EXPECT_TRUE((power * m).isInvalid());
}

TEST_F(DimTest, randomDimsKeepTheirValueAndTheirText) {
  RandomDims random(c, {n, m, k}, 12345);
  for (int round = 0; round < 4000; ++round) {
    RandomDims::Pair pair = random.next(4);
    DimContext fresh;
    auto again = parseDim(fresh, pair.dim.toString());
    ASSERT_TRUE(again.ok()) << pair.text << " → " << pair.dim.toString() << ": " << again.error().message;
    ASSERT_EQ(again->toString(), pair.dim.toString()) << pair.text;
    ASSERT_EQ(parse(pair.dim.toString()), pair.dim) << pair.text;
    for (int sample = 0; sample < 20; ++sample) {
      DimBinding b;
      for (Dim s : {n, m, k}) b.set(s, random.below(15) - 4);
      auto want = pair.value(b);
      if (!want) continue;
      auto got = evaluate(pair.dim, b);
      ASSERT_TRUE(got.ok()) << pair.text << " → " << pair.dim.toString();
      ASSERT_EQ(*got, *want) << pair.text << " → " << pair.dim.toString() << " at n=" << *b.get(n.symbol())
                             << " m=" << *b.get(m.symbol()) << " k=" << *b.get(k.symbol());
    }
  }
}

TEST_F(DimTest, substitutionCommutesWithEvaluation) {
  RandomDims random(c, {n, m, k}, 99);
  for (int round = 0; round < 1000; ++round) {
    Dim d = random.next(3).dim, r = random.next(2).dim;
    Dim replaced = substitute(d, [&](SymbolId s) { return s == n.symbol() ? r : Dim(); });
    for (int sample = 0; sample < 10; ++sample) {
      DimBinding b, inner;
      for (Dim s : {n, m, k}) b.set(s, random.below(9) - 2);
      inner = b;
      auto value = evaluate(r, b);
      if (!value.ok()) continue;
      inner.set(n, *value);
      auto want = evaluate(d, inner);
      if (!want.ok()) continue;
      auto got = evaluate(replaced, b);
      ASSERT_TRUE(got.ok()) << d.toString() << " with n = " << r.toString() << " → " << replaced.toString();
      ASSERT_EQ(*got, *want) << d.toString() << " with n = " << r.toString();
    }
  }
}

TEST_F(DimTest, randomTextNeverCrashesTheParser) {
  RandomDims random(c, {n}, 7);
  const std::string_view parts[] = {"n",  "m",    "2",      "17",        "+",        "-",    "*",
                                    "**", "/",    "//",     "%",         "(",        ")",    ",",
                                    " ",  "min(", "floor(", "Max(",      "ceildiv(", "mod(", "?",
                                    "?3", ".",    "0.5",    "<invalid>", "group(",   "\xff", "99999999999"};
  int parsed = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text;
    for (int64_t i = random.below(14); i >= 0; --i)
      text += random.below(20) == 0 ? std::string(1, static_cast<char>(random.below(256)))
                                    : std::string(parts[static_cast<size_t>(random.below(std::size(parts)))]);
    auto r = parseDim(c, text);
    if (r.ok()) {
      ++parsed;
      auto again = parseDim(c, r->toString());
      ASSERT_TRUE(again.ok()) << text << " → " << r->toString();
      ASSERT_EQ(again->toString(), r->toString()) << text;
    } else {
      ASSERT_EQ(r.error().id, DiagnosticId::textSyntax);
      ASSERT_GE(r.error().place.column, 1u);
    }
  }
  EXPECT_GT(parsed, 500);
}

}  // namespace
}  // namespace dyn
