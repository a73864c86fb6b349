#include "compiler/dims/dim_solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dyn {
namespace {

using testing::HasSubstr;

struct DimSolverTest : testing::Test {
  DimContext c;
  Dim n = c.symbol("n"), m = c.symbol("m"), k = c.symbol("k"), p = c.symbol("p");
  DimSolver s{c};
  Dim C(int64_t v) { return c.constant(v); }
  static Reason why(std::string text = "test") { return {std::move(text), {}}; }
  void equate(Dim a, Dim b, std::string text = "test") {
    ASSERT_TRUE(s.addEqual(a, b, why(text)).ok()) << a.toString();
  }
  void range(Dim a, std::optional<int64_t> low, std::optional<int64_t> high, std::string text = "test") {
    ASSERT_TRUE(s.addRange(a, low, high, why(text)).ok()) << a.toString();
  }
  void multiple(Dim a, int64_t of) { ASSERT_TRUE(s.addMultipleOf(a, of, why()).ok()) << a.toString(); }
  static std::vector<std::string> texts(const std::vector<Fact>& facts) {
    std::vector<std::string> out;
    for (const Fact& f : facts) out.push_back(f.reason.text);
    return out;
  }
};

TEST_F(DimSolverTest, nothingIsAssumed) {
  EXPECT_EQ(s.equal(n, m), Answer::unknown);
  EXPECT_EQ(s.equal(c.any("a"), c.any("b")), Answer::unknown);
  EXPECT_EQ(s.equal(n, n + 1), Answer::no);
  EXPECT_EQ(s.equal(2 * n, 2 * m + 1), Answer::no);   // even and odd
  EXPECT_EQ(s.equal(n + 3, C(2)), Answer::no);        // a dim is not negative
  EXPECT_EQ(s.equal(n * 4, n * 5), Answer::unknown);  // at n = 0
  EXPECT_EQ(s.equal(c.invalid(), c.invalid()), Answer::unknown);
  EXPECT_EQ(s.lessEqual(n, n + 1), Answer::yes);
  EXPECT_EQ(s.lessEqual(n + 1, n), Answer::no);
  EXPECT_EQ(s.lessEqual(n, n * n), Answer::yes);
  EXPECT_EQ(s.lessEqual(C(0), n * m), Answer::yes);
}

TEST_F(DimSolverTest, equalitiesClose) {
  equate(n, m);
  equate(m, k);
  EXPECT_EQ(s.equal(n * 4 + 1, k * 4 + 1), Answer::yes);
  EXPECT_EQ(s.equal(floorDiv(n + 1, C(2)), floorDiv(k + 1, C(2))), Answer::yes);
  EXPECT_EQ(s.canonical(k + m), 2 * n);
  equate(k, C(7));
  EXPECT_EQ(s.canonical(n * m), C(49));
  EXPECT_EQ(s.equal(n, C(8)), Answer::no);
}

TEST_F(DimSolverTest, representativesAreNamedAndOld) {
  Dim q = c.any("Shape of x");
  equate(q, m);
  EXPECT_EQ(s.canonical(q), m);
  Dim r = c.any("Shape of y");
  equate(n, r);
  equate(q, r);
  EXPECT_EQ(s.canonical(m), n);
  EXPECT_EQ(s.canonical(q), n);
}

TEST_F(DimSolverTest, mixedFormsAreSolved) {
  equate(2 * n + 1, m);
  EXPECT_EQ(s.canonical(m), 2 * n + 1);
  EXPECT_EQ(s.divides(2, m), Answer::no);
  EXPECT_EQ(s.interval(m).low, 1);
  equate(k, floorDiv(m, C(2)));
  EXPECT_EQ(s.equal(k, n), Answer::yes);
  // The occurs check: p = p*n is no definition of p.
  equate(p, p * n);
  EXPECT_EQ(s.canonical(p), p);
  EXPECT_EQ(s.equal(p, p * n), Answer::yes);
}

TEST_F(DimSolverTest, aDefinitionKeepsTheRangeOfItsSymbol) {
  Dim q = c.any("Slice");
  equate(q, n - 5);
  EXPECT_EQ(s.lessEqual(C(5), n), Answer::yes);
  range(q, std::nullopt, 3);
  EXPECT_EQ(s.interval(n).high, 8);
  multiple(q, 2);
  EXPECT_EQ(s.divides(2, n - 5), Answer::yes);
  EXPECT_EQ(s.divides(2, n), Answer::no);
}

TEST_F(DimSolverTest, whatCanNotBeSolvedIsStillUsed) {
  equate(n * m, k * p);
  EXPECT_EQ(s.equal(n * m * 2, k * p * 2), Answer::yes);
  EXPECT_EQ(s.equal(n, k), Answer::unknown);
  equate(m, p);  // n*m = k*m: m may be 0
  EXPECT_EQ(s.equal(n, k), Answer::unknown);
  EXPECT_EQ(s.equal(n * p, k * m), Answer::yes);
}

TEST_F(DimSolverTest, aFactorKnownNotToBeZeroIsCancelled) {
  range(m, 1, std::nullopt);
  ASSERT_TRUE(s.addEqualProduct(n * m, k * m, why()).ok());
  EXPECT_EQ(s.equal(n, k), Answer::yes);
  EXPECT_EQ(s.equal(floorDiv(p * m, m), p), Answer::yes);
  DimSolver fresh(c);
  EXPECT_EQ(fresh.equal(floorDiv(p * m, m), p), Answer::unknown);
}

TEST_F(DimSolverTest, equalProductsOfAReshape) {
  ASSERT_TRUE(s.addEqualProduct(n * m * 12, k * p, why()).ok());
  EXPECT_EQ(s.equalElementCount({n, m, C(12)}, {k, p}), Answer::yes);
  EXPECT_EQ(s.equalElementCount({n, m}, {k, p}), Answer::unknown);
  EXPECT_EQ(s.equalElementCount({}, {C(1), C(1)}), Answer::yes);
}

TEST_F(DimSolverTest, shapes) {
  equate(n, m);
  EXPECT_EQ(s.equalShapes({n, C(2)}, {m, C(2)}), Answer::yes);
  EXPECT_EQ(s.equalShapes({n}, {m, C(1)}), Answer::no);
  EXPECT_EQ(s.equalShapes({n, k}, {m, p}), Answer::unknown);
  EXPECT_EQ(s.equalShapes({k, C(2)}, {p, C(3)}), Answer::no);
}

TEST_F(DimSolverTest, ranges) {
  range(n, 1, 512);
  EXPECT_EQ(s.lessEqual(n, C(512)), Answer::yes);
  EXPECT_EQ(s.lessEqual(C(513), n), Answer::no);
  EXPECT_EQ(s.lessEqual(m, n * m), Answer::yes);
  EXPECT_EQ(s.equal(max(n, C(1)), n), Answer::yes);
  EXPECT_EQ(s.equal(min(n, C(600)), n), Answer::yes);
  EXPECT_EQ(s.equal(floorDiv(n, C(1024)), C(0)), Answer::yes);
  EXPECT_EQ(s.equal(mod(n, C(1024)), n), Answer::yes);
  range(n, 512, std::nullopt);
  EXPECT_EQ(s.canonical(n), C(512));
}

TEST_F(DimSolverTest, rangesOfSums) {
  range(m - n, 0, std::nullopt);  // n <= m
  EXPECT_EQ(s.lessEqual(n, m), Answer::yes);
  EXPECT_EQ(s.lessEqual(2 * n, 2 * m + 1), Answer::yes);
  EXPECT_EQ(s.equal(min(n, m), n), Answer::yes);
  EXPECT_EQ(s.lessEqual(m, n), Answer::unknown);
  range(k - m, 1, std::nullopt);
  EXPECT_EQ(s.lessEqual(n + 1, k), Answer::yes);
  EXPECT_EQ(s.equal(n, k), Answer::no);
  range(n - m, 0, std::nullopt);
  EXPECT_EQ(s.equal(n, m), Answer::yes);
  range(n + p, std::nullopt, 10);
  EXPECT_EQ(s.interval(p).high, 10);
}

TEST_F(DimSolverTest, aRangeMayLowerTheDefault) {
  range(n, -4, 3);
  EXPECT_EQ(s.lessEqual(C(0), n), Answer::unknown);
  EXPECT_EQ(s.lessEqual(C(-4), n), Answer::yes);
  range(m, -3, -3);
  EXPECT_EQ(s.canonical(m), C(-3));
}

TEST_F(DimSolverTest, divisibility) {
  multiple(n, 8);
  EXPECT_EQ(s.divides(4, n), Answer::yes);
  EXPECT_EQ(s.divides(16, n), Answer::unknown);
  EXPECT_EQ(s.divides(8, n * m + 16), Answer::yes);
  EXPECT_EQ(s.divides(8, n + 3), Answer::no);
  EXPECT_EQ(s.divides(0, n), Answer::unknown);
  EXPECT_EQ(s.equal(floorDiv(n, C(8)) * 8, n), Answer::yes);
  EXPECT_EQ(s.equal(mod(n, C(8)), C(0)), Answer::yes);
  EXPECT_EQ(s.equal(floorDiv(n + 3, C(8)), floorDiv(n, C(8))), Answer::yes);
  EXPECT_EQ(s.equal(ceilDiv(n, C(8)), floorDiv(n, C(8))), Answer::yes);
  EXPECT_EQ(s.equal(floorDiv(m, C(4)) * 4 + mod(m, C(4)), m), Answer::yes);
  range(n, 1, 23);
  EXPECT_EQ(s.interval(n).low, 8);
  EXPECT_EQ(s.interval(n).high, 16);
  multiple(3 * m + 1, 5);  // m ≡ 3 (mod 5)
  EXPECT_EQ(s.divides(5, m - 3), Answer::yes);
  EXPECT_EQ(s.divides(5, m), Answer::no);
}

TEST_F(DimSolverTest, quotientBounds) {
  EXPECT_EQ(s.lessEqual(floorDiv(n, C(2)), n), Answer::yes);
  EXPECT_EQ(s.lessEqual(floorDiv(n + 1, C(2)) * 2, n + 1), Answer::yes);
  EXPECT_EQ(s.lessEqual(n, ceilDiv(n, C(8)) * 8), Answer::yes);
  EXPECT_EQ(s.lessEqual(ceilDiv(n, C(8)) * 8, n + 7), Answer::yes);
  EXPECT_EQ(s.lessEqual(ceilDiv(n, C(8)) * 8, n + 6), Answer::unknown);
  EXPECT_EQ(s.lessEqual(mod(n, C(8)), n), Answer::yes);
  EXPECT_EQ(s.lessEqual(mod(n, C(8)), C(7)), Answer::yes);
  EXPECT_EQ(s.lessEqual(min(n, m), m + 1), Answer::yes);
  EXPECT_EQ(s.lessEqual(n, max(n, m) + k), Answer::yes);
  EXPECT_EQ(s.lessEqual(max(n, m), n + m), Answer::yes);
  EXPECT_EQ(s.lessEqual(max(n, m), n), Answer::unknown);
}

// What a quotient of quotients shares with the other terms falls away before these are bounded: windows over
// every second row of an image, padded to whole windows (Swin).
TEST_F(DimSolverTest, quotientsOfQuotients) {
  const Dim half = floorDiv(n, C(4)) - floorDiv(n, C(8));
  EXPECT_EQ(s.lessEqual(half, 7 * floorDiv(half + 6, C(7))), Answer::yes);
  EXPECT_EQ(s.lessEqual(7 * floorDiv(half, C(7)), half), Answer::yes);
  EXPECT_EQ(s.lessEqual(7 * floorDiv(half + 6, C(7)), half + 6), Answer::yes);
  EXPECT_EQ(s.lessEqual(half, 7 * floorDiv(half + 5, C(7))), Answer::unknown);
  EXPECT_EQ(s.lessEqual(7 * floorDiv(half + 6, C(7)), half), Answer::unknown);
}

// What exporters' slices and broadcasts leave of a size: as many, if there are any.
TEST_F(DimSolverTest, sizesOfWhatIsThere) {
  const Dim none = C(0), one = C(1), most = C(128);
  EXPECT_EQ(s.equal(n * min(one, n), n), Answer::yes);
  EXPECT_EQ(s.equal(min(most, n) * min(one, n), min(most, n)), Answer::yes);
  EXPECT_EQ(s.equal(n * min(one, m), n), Answer::unknown);
  EXPECT_EQ(s.equal((n + 1) * min(one, n), n + 1), Answer::unknown);
  EXPECT_EQ(s.equal(max(none, n * min(one, max(none, n)) - n), none), Answer::yes);
  EXPECT_EQ(s.equal(most - max(none, most - n), min(most, n)), Answer::yes);
  EXPECT_EQ(s.equal(one + max(none, n - 1), max(one, n)), Answer::yes);
  EXPECT_EQ(s.equal(most - max(none, most - n), n), Answer::unknown);
  const Dim cut = min(most, n) - min(min(most, n), max(none, min(most, n) * min(one, n) - n));
  EXPECT_EQ(s.equal(min(one, n) * min(one, cut) * max(n, cut), n), Answer::yes);
}

TEST_F(DimSolverTest, contradictionsNameBothReasonsAndChangeNothing) {
  range(n, 1, 4, "user: --dim n=1..4");
  Status status = s.addEqual(n, C(5), why("Concat needs it"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().id, DiagnosticId::shapeMismatch);
  EXPECT_THAT(status.error().message, HasSubstr("Concat needs it"));
  EXPECT_THAT(status.error().message, HasSubstr("user: --dim n=1..4"));
  EXPECT_EQ(s.facts().size(), 1u);
  EXPECT_EQ(s.interval(n).high, 4);
  equate(m, k, "first");
  equate(k, p, "second");
  equate(m, C(3), "third");
  status = s.addEqual(p, C(4), why("fourth"));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().toString(),
              testing::AllOf(HasSubstr("first"), HasSubstr("second"), HasSubstr("third")));
  EXPECT_EQ(s.canonical(p), C(3));
  EXPECT_FALSE(s.addMultipleOf(p, 2, why()).ok());
  EXPECT_FALSE(s.addRange(p, 4, std::nullopt, why()).ok());
  EXPECT_FALSE(s.addRange(p, 5, 1, why()).ok());
  EXPECT_FALSE(s.addEqual(C(1), C(2), why()).ok());
  EXPECT_FALSE(s.addEqual(c.invalid(), n, why()).ok());
  EXPECT_FALSE(s.addRange(4 * c.symbol("z"), 1, 3, why()).ok());
  EXPECT_EQ(s.facts().size(), 4u);
}

TEST_F(DimSolverTest, markAndRollbackNest) {
  equate(n, m);
  size_t outer = s.mark();
  range(k, 3, 9);
  equate(k * n, p);
  size_t inner = s.mark();
  equate(k, C(4));
  EXPECT_EQ(s.canonical(p), 4 * n);
  s.rollback(inner);
  EXPECT_EQ(s.canonical(k), k);
  EXPECT_EQ(s.interval(k).low, 3);
  EXPECT_EQ(s.equal(p, k * m), Answer::yes);
  s.rollback(outer);
  EXPECT_EQ(s.interval(k).low, 0);
  EXPECT_EQ(s.interval(k).high, std::nullopt);
  EXPECT_EQ(s.equal(p, k * m), Answer::unknown);
  EXPECT_EQ(s.equal(n, m), Answer::yes);
  EXPECT_EQ(s.facts().size(), 1u);
}

TEST_F(DimSolverTest, aCopyLearnsOnItsOwn) {
  equate(n, m);
  DimSolver copy(s);
  ASSERT_TRUE(copy.addEqual(n, C(4), why()).ok());
  EXPECT_EQ(copy.canonical(m), C(4));
  EXPECT_EQ(s.canonical(m), n);
  EXPECT_EQ(s.facts().size(), 1u);
}

TEST_F(DimSolverTest, explanationsAreChains) {
  std::vector<Dim> x;
  for (int i = 0; i < 10; ++i) x.push_back(c.symbol("x" + std::to_string(i)));
  for (int i = 0; i + 1 < 10; ++i)
    equate(x[static_cast<size_t>(i)], x[static_cast<size_t>(i) + 1], "link " + std::to_string(i));
  range(n, 1, 8, "range of n");
  multiple(m, 4);
  EXPECT_EQ(texts(s.explainEqual(x[5], x[7])), (std::vector<std::string>{"link 5", "link 6"}));
  EXPECT_EQ(texts(s.explainEqual(x[7], x[5])), (std::vector<std::string>{"link 6", "link 5"}));
  EXPECT_EQ(texts(s.explainEqual(x[3] * 2 + n, x[4] * 2 + n)), (std::vector<std::string>{"link 3"}));
  EXPECT_EQ(texts(s.explainLessEqual(n, C(9))), (std::vector<std::string>{"range of n"}));
  EXPECT_EQ(texts(s.explainEqual(n, C(11))), (std::vector<std::string>{"range of n"}));
  EXPECT_EQ(texts(s.explainEqual(floorDiv(m, C(4)) * 4, m)), (std::vector<std::string>{"test"}));
  EXPECT_TRUE(s.explainEqual(n, m).empty());
  EXPECT_TRUE(s.explainEqual(n, n + 1).empty());
  EXPECT_EQ(s.facts()[9].toString(), "n in 1..8 (range of n)");
  EXPECT_EQ(s.factsAbout(x[5].symbol()).size(), 2u);
}

TEST_F(DimSolverTest, counterexamplesObeyTheFacts) {
  range(n, 3, 9);
  multiple(n, 3);
  equate(m, 2 * n);
  auto found = s.counterexampleEqual(m, C(12));
  ASSERT_TRUE(found.has_value());
  DimBinding b;
  for (auto [symbol, value] : *found) b.set(symbol, value);
  EXPECT_EQ(*b.get(m.symbol()), 2 * *b.get(n.symbol()));
  EXPECT_NE(*b.get(m.symbol()), 12);
  EXPECT_FALSE(s.counterexampleEqual(m, n + n).has_value());
  EXPECT_TRUE(s.counterexampleEqual(k, p).has_value());
}

TEST_F(DimSolverTest, likelyValuesAreKept) {
  s.addLikely(n, {128, 256}, why("observed"));
  ASSERT_EQ(s.factsAbout(n.symbol()).size(), 1u);
  EXPECT_EQ(s.factsAbout(n.symbol())[0].toString(), "n is likely 128, 256 (observed)");
  EXPECT_EQ(s.equal(n, C(128)), Answer::unknown);
}

// Work per fact and question stays flat: steps are counted, not seconds.
TEST_F(DimSolverTest, aHundredThousandFactsStayCheap) {
  const int count = 100000;
  std::vector<Dim> x;
  for (int i = 0; i < count; ++i) x.push_back(c.any("op " + std::to_string(i)));
  // Newest first: the definitions form one long chain.
  for (size_t i = x.size() - 1; i > 0; --i) ASSERT_TRUE(s.addEqual(x[i], x[i - 1], why()).ok());
  EXPECT_EQ(s.equal(x.front() * 3, x.back() * 3), Answer::yes);
  EXPECT_LT(s.stepCount(), 60u * count);
  uint64_t before = s.stepCount();
  for (size_t i = 0; i < x.size(); i += 10) ASSERT_EQ(s.equal(x[i], x.back()), Answer::yes);
  EXPECT_LT(s.stepCount() - before, 10u * count);
  EXPECT_EQ(s.explainEqual(x[10], x[14]).size(), 4u);
}

TEST_F(DimSolverTest, factsBetweenQuestionsStayCheap) {
  Dim batch = c.symbol("batch");
  range(batch, 1, 64);
  Dim previous = batch;
  const int count = 50000;
  for (int i = 0; i < count; ++i) {
    Dim x = c.any("op");
    ASSERT_TRUE(s.addEqual(x, previous, why()).ok());
    ASSERT_EQ(s.equal(x * 4 + 1, batch * 4 + 1), Answer::yes);
    ASSERT_EQ(s.lessEqual(x, C(64)), Answer::yes);
    previous = x;
  }
  EXPECT_LT(s.stepCount(), 100u * count);
}

TEST_F(DimSolverTest, longArithmeticChainsResolve) {
  std::vector<Dim> x{c.symbol("x")};
  for (int i = 0; i < 20000; ++i) x.push_back(c.any("op"));
  for (size_t i = 0; i + 1 < x.size(); ++i) ASSERT_TRUE(s.addEqual(x[i + 1], x[i] + 1, why()).ok());
  EXPECT_EQ(s.equal(x.back(), x.front() + 20000), Answer::yes);
  EXPECT_EQ(s.lessEqual(x[100], x[99]), Answer::no);
}

TEST_F(DimSolverTest, hostileQuestionsEndInUnknown) {
  Dim a = n, b = m;
  for (int i = 0; i < 40; ++i) {
    a = max(a + m * i, floorDiv(b + i, C(3)));
    b = min(b * 2 + a, mod(a + i, m + 3));
  }
  uint64_t before = s.stepCount();
  s.equal(a, b);
  s.lessEqual(a, b);
  EXPECT_LT(s.stepCount() - before, 400000u);
}

}  // namespace
}  // namespace dyn
