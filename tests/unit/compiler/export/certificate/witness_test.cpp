// What the search for witnesses shows, checked by the checker; what is false stays open.
#include <gtest/gtest.h>

#include "compiler/export/certificate/witness_search.h"

namespace dyn {
namespace {

using certificate::Atoms;
using certificate::Operation;
using certificate::Polynomial;
using certificate::Scope;

class Witnesses : public testing::Test {
 protected:
  Polynomial number(int64_t value) { return Polynomial(value); }
  Polynomial times(const Polynomial& a, const Polynomial& b) { return *product(a, b); }
  Polynomial plus(const Polynomial& a, const Polynomial& b, int64_t factor = 1) {
    return *scaledSum(a, b, factor);
  }
  Polynomial compute(Operation what, const Polynomial& a, const Polynomial& b) {
    const certificate::Value value = atoms.compute(what, a, b, scope);
    EXPECT_TRUE(value);
    return value ? *value : Polynomial();
  }
  // Is p >= 0 shown? Each witness that is found is checked, and shows nothing of -p - 1.
  bool isShown(const Polynomial& p) {
    ByteWriter out;
    if (!WitnessSearch().find(atoms, scope, p, out)) return false;
    certificate::ByteReader in(out.bytes), again(out.bytes);
    EXPECT_EQ(checkWitness(in, atoms, scope, p), certificate::Verdict::shown);
    EXPECT_TRUE(in.atEnd());
    EXPECT_EQ(checkWitness(again, atoms, scope, plus(number(-1), p, -1)), certificate::Verdict::wrong);
    return true;
  }

  Atoms atoms;
  Scope scope;
  const Polynomial b = atoms.symbol("b", true), s = atoms.symbol("s", true), any = atoms.symbol("any", false);
};

TEST_F(Witnesses, ASizeIsZeroOrAtLeastOne) {
  // b*s <= 64*floordiv(b*s*s + 15, 16): a row of masks beside a matrix of scores.
  const Polynomial matrix = times(b, times(s, s));
  const Polynomial room = compute(Operation::floorDiv, plus(matrix, number(15)), number(16));
  EXPECT_TRUE(isShown(plus(times(number(64), room), times(b, s), -1)));
  EXPECT_FALSE(isShown(plus(times(number(64), room), times(number(65), times(b, s)), -1)));  // s = 1
}

TEST_F(Witnesses, OnlyANumberThatIsNotNegativeIsSplit) {
  EXPECT_TRUE(alternatives(atoms, *any.atom()).empty());
  EXPECT_EQ(alternatives(atoms, *s.atom()).size(), 2u);
}

TEST_F(Witnesses, APlaceInRowsOfAProductOfSizes) {
  // u < b*s*4 of a kernel: mod(u, b*s) is at most b*s - 1, and floordiv(u, b*s) below 4.
  const Polynomial u = atoms.symbol("u", true), rows = times(b, s), all = times(rows, number(4));
  EXPECT_FALSE(atoms.compute(Operation::floorDiv, u, rows, scope));  // b*s may be 0
  learn(scope, atoms, plus(plus(all, number(1), -1), u, -1));
  learnPositive(scope, atoms, all);
  const Polynomial row = compute(Operation::floorDiv, u, rows), place = compute(Operation::mod, u, rows);
  EXPECT_TRUE(isShown(place));
  EXPECT_TRUE(isShown(plus(plus(rows, number(1), -1), place, -1)));
  EXPECT_TRUE(isShown(plus(number(3), row, -1)));
  EXPECT_FALSE(isShown(plus(number(2), row, -1)));
}

TEST_F(Witnesses, AHeadOfAnImageWithSomethingBeforeItsPlaces) {
  // u < 4*b*(h*w + 2): floordiv(floordiv(u, h*w + 2), 4) is below b.
  const Polynomial h = atoms.symbol("h", true), w = atoms.symbol("w", true), u = atoms.symbol("u", true);
  const Polynomial rows = plus(times(h, w), number(2)), all = times(times(rows, b), number(4));
  learn(scope, atoms, plus(plus(all, number(1), -1), u, -1));
  learnPositive(scope, atoms, all);
  const Polynomial head = compute(Operation::floorDiv, u, rows);
  const Polynomial image = compute(Operation::floorDiv, head, number(4));
  EXPECT_TRUE(isShown(plus(plus(times(number(4), b), number(1), -1), head, -1)));
  EXPECT_TRUE(isShown(plus(plus(b, number(1), -1), image, -1)));
  EXPECT_FALSE(isShown(plus(plus(b, number(2), -1), image, -1)));
}

TEST_F(Witnesses, ZeroThroughWhatIsNotKnownIsZero) {
  EXPECT_EQ(compute(Operation::floorDiv, number(0), s), number(0));
  EXPECT_EQ(compute(Operation::mod, number(0), s), number(0));
  EXPECT_FALSE(atoms.compute(Operation::floorDiv, number(1), s, scope));
}

TEST_F(Witnesses, TheLeastOfAProductHoldsInAMultiple) {
  const Polynomial area = times(b, s), w = atoms.symbol("w", true);
  scope.facts.push_back(plus(area, number(16), -1));
  EXPECT_TRUE(isShown(plus(times(number(256), times(w, area)), times(number(4096), w), -1)));
  EXPECT_FALSE(isShown(plus(times(number(256), times(w, area)), times(number(4097), w), -1)));
}

}  // namespace
}  // namespace dyn
