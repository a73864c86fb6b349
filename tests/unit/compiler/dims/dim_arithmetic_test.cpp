// Shape arithmetic as models write it, and any at random, nested to depth 12: what the solver says is right, and no question takes long. Work is
// counted in the solver's steps, which are the same on every machine.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/dims/dim_compact.h"
#include "compiler/dims/dim_solver.h"
#include "tests/unit/compiler/dims/random_dim.h"

namespace dyn {
namespace {

constexpr int kQuestions = 1000;
constexpr uint64_t kMostSteps =
    16000;  // of one question: a few times the solver's budget, as answers are remembered beside it

// Sizes through a network: padded to a multiple, rolled, halved, cut, joined. Each step is written in one of two ways that give the same value.
class ModelSizes {
 public:
  ModelSizes(std::vector<Dim> symbols, RandomDims& random) : symbols_(std::move(symbols)), random_(random) {}

  // Two dims of the same value, by different ways.
  std::pair<Dim, Dim> next(int depth) {
    std::pair<Dim, Dim> x{random_.symbol(), Dim()};
    x.second = x.first;
    for (int i = 0; i < depth; ++i) x = step(x);
    return x;
  }

 private:
  std::pair<Dim, Dim> step(std::pair<Dim, Dim> x) {
    const int64_t k = random_.below(7) + 2, c = random_.below(5);
    auto constant = [&](int64_t v) { return x.first.context().constant(v); };
    auto [a, b] = x;
    switch (random_.below(8)) {
      case 0:  // padded to whole windows
        return {a + mod(constant(k) - mod(a, constant(k)), constant(k)), ceilDiv(b, constant(k)) * k};
      case 1:  // rolled
        return {a, min(b, constant(c)) + max(b - c, constant(0))};
      case 2:  // halved, rounded up
        return {floorDiv(a + mod(a, constant(2)), constant(2)), ceilDiv(b, constant(2))};
      case 3:  // cut to what was there before
        return {min(a, a + k), max(min(b, b + k), constant(0))};
      case 4:  // a window with strides
        return {floorDiv(max(a - k, constant(0)), constant(2)) + 1,
                floorDiv(max(b - k, constant(0)) + 2, constant(2))};
      case 5:  // another axis joined
        return {a + symbols_[0], compact(b + symbols_[0])};
      case 6: {  // a choice of two axes
        const Dim other = symbols_[1] + c;
        return {max(a, other), a == b ? max(other, b) : b - min(b - other, constant(0))};
      }
      default:  // tiles
        return {floorDiv(a, constant(k)) * k + mod(a, constant(k)) + c, b + c};
    }
  }

  std::vector<Dim> symbols_;
  RandomDims& random_;
};

struct Questions {
  DimContext c;
  std::vector<Dim> symbols;
  std::vector<DimBinding> assignments;
  int yes = 0, no = 0, unknown = 0, counterexamples = 0;
  uint64_t most = 0, all = 0;

  Questions() {
    for (const char* name : {"h", "w", "b"}) symbols.push_back(c.symbol(name));
    for (int64_t i = 0; i < 80; ++i) {
      DimBinding at;
      at.set(symbols[0], i < 40 ? i % 7 : i * 13 % 97);
      at.set(symbols[1], i < 40 ? i / 7 : i * 29 % 53);
      at.set(symbols[2], i % 5);
      assignments.push_back(at);
    }
  }

  void count(Answer answer, uint64_t steps) {
    ++(answer == Answer::yes ? yes : answer == Answer::no ? no : unknown);
    most = std::max(most, steps);
    all += steps;
  }

  template <typename Holds>
  void check(Answer answer, Dim x, Dim y, Holds holds, const char* what) {
    if (answer == Answer::unknown) return;
    for (const DimBinding& at : assignments) {
      auto p = evaluate(x, at), q = evaluate(y, at);
      if (!p.ok() || !q.ok()) continue;
      ASSERT_EQ(holds(*p, *q), answer == Answer::yes)
          << what << ": " << x.toString() << " = " << *p << ", " << y.toString() << " = " << *q;
    }
  }

