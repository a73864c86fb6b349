// Atoms: the unknowns of a program's sizes (dims of inputs, numbers that tensors hold, loop variables), and
// functions of them that are not polynomials (floor division, min, max, comparisons).
//
// The same operation on the same operands is the same atom. `facts` hold wherever their atom is defined, and
// each of them says that a polynomial is >= 0:
//   q = floordiv(a, k), k >= 1    a - k*q,  k*q + k - 1 - a,  k - 1
//   m = max(a, b)                 m - a,  m - b
//   m = min(a, b)                 a - m,  b - m
//   c, a comparison               1 - c (and c is at least 0)
#pragma once

#include <set>
#include <string>

#include "vm/certificate/polynomial.h"

namespace dyn::certificate {

// What a program, a kernel and a contract compute with. From `floorDiv` on they are atoms; comparisons are 0
// or 1.
enum class Operation : uint8_t {
  symbol,
  add,
  sub,
  mul,
  ceilDiv,
  mod,
  floorDiv,
  minimum,
  maximum,
  less,
  lessEqual,
  equal,
  both,
  negation
};
inline constexpr size_t kOperationCount = 14;

struct Atom {
  Operation kind = Operation::symbol;
  Polynomial a, b;  // operands; of a negation: a
  bool isNonNegative = false;
  std::string name;         // of a symbol
  AtomId newestSymbol = 0;  // of those that it is made of
};

// What is known at a place of a program, beside the facts of atoms.
struct Scope {
  std::vector<Polynomial> facts;  // each >= 0
  std::set<AtomId> nonNegative;
  std::map<AtomId, Polynomial> values;  // symbols that equal a polynomial without them
};

class Atoms {
 public:
  Polynomial symbol(std::string name, bool isNonNegative);
  // The operation on `a` and `b`, simplified. Nothing: out of range, or a divisor that may be below 1.
  // Where only the scope shows that a divisor is at least 1, it gets the facts of the quotient.
  Value compute(Operation what, const Polynomial& a, const Polynomial& b, Scope& scope);

  size_t size() const { return atoms_.size(); }
  const Atom& operator[](AtomId id) const { return atoms_[id]; }
  const std::vector<Polynomial>& facts() const { return facts_; }
  bool isNonNegative(AtomId id, const Scope& scope) const {
    return atoms_[id].isNonNegative || scope.nonNegative.count(id) != 0;
  }
  // Is it made of symbols from this one on, too?
  bool dependsOn(const Polynomial& p, AtomId firstSymbol) const;
  // No coefficient is negative, and no atom may be.
  bool isPlainlyNonNegative(const Polynomial& p, const Scope& scope) const;
  std::string print(const Polynomial& p) const;

 private:
  // a >= b + more, without a search.
  bool isAtLeast(const Polynomial& a, const Polynomial& b, int64_t more, const Scope& scope) const;
  bool isPositive(const Polynomial& p, int depth = 0) const;  // for all values of its atoms
  Polynomial atom(Operation what, const Polynomial& a, const Polynomial& b, bool hasFacts = true);
  bool isProductOfPositive(const Polynomial& b, const Scope& scope) const;
  bool dividesPositive(const Polynomial& b, const Scope& scope) const;
  Value quotientWithin(const Polynomial& a, const Polynomial& b, Scope& scope);
  std::string print(AtomId id, size_t& room) const;
  std::string print(const Polynomial& p, size_t& room) const;
  void fact(const Value& p) {
    if (p) facts_.push_back(*p);
  }

  std::vector<Atom> atoms_;
  std::vector<Polynomial> facts_;
  std::map<std::tuple<Operation, Polynomial, Polynomial>, AtomId> ids_;
};

// One of the cases of an atom: its value there, and what holds there. A symbol or a quotient that is not
// negative is 0, or at least 1: so n*n >= n.
struct Alternative {
  Polynomial value;
  std::vector<Polynomial> facts;  // each >= 0
};
inline bool hasCases(Operation kind) { return kind >= Operation::minimum; }
// One of them is true. Empty: the atom has none.
std::vector<Alternative> alternatives(const Atoms& atoms, AtomId id);
// `p` with `atom` replaced; nothing when it gets out of range.
Value replaced(const Polynomial& p, AtomId atom, const Polynomial& value);

// `p` with symbols replaced by their values in the scope; nothing when it gets out of range.
Value resolved(const Polynomial& p, const Scope& scope);
// Adds p >= 0, or p = 0.
void learn(Scope& scope, const Atoms& atoms, const Polynomial& p);
// Adds what follows from p >= 1: of a product of numbers that are not negative, each is at least 1.
void learnPositive(Scope& scope, const Atoms& atoms, const Polynomial& p);
void learnZero(Scope& scope, const Atoms& atoms, const Polynomial& p);
// Adds that the boolean `condition` holds, or does not.
void learnCondition(Scope& scope, const Atoms& atoms, const Polynomial& condition, bool holds, int depth = 0);

}  // namespace dyn::certificate
