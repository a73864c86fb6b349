#include "vm/certificate/atoms.h"

#include <tuple>

namespace dyn::certificate {

namespace {

int64_t floorOf(int64_t a, int64_t k) { return a / k - (a % k < 0 ? 1 : 0); }

}  // namespace

Polynomial Atoms::symbol(std::string name, bool isNonNegative) {
  atoms_.push_back({AtomKind::symbol, {}, {}, isNonNegative, std::move(name)});
  return ofAtom(static_cast<AtomId>(atoms_.size() - 1));
}

bool Atoms::isPlainlyNonNegative(const Polynomial& p, const Scope& scope) const {
  for (const auto& [monomial, coefficient] : p.terms) {
    if (coefficient < 0) return false;
    for (size_t i = 0; i < monomial.size(); ++i) {
      if (i + 1 < monomial.size() && monomial[i] == monomial[i + 1]) {
        ++i;  // a square
        continue;
      }
      if (!isNonNegative(monomial[i], scope)) return false;
    }
  }
  return true;
}

std::optional<Polynomial> Atoms::make(AtomKind kind, const Polynomial& a, const Polynomial& b,
                                      const Scope& scope) {
  const std::optional<int64_t> x = a.constant(), y = b.constant();
  const Scope everywhere;
  Polynomial left = a, right = b, whole;
  switch (kind) {
    case AtomKind::floorDiv: {
      if (y ? *y < 1 : true) {
        // Only a divisor that is at least 1 for all values of its atoms.
        const std::optional<Polynomial> less = scaledSum(b, Polynomial(1), -1);
        if (y || !less || !isPlainlyNonNegative(*less, everywhere)) return std::nullopt;
        break;
      }
      // What the divisor divides goes out: floordiv(8*n + 11, 8) = n + 1 + floordiv(3, 8).
      left = {};
      for (const auto& [monomial, coefficient] : a.terms) {
        const int64_t quotient = monomial.empty()        ? floorOf(coefficient, *y)
                                 : coefficient % *y == 0 ? coefficient / *y
                                                         : 0;
        if (quotient != 0) whole.terms[monomial] = quotient;
        if (const int64_t rest = coefficient - quotient * *y) left.terms[monomial] = rest;
      }
      if (const std::optional<int64_t> rest = left.constant(); rest && *rest >= 0 && *rest < *y) return whole;
      break;
    }
    case AtomKind::minimum:
    case AtomKind::maximum: {
      const std::optional<Polynomial> more = scaledSum(a, b, -1), less = scaledSum(b, a, -1);
      const bool isMaximum = kind == AtomKind::maximum;
      if (more && isPlainlyNonNegative(*more, scope)) return isMaximum ? a : b;
      if (less && isPlainlyNonNegative(*less, scope)) return isMaximum ? b : a;
      if (right < left) std::swap(left, right);
      break;
    }
    case AtomKind::less:
      if (x && y) return Polynomial(*x < *y ? 1 : 0);
      break;
    case AtomKind::lessEqual:
      if (x && y) return Polynomial(*x <= *y ? 1 : 0);
      break;
    case AtomKind::equal:
      if (a == b) return Polynomial(1);
      if (x && y) return Polynomial(0);
      break;
    case AtomKind::both:
      if (x && y) return Polynomial(*x != 0 && *y != 0 ? 1 : 0);
      break;
    case AtomKind::negation:
      if (x) return Polynomial(*x == 0 ? 1 : 0);
      break;
    case AtomKind::symbol:
      return std::nullopt;
  }
  const auto [at, isNew] = ids_.try_emplace({kind, left, right}, static_cast<AtomId>(atoms_.size()));
  const Polynomial atom = ofAtom(at->second);
  if (isNew) {
    const bool least = isPlainlyNonNegative(left, everywhere),
               other = isPlainlyNonNegative(right, everywhere);
    const bool isNonNegative = kind == AtomKind::floorDiv  ? least
                               : kind == AtomKind::minimum ? least && other
                               : kind == AtomKind::maximum ? least || other
                                                           : true;
    atoms_.push_back({kind, left, right, isNonNegative, {}});
    if (kind == AtomKind::floorDiv) {
      if (const std::optional<Polynomial> back = product(atom, right)) {
        fact(scaledSum(left, *back, -1));
        const std::optional<Polynomial> rest = scaledSum(*back, left, -1);
        const std::optional<Polynomial> room = rest ? scaledSum(*rest, right, 1) : std::nullopt;
        if (room) fact(scaledSum(*room, Polynomial(1), -1));
      }
    } else if (kind == AtomKind::minimum) {
      fact(scaledSum(left, atom, -1));
      fact(scaledSum(right, atom, -1));
    } else if (kind == AtomKind::maximum) {
      fact(scaledSum(atom, left, -1));
      fact(scaledSum(atom, right, -1));
    } else {
      fact(scaledSum(Polynomial(1), atom, -1));
    }
  }
  return scaledSum(whole, atom, 1);
}

std::vector<Alternative> alternatives(const Atoms& atoms, AtomId id) {
  const Atom& atom = atoms[id];
  std::vector<Alternative> result;
  // The case in which the atom is `value`, and high - low + constant >= 0.
  const auto next = [&](const Polynomial& value) { result.push_back({value, {}}); };
  const auto fact = [&](const Polynomial& high, const Polynomial& low, int64_t constant) {
    std::optional<Polynomial> p = scaledSum(high, low, -1);
    if (p) p = scaledSum(*p, Polynomial(1), constant);
    if (p) result.back().facts.push_back(*p);
  };
  const Polynomial zero(0), one(1);
  switch (atom.kind) {
    case AtomKind::maximum:
      next(atom.a), fact(atom.a, atom.b, 0);
      next(atom.b), fact(atom.b, atom.a, 0);
      break;
    case AtomKind::minimum:
      next(atom.a), fact(atom.b, atom.a, 0);
      next(atom.b), fact(atom.a, atom.b, 0);
      break;
    case AtomKind::less:
      next(one), fact(atom.b, atom.a, -1);
      next(zero), fact(atom.a, atom.b, 0);
      break;
    case AtomKind::lessEqual:
      next(one), fact(atom.b, atom.a, 0);
      next(zero), fact(atom.a, atom.b, -1);
      break;
    case AtomKind::equal:
      next(one), fact(atom.a, atom.b, 0), fact(atom.b, atom.a, 0);
      next(zero);
      break;
    case AtomKind::both:
    case AtomKind::negation:
      next(one);
      next(zero);
      break;
    case AtomKind::symbol:
    case AtomKind::floorDiv:
      return result;
  }
  for (Alternative& each : result) {
    std::optional<Polynomial> p = scaledSum(each.value, ofAtom(id), -1);
    if (p) each.facts.push_back(*p);
    if (p) each.facts.push_back(*scaledSum(zero, *p, -1));
  }
  return result;
}

std::optional<Polynomial> replaced(const Polynomial& p, AtomId atom, const Polynomial& value) {
  std::optional<Polynomial> result = Polynomial();
  for (const auto& [monomial, coefficient] : p.terms) {
    Polynomial term;
    Monomial others;
    size_t power = 0;
    for (const AtomId id : monomial) id == atom ? void(++power) : others.push_back(id);
    term.terms[others] = coefficient;
    std::optional<Polynomial> part = term;
    for (; power > 0 && part; --power) part = product(*part, value);
    if (part) result = scaledSum(*result, *part, 1);
    if (!part || !result) return std::nullopt;
  }
  return result;
}

std::optional<Polynomial> resolved(const Polynomial& p, const Scope& scope) {
  std::optional<Polynomial> result = p;
  if (!scope.values.empty())
    for (const auto& [atom, value] : scope.values)
      if (result && mentions(*result, atom)) result = replaced(*result, atom, value);
  return result;
}

void learn(Scope& scope, const Atoms& atoms, const Polynomial& p) {
  if (atoms.isPlainlyNonNegative(p, scope)) return;
  scope.facts.push_back(p);
  // a - 3 >= 0, a >= 0.
  if (p.terms.size() > 2) return;
  AtomId atom = 0;
  bool found = false;
  for (const auto& [monomial, coefficient] : p.terms) {
    if (monomial.empty() && coefficient <= 0) continue;
    if (monomial.size() != 1 || coefficient <= 0 || found) return;
    atom = monomial[0];
    found = true;
  }
  if (found) scope.nonNegative.insert(atom);
}

void learnZero(Scope& scope, const Atoms& atoms, const Polynomial& p) {
  // A symbol that equals the rest is replaced by it from here on. No value mentions a replaced symbol: p is
  // resolved, and older values are brought up to date.
  for (const auto& [monomial, coefficient] : p.terms) {
    if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    const AtomId atom = monomial[0];
    if (atoms[atom].kind != AtomKind::symbol) continue;
    Polynomial rest = p;
    rest.terms.erase(monomial);
    bool isBelow = true;  // only older atoms, so that no compound of the symbol stands for it
    for (const auto& [other, factor] : rest.terms)
      for (const AtomId id : other) isBelow = isBelow && id < atom;
    if (!isBelow) continue;
    const std::optional<Polynomial> value = scaledSum(Polynomial(), rest, -coefficient);
    if (!value) continue;
    if (!atoms.isPlainlyNonNegative(*value, scope) && atoms.isNonNegative(atom, scope))
      learn(scope, atoms, *value);
    scope.values[atom] = *value;
    for (auto& [id, old] : scope.values)
      if (const std::optional<Polynomial> now = resolved(old, scope)) old = *now;
    break;
  }
  scope.facts.push_back(p);
  if (const std::optional<Polynomial> negative = scaledSum(Polynomial(), p, -1))
    scope.facts.push_back(*negative);
}

void learnCondition(Scope& scope, const Atoms& atoms, const Polynomial& condition, bool holds, int depth) {
  const std::optional<AtomId> id = condition.atom();
  if (!id || depth > 30) return;
  const Atom& atom = atoms[*id];
  if (atom.kind == AtomKind::negation) return learnCondition(scope, atoms, atom.a, !holds, depth + 1);
  if (atom.kind == AtomKind::both && holds) {
    learnCondition(scope, atoms, atom.a, true, depth + 1);
    learnCondition(scope, atoms, atom.b, true, depth + 1);
  } else if (atom.kind == AtomKind::equal && holds) {
    if (const std::optional<Polynomial> p = scaledSum(atom.a, atom.b, -1)) learnZero(scope, atoms, *p);
  } else if (atom.kind >= AtomKind::less) {
    const std::vector<Alternative> cases = alternatives(atoms, *id);
    for (const Polynomial& fact : cases[holds ? 0 : 1].facts)
      if (const std::optional<Polynomial> p = resolved(fact, scope)) learn(scope, atoms, *p);
  }
}

std::string Atoms::print(const Polynomial& p) const { return print(p, 0); }

std::string Atoms::print(AtomId id, int depth) const {
  const Atom& atom = atoms_[id];
  if (atom.kind == AtomKind::symbol) return atom.name;
  static constexpr const char* kNames[] = {"",          "floordiv", "min", "max", "less",
                                           "lessequal", "equal",    "and", "not"};
  if (depth > 20) return "...";
  std::string text = std::string(kNames[static_cast<size_t>(atom.kind)]) + "(" + print(atom.a, depth + 1);
  if (atom.kind != AtomKind::negation) text += ", " + print(atom.b, depth + 1);
  return text + ")";
}

std::string Atoms::print(const Polynomial& p, int depth) const {
  std::string text;
  for (auto term = p.terms.rbegin(); term != p.terms.rend(); ++term) {
    const auto& [monomial, coefficient] = *term;
    if (!text.empty()) text += coefficient < 0 ? " - " : " + ";
    const std::string number = std::to_string(coefficient);
    const bool isInner = !text.empty() && coefficient < 0;
    const bool isOne = !monomial.empty() && (coefficient == 1 || (isInner && coefficient == -1));
    if (!isOne) text += isInner ? number.substr(1) : number;
    for (size_t i = 0; i < monomial.size(); ++i)
      text += (i > 0 || !isOne ? "*" : "") + print(monomial[i], depth);
  }
  return text.empty() ? "0" : text;
}

}  // namespace dyn::certificate