  void askAll(const DimSolver& s, Dim x, Dim y, int64_t divisor, bool search) {
    uint64_t before = s.stepCount();
    auto spent = [&] { return s.stepCount() - std::exchange(before, s.stepCount()); };
    Answer answer = s.equal(x, y);
    count(answer, spent());
    check(
        answer, x, y, [](int64_t p, int64_t q) { return p == q; }, "equal");
    const bool same = answer == Answer::yes;
    answer = s.lessEqual(x, y);
    count(answer, spent());
    check(
        answer, x, y, [](int64_t p, int64_t q) { return p <= q; }, "at most");
    answer = s.divides(divisor, x);
    count(answer, spent());
    check(
        answer, x, y, [&](int64_t p, int64_t) { return p % divisor == 0; }, "divides");
    if (!search) return;
    auto found = s.counterexampleEqual(x, y);
    if (!found) return;
    ++counterexamples;
    DimBinding at;
    for (Dim symbol : symbols) at.set(symbol, 1);
    for (auto [symbol, value] : *found) at.set(symbol, value);
    ASSERT_FALSE(same);
    ASSERT_NE(*evaluate(x, at), *evaluate(y, at)) << x.toString() << ", " << y.toString();
  }
};

TEST(DimArithmetic, sizesOfModelsAreAnsweredRightlyAndSoon) {
  Questions q;
  DimSolver s(q.c);
  RandomDims random(q.c, q.symbols, 7);
  ModelSizes sizes(q.symbols, random);
  int provenSame = 0;
  for (int i = 0; i < kQuestions && !testing::Test::HasFatalFailure(); ++i) {
    auto [x, same] = sizes.next(1 + i % 12);
    for (const DimBinding& at : q.assignments) {
      auto p = evaluate(x, at), r = evaluate(same, at);
      ASSERT_TRUE(p.ok() && r.ok() && *p == *r) << x.toString() << " and " << same.toString();
    }
    if (s.equal(x, same) == Answer::yes) ++provenSame;
    const Dim y = i % 3 == 0 ? same : i % 3 == 1 ? x + random.below(3) : sizes.next(1 + i % 12).first;
    q.askAll(s, x, y, random.below(6) + 1, i % 10 == 0);
  }
  // A solver that knows nothing would fail here; of what nests twelve deep much stays unknown.
  EXPECT_GT(provenSame, kQuestions / 4);
  EXPECT_GT(q.yes, 700);
  EXPECT_GT(q.no, 100);
  EXPECT_GT(q.counterexamples, 30);
  EXPECT_LT(q.most, kMostSteps);
  EXPECT_LT(q.all / (3 * kQuestions), 400u);
  RecordProperty("provenSame", provenSame);
  RecordProperty("mostSteps", static_cast<int>(q.most));
  RecordProperty("meanSteps", static_cast<int>(q.all / (3 * kQuestions)));
}

TEST(DimArithmetic, anyArithmeticIsAnsweredRightlyAndSoon) {
  Questions q;
  DimSolver s(q.c);
  RandomDims random(q.c, q.symbols, 11);
  ASSERT_TRUE(s.addRange(q.symbols[2], 0, 4, {"few", {}}).ok());
  for (int i = 0; i < kQuestions && !testing::Test::HasFatalFailure(); ++i) {
    const Dim x = random.next(1 + i % 12).dim, y = i % 3 ? random.next(1 + i % 12).dim : x + random.below(3);
    if (x.isInvalid() || y.isInvalid()) continue;
    q.askAll(s, x, y, random.below(6) + 1, i % 10 == 0);
  }
  EXPECT_GT(q.yes, 200);
  EXPECT_GT(q.no, 200);
  EXPECT_GT(q.counterexamples, 20);
  EXPECT_LT(q.most, kMostSteps);
  EXPECT_LT(q.all / (3 * kQuestions), 400u);
  RecordProperty("mostSteps", static_cast<int>(q.most));
  RecordProperty("meanSteps", static_cast<int>(q.all / (3 * kQuestions)));
}

// What is remembered holds as long as nothing is learnt, and comes back when it is taken back.
TEST(DimArithmetic, factsChangeWhatIsRemembered) {
  DimContext c;
  DimSolver s(c);
  const Dim n = c.symbol("n"), m = c.symbol("m");
  const Dim cut = min(n, m) - min(n, c.constant(8));
  EXPECT_EQ(s.lessEqual(c.constant(0), cut), Answer::unknown);
  EXPECT_EQ(s.lessEqual(c.constant(0), cut), Answer::unknown);
  const size_t mark = s.mark();
  ASSERT_TRUE(s.addRange(m, 8, std::nullopt, {"large", {}}).ok());
  EXPECT_EQ(s.lessEqual(c.constant(0), cut), Answer::yes);
  ASSERT_TRUE(s.addEqual(n, m + 1, {"one more", {}}).ok());
  EXPECT_EQ(s.equal(min(n, m), m), Answer::yes);
  s.rollback(mark);
  EXPECT_EQ(s.lessEqual(c.constant(0), cut), Answer::unknown);
  EXPECT_EQ(s.equal(min(n, m), m), Answer::unknown);
  ASSERT_TRUE(s.addRange(m, 0, 3, {"small", {}}).ok());
  EXPECT_EQ(s.lessEqual(c.constant(0), cut), Answer::unknown);
  EXPECT_EQ(s.lessEqual(min(n, m), c.constant(3)), Answer::yes);
}

// A question that was asked costs next to nothing when it is asked again.
TEST(DimArithmetic, theSameQuestionAgainIsRemembered) {
  DimContext c;
  DimSolver s(c);
  RandomDims random(c, {c.symbol("h"), c.symbol("w")}, 3);
  ModelSizes sizes({c.symbol("h"), c.symbol("w")}, random);
  for (int i = 0; i < 50; ++i) {
    const Dim x = sizes.next(12).first, y = sizes.next(12).first;
    const Answer first = s.equal(x, y), order = s.lessEqual(x, y);
    const uint64_t before = s.stepCount();
    EXPECT_EQ(s.equal(x, y), first);
    EXPECT_EQ(s.lessEqual(x, y), order);
    EXPECT_LT(s.stepCount() - before, 5000u);
  }
}

// A chain of cuts, each of what the one before left, as deep as a network: work in all stays linear.
TEST(DimArithmetic, deepChainsCostTheSameAtEachStep) {
  auto stepsFor = [](int count) {
    DimContext c;
    DimSolver s(c);
    Dim d = c.symbol("n");
    for (int i = 0; i < count; ++i) {
      const Dim next = max(c.constant(0), max(d - 1, c.constant(0)) - min(d, c.constant(1)));
      EXPECT_NE(s.lessEqual(next, d), Answer::no);
      EXPECT_EQ(s.lessEqual(c.constant(0), next), Answer::yes);
      d = next;
    }
    return s.stepCount();
  };
  const uint64_t few = stepsFor(200), many = stepsFor(2000);
  EXPECT_LT(many, 12 * few);
}

TEST(DimArithmetic, partsThatComeTogetherAgainAreOne) {
  DimContext c;
  const Dim n = c.symbol("n"), k = c.constant(7);
  EXPECT_EQ(compact(min(c.constant(3), n) + max(c.constant(0), n - 3)), n);
  EXPECT_EQ(compact(n + mod(c.constant(0) - n, k)), floorDiv(n + 6, k) * 7);
  EXPECT_EQ(compact(n + min(n, c.constant(3))), n + min(n, c.constant(3)));
  EXPECT_EQ(floorDiv(n + mod(c.constant(0) - n, k), k), floorDiv(n + 6, k));
  EXPECT_EQ(floorDiv(n + mod(c.constant(0) - n, c.constant(2)) + 1, c.constant(2)),
            floorDiv(n + 1, c.constant(2)));
  EXPECT_EQ(c.constant(0) - floorDiv(c.constant(0) - n, k), ceilDiv(n, k));
}

}  // namespace
}  // namespace dyn
