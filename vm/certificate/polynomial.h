// Polynomials with integer coefficients over atoms: what the checker of certificates computes with.
//
// Exact: an operation whose coefficient leaves 64 bits, or whose result has too many terms, gives nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace dyn::certificate {

using AtomId = uint32_t;
using Monomial = std::vector<AtomId>;  // sorted, with repeats; empty: the constant

inline constexpr size_t kMaximumTerms = 512, kMaximumDegree = 16;

struct Polynomial {
  std::map<Monomial, int64_t> terms;  // without zeros

  Polynomial() = default;
  explicit Polynomial(int64_t constant) {
    if (constant != 0) terms[{}] = constant;
  }
  bool operator==(const Polynomial& other) const { return terms == other.terms; }
  bool operator<(const Polynomial& other) const { return terms < other.terms; }
  std::optional<int64_t> constant() const;  // of a polynomial without atoms
  std::optional<AtomId> atom() const;       // of a polynomial that is one atom
};

using Value = std::optional<Polynomial>;  // nothing: it is not known

Polynomial ofAtom(AtomId atom);
Value scaledSum(const Polynomial& a, const Polynomial& b, int64_t factor);  // a + factor*b
Value product(const Polynomial& a, const Polynomial& b);
inline Value sum(const Value& a, const Value& b) { return a && b ? scaledSum(*a, *b, 1) : Value(); }
inline Value difference(const Value& a, const Value& b) { return a && b ? scaledSum(*a, *b, -1) : Value(); }
Monomial product(const Monomial& a, const Monomial& b);
bool mentions(const Polynomial& p, AtomId atom);

}  // namespace dyn::certificate
