#include "vm/certificate/polynomial.h"

#include <algorithm>

namespace dyn::certificate {

namespace {

bool addTerm(Polynomial& p, const Monomial& monomial, int64_t coefficient) {
  if (coefficient == 0) return true;
  const auto [at, isNew] = p.terms.try_emplace(monomial, 0);
  if (__builtin_add_overflow(at->second, coefficient, &at->second)) return false;
  if (at->second == 0) p.terms.erase(at);
  return p.terms.size() <= kMaximumTerms;
}

}  // namespace

std::optional<int64_t> Polynomial::constant() const {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  return std::nullopt;
}

std::optional<AtomId> Polynomial::atom() const {
  if (terms.size() != 1) return std::nullopt;
  const auto& [monomial, coefficient] = *terms.begin();
  if (monomial.size() != 1 || coefficient != 1) return std::nullopt;
  return monomial[0];
}

Polynomial ofAtom(AtomId atom) {
  Polynomial p;
  p.terms[{atom}] = 1;
  return p;
}

Value scaledSum(const Polynomial& a, const Polynomial& b, int64_t factor) {
  Polynomial sum = a;
  for (const auto& [monomial, coefficient] : b.terms) {
    int64_t scaled = 0;
    if (__builtin_mul_overflow(coefficient, factor, &scaled) || !addTerm(sum, monomial, scaled))
      return std::nullopt;
  }
  return sum;
}

Monomial product(const Monomial& a, const Monomial& b) {
  Monomial result(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), result.begin());
  return result;
}

Value product(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [left, x] : a.terms)
    for (const auto& [right, y] : b.terms) {
      int64_t coefficient = 0;
      if (left.size() + right.size() > kMaximumDegree || __builtin_mul_overflow(x, y, &coefficient) ||
          !addTerm(result, product(left, right), coefficient))
        return std::nullopt;
    }
  return result;
}

bool mentions(const Polynomial& p, AtomId atom) {
  for (const auto& [monomial, coefficient] : p.terms)
    if (std::find(monomial.begin(), monomial.end(), atom) != monomial.end()) return true;
  return false;
}

}  // namespace dyn::certificate
