// Random facts and questions against brute force: the solver may say unknown, but it may never be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/dims/dim_solver.h"
#include "tests/unit/compiler/dims/random_dim.h"

namespace dyn {
namespace {

struct World {
  DimContext c;
  std::vector<Dim> symbols;
  std::vector<DimBinding> allowed;  // small assignments that satisfy every fact

  World() {
    for (const char* name : {"a", "b", "d"}) symbols.push_back(c.symbol(name));
    symbols.push_back(c.any("unknown"));
    for (int64_t i = 0; i < 6 * 6 * 6 * 6; ++i) {
      DimBinding b;
      b.set(symbols[0], i % 6);
      b.set(symbols[1], i / 6 % 6);
      b.set(symbols[2], i / 36 % 6);
      b.set(symbols[3], i / 216);
      allowed.push_back(b);
    }
  }
  template <typename Holds>
  std::vector<DimBinding> filtered(Holds holds) const {
    std::vector<DimBinding> out;
    for (const DimBinding& b : allowed)
      if (holds(b)) out.push_back(b);
    return out;
  }
};

bool satisfies(const Fact& f, const DimBinding& b) {
  auto x = evaluate(f.a, b);
  if (!x.ok()) return false;
  switch (f.kind) {
    case FactKind::range:
      return (!f.low || *x >= *f.low) && (!f.high || *x <= *f.high);
    case FactKind::multipleOf:
      return *x % f.multiple == 0;
    case FactKind::likely:
      return true;
    default: {
      auto y = evaluate(f.b, b);
      return y.ok() && *x == *y;
    }
  }
}

std::string describe(const DimSolver& s) {
  std::string text;
  for (const Fact& f : s.facts()) text += "  " + f.toString() + "\n";
  return text;
}

struct Counts {
  int yes = 0, no = 0, unknown = 0, contradictions = 0, counterexamples = 0;
};

void checkQuestions(World& w, const DimSolver& s, RandomDims& random, Counts& counts) {
  for (int question = 0; question < 12; ++question) {
    Dim x = random.next(2).dim, y = question % 3 ? random.next(2).dim : x + random.below(3);
    if (question % 4 == 1 && !s.facts().empty()) {
      const Fact& f = s.facts()[static_cast<size_t>(random.below(s.facts().size()))];
      x = f.a * 2;
      y = (f.b ? f.b : f.a) * 2 + random.below(2);
    }
    int64_t divisor = random.below(6) + 1;
    Answer equal = s.equal(x, y), less = s.lessEqual(x, y), divides = s.divides(divisor, x);
    Interval interval = s.interval(x);
    Dim canonical = s.canonical(x);
    for (Answer a : {equal, less, divides})
      ++(a == Answer::yes ? counts.yes : a == Answer::no ? counts.no : counts.unknown);
    for (const DimBinding& b : w.allowed) {
      auto p = evaluate(x, b), q = evaluate(y, b);
      if (p.ok()) {
        std::string at = x.toString() + " = " + std::to_string(*p) + " with\n" + describe(s);
        if (divides != Answer::unknown) {
          ASSERT_EQ(divides == Answer::yes, *p % divisor == 0) << divisor << " | " << at;
        }
        if (interval.low) {
          ASSERT_LE(*interval.low, *p) << at;
        }
        if (interval.high) {
          ASSERT_GE(*interval.high, *p) << at;
        }
        auto r = evaluate(canonical, b);
        ASSERT_TRUE(!r.ok() || *r == *p) << canonical.toString() << " for " << at;
      }
      if (!p.ok() || !q.ok()) continue;
      std::string at = x.toString() + " = " + std::to_string(*p) + ", " + y.toString() + " = " +
                       std::to_string(*q) + " with\n" + describe(s);
      if (equal != Answer::unknown) {
        ASSERT_EQ(equal == Answer::yes, *p == *q) << at;
      }
      if (less != Answer::unknown) {
        ASSERT_EQ(less == Answer::yes, *p <= *q) << at;
      }
    }
    if (auto found = s.counterexampleEqual(x, y)) {
      ++counts.counterexamples;
      DimBinding b;
      for (auto [symbol, value] : *found) b.set(symbol, value);
      for (Dim symbol : w.symbols) {
        if (!b.get(symbol.symbol())) b.set(symbol, 1);
      }
      ASSERT_NE(equal, Answer::yes);
      ASSERT_NE(*evaluate(x, b), *evaluate(y, b)) << x.toString() << " " << y.toString();
      for (const Fact& f : s.facts()) {
        bool about = true;
        for (Dim d : {f.a, f.b}) {
          if (!d) continue;
          for (SymbolId id : symbolsOf(d))
            about =
                about && std::any_of(found->begin(), found->end(), [&](auto& v) { return v.first == id; });
        }
        if (!about) continue;
        ASSERT_TRUE(satisfies(f, b)) << f.toString() << " for " << x.toString() << " != " << y.toString();
      }
    }
    if (question < 3 && equal != Answer::unknown) {
      DimSolver again(w.c);
      for (const Fact& f : s.explainEqual(x, y)) {
        Status status;
        if (f.kind == FactKind::equal || f.kind == FactKind::equalProduct)
          status = again.addEqual(f.a, f.b, f.reason);
        if (f.kind == FactKind::range) status = again.addRange(f.a, f.low, f.high, f.reason);
        if (f.kind == FactKind::multipleOf) status = again.addMultipleOf(f.a, f.multiple, f.reason);
        ASSERT_TRUE(status.ok());
      }
      ASSERT_EQ(again.equal(x, y), equal) << x.toString() << " " << y.toString() << "\n" << describe(s);
    }
  }
}

void runWorld(uint64_t seed, bool bounded, Counts& counts) {
  World w;
  DimSolver s(w.c);
  RandomDims random(w.c, w.symbols, seed);
  for (Dim symbol : w.symbols) {
    if (bounded) {
      ASSERT_TRUE(s.addRange(symbol, 0, 5, {"domain", {}}).ok());
    }
  }
  std::vector<std::pair<size_t, std::vector<DimBinding>>> marks;
  for (int step = 0; step < 8; ++step) {
    if (random.below(6) == 0) marks.push_back({s.mark(), w.allowed});
    if (random.below(8) == 0 && !marks.empty()) {
      s.rollback(marks.back().first);
      w.allowed = marks.back().second;
      marks.pop_back();
    }
    Fact f{FactKind::equal, random.next(1).dim, {}, {}, {}, 1, {}, {"step " + std::to_string(step), {}}};
    if (random.below(3) == 0) f.a = random.next(2).dim;
    Status status;
    size_t before = s.facts().size();
    switch (random.below(4)) {
      case 0:
      case 1:
        f.b = random.below(2) ? random.symbol() : random.next(2).dim;
        if (f.a.isInvalid() || f.b.isInvalid()) continue;
        status = s.addEqual(f.a, f.b, f.reason);
        break;
      case 2:
        f.kind = FactKind::range;
        if (f.a.isInvalid()) continue;
        if (random.below(3)) f.low = random.below(4);
        if (random.below(2)) f.high = f.low.value_or(0) + random.below(6);
        status = s.addRange(f.a, f.low, f.high, f.reason);
        break;
      default:
        f.kind = FactKind::multipleOf;
        if (f.a.isInvalid()) continue;
        f.multiple = random.below(4) + 1;
        status = s.addMultipleOf(f.a, f.multiple, f.reason);
    }
    std::vector<DimBinding> left = w.filtered([&](const DimBinding& b) { return satisfies(f, b); });
    if (!status.ok()) {
      ++counts.contradictions;
      ASSERT_TRUE(left.empty()) << f.toString() << " was refused with\n" << describe(s);
      ASSERT_EQ(s.facts().size(), before);
    } else {
      w.allowed = std::move(left);
    }
    if (w.allowed.empty()) return;  // nothing small is left: every answer would hold
    checkQuestions(w, s, random, counts);
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed << " step " << step;
      return;
    }
  }
}

TEST(DimSolverRandom, answersAreNeverWrong) {
  Counts counts;
  const char* more = getenv("DYN_DIM_WORLDS");  // for long runs by hand
  const uint64_t worlds = more ? strtoull(more, nullptr, 10) : 25;
  for (uint64_t seed = 1; seed <= worlds && !testing::Test::HasFatalFailure(); ++seed)
    runWorld(seed, seed % 2 == 0, counts);
  // The test would be empty if the solver only ever said unknown.
  EXPECT_GT(counts.yes, 500);
  EXPECT_GT(counts.no, 300);
  EXPECT_GT(counts.contradictions, 5);
  EXPECT_GT(counts.counterexamples, 300);
  RecordProperty("unknown", counts.unknown);
}

}  // namespace
}  // namespace dyn
