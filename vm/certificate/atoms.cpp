#include "vm/certificate/atoms.h"

#include <algorithm>
#include <tuple>

namespace dyn::certificate {

namespace {

bool contains(const std::vector<Polynomial>& facts, const Polynomial& fact) {
  return std::find(facts.begin(), facts.end(), fact) != facts.end();
}

constexpr size_t kMostPrinted = 300;  // operations of a formula; of a deeper one the rest is "..."

int64_t floorOf(int64_t a, int64_t k) { return a / k - (a % k < 0 ? 1 : 0); }

}  // namespace

Polynomial Atoms::symbol(std::string name, bool isNonNegative) {
  const auto id = static_cast<AtomId>(atoms_.size());
  atoms_.push_back({Operation::symbol, {}, {}, isNonNegative, std::move(name), id});
  return ofAtom(id);
}

bool Atoms::dependsOn(const Polynomial& p, AtomId firstSymbol) const {
  for (const auto& [monomial, coefficient] : p.terms)
    for (const AtomId id : monomial)
      if (atoms_[id].newestSymbol >= firstSymbol) return true;
  return false;
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

bool Atoms::isPositive(const Polynomial& p, int depth) const {
  const Scope everywhere;
  const Value rest = scaledSum(p, Polynomial(1), -1);
  if (rest && isPlainlyNonNegative(*rest, everywhere)) return true;
  const std::optional<AtomId> id = p.atom();
  if (!id || depth > 20) return false;
  const Atom& atom = atoms_[*id];
  if (atom.kind == Operation::maximum) return isPositive(atom.a, depth + 1) || isPositive(atom.b, depth + 1);
  return atom.kind == Operation::minimum && isPositive(atom.a, depth + 1) && isPositive(atom.b, depth + 1);
}

bool Atoms::isAtLeast(const Polynomial& a, const Polynomial& b, int64_t more, const Scope& scope) const {
  const Value rest = difference(difference(a, b), Polynomial(more));
  return rest && isPlainlyNonNegative(*rest, scope);
}

// Of numbers that are known to be at least 1.
bool Atoms::isProductOfPositive(const Polynomial& b, const Scope& scope) const {
  if (b.terms.size() != 1 || b.terms.begin()->second < 1) return false;
  const Monomial& factors = b.terms.begin()->first;
  return std::all_of(factors.begin(), factors.end(), [&](AtomId factor) {
    return isPositive(ofAtom(factor)) || contains(scope.facts, *scaledSum(ofAtom(factor), Polynomial(1), -1));
  });
}

// m*b is known to be at least 1, and m to be not negative: so b is at least 1.
bool Atoms::dividesPositive(const Polynomial& b, const Scope& scope) const {
  const auto& [first, factor] = *b.terms.begin();
  for (const Polynomial& fact : scope.facts) {
    const Value whole = scaledSum(fact, Polynomial(1), 1);
    if (!whole || whole->terms.size() != b.terms.size()) continue;
    for (const auto& [monomial, coefficient] : whole->terms) {
      if (!std::includes(monomial.begin(), monomial.end(), first.begin(), first.end())) continue;
      if (factor == 0 || coefficient % factor != 0 || coefficient / factor < 1) continue;
      Monomial rest;
      std::set_difference(monomial.begin(), monomial.end(), first.begin(), first.end(),
                          std::back_inserter(rest));
      Polynomial multiplier;
      multiplier.terms[rest] = coefficient / factor;
      if (isPlainlyNonNegative(multiplier, scope) && product(multiplier, b) == whole) return true;
    }
  }
  return false;
}

Value Atoms::quotientWithin(const Polynomial& a, const Polynomial& b, Scope& scope) {
  const Value least = scaledSum(b, Polynomial(1), -1);
  if (!least) return std::nullopt;
  if (!contains(scope.facts, *least)) {
    if (!isProductOfPositive(b, scope) && !dividesPositive(b, scope)) return std::nullopt;
    scope.facts.push_back(*least);
  }
  const Polynomial quotient = atom(Operation::floorDiv, a, b, false);
  const Value rest = difference(a, product(quotient, b)), room = difference(*least, rest);
  if (rest) scope.facts.push_back(*rest);
  if (room) scope.facts.push_back(*room);
  if (isPlainlyNonNegative(a, scope)) scope.nonNegative.insert(*quotient.atom());
  return quotient;
}

Value Atoms::compute(Operation what, const Polynomial& a, const Polynomial& b, Scope& scope) {
  const std::optional<int64_t> x = a.constant(), y = b.constant();
  const bool isFixed = x && y;
  const auto truth = [](bool holds) { return Polynomial(holds ? 1 : 0); };
  switch (what) {
    case Operation::symbol:
      return std::nullopt;
    case Operation::add:
      return scaledSum(a, b, 1);
    case Operation::sub:
      return scaledSum(a, b, -1);
    case Operation::mul:
      return product(a, b);
    case Operation::ceilDiv: {
      const Value up = difference(sum(a, b), Polynomial(1));
      return up ? compute(Operation::floorDiv, *up, b, scope) : up;
    }
    case Operation::mod: {
      const Value quotient = compute(Operation::floorDiv, a, b, scope);
      return difference(a, quotient ? product(*quotient, b) : quotient);
    }
    case Operation::floorDiv: {
      if (x == 0) return a;  // by whatever divides at all
      if (!isPositive(b)) return quotientWithin(a, b, scope);
      if (!y) break;
      // What the divisor divides goes out: floordiv(8*n + 11, 8) = n + 1 + floordiv(3, 8).
      Polynomial left, whole;
      for (const auto& [monomial, coefficient] : a.terms) {
        const int64_t quotient = monomial.empty()        ? floorOf(coefficient, *y)
                                 : coefficient % *y == 0 ? coefficient / *y
                                                         : 0;
        if (quotient != 0) whole.terms[monomial] = quotient;
        if (const int64_t rest = coefficient - quotient * *y) left.terms[monomial] = rest;
      }
      const std::optional<int64_t> rest = left.constant();
      return rest && *rest >= 0 && *rest < *y ? whole : sum(whole, atom(what, left, b));
    }
    case Operation::minimum:
    case Operation::maximum: {
      const bool isMaximum = what == Operation::maximum;
      if (isAtLeast(a, b, 0, scope)) return isMaximum ? a : b;
      if (isAtLeast(b, a, 0, scope)) return isMaximum ? b : a;
      const Polynomial made = b < a ? atom(what, b, a) : atom(what, a, b);
      const bool left = isPlainlyNonNegative(a, scope), right = isPlainlyNonNegative(b, scope);
      if (isMaximum ? left || right : left && right) scope.nonNegative.insert(*made.atom());
      return made;
    }
    case Operation::less:
      if (isAtLeast(a, b, 0, scope)) return truth(false);
      if (isAtLeast(b, a, 1, scope)) return truth(true);
      break;
    case Operation::lessEqual:
      if (isAtLeast(b, a, 0, scope)) return truth(true);
      if (isAtLeast(a, b, 1, scope)) return truth(false);
      break;
    case Operation::equal:
      if (isFixed || a == b) return truth(a == b);
      break;
    case Operation::both:
      if (isFixed) return truth(*x != 0 && *y != 0);
      break;
    case Operation::negation:
      if (x) return truth(*x == 0);
      break;
  }
  return atom(what, a, b);
}

Polynomial Atoms::atom(Operation what, const Polynomial& a, const Polynomial& b, bool hasFacts) {
  const auto [at, isNew] = ids_.try_emplace({what, a, b}, static_cast<AtomId>(atoms_.size()));
  const Polynomial made = ofAtom(at->second);
  if (!isNew) return made;
  const Scope everywhere;
  const bool left = isPlainlyNonNegative(a, everywhere), right = isPlainlyNonNegative(b, everywhere);
  const bool isNonNegative = what == Operation::floorDiv  ? left && hasFacts
                             : what == Operation::minimum ? left && right
                             : what == Operation::maximum ? left || right
                                                          : true;
  AtomId newest = 0;
  for (const Polynomial* operand : {&a, &b})
    for (const auto& [monomial, coefficient] : operand->terms)
      for (const AtomId id : monomial) newest = std::max(newest, atoms_[id].newestSymbol);
  atoms_.push_back({what, a, b, isNonNegative, {}, newest});
  if (!hasFacts) return made;
  if (what == Operation::floorDiv) {
    const Value back = product(made, b);
    fact(difference(a, back));
    fact(difference(sum(difference(back, a), b), Polynomial(1)));
    if (!b.constant()) fact(difference(b, Polynomial(1)));
  } else if (what == Operation::minimum) {
    fact(difference(a, made));
    fact(difference(b, made));
  } else if (what == Operation::maximum) {
    fact(difference(made, a));
    fact(difference(made, b));
  } else {
    fact(difference(Polynomial(1), made));
  }
  return made;
}

std::vector<Alternative> alternatives(const Atoms& atoms, AtomId id) {
  const Atom& atom = atoms[id];
  std::vector<Alternative> result;
  // The case in which the atom is `value`, and high - low + constant >= 0.
  const auto next = [&](const Polynomial& value) { result.push_back({value, {}}); };
  const auto fact = [&](const Polynomial& high, const Polynomial& low, int64_t constant) {
    const Value p = sum(difference(high, low), Polynomial(constant));
    if (p) result.back().facts.push_back(*p);
  };
  const Polynomial zero(0), one(1);
  switch (atom.kind) {
    case Operation::symbol:
    case Operation::floorDiv:
      if (!atom.isNonNegative) return result;
      next(zero);
      next(ofAtom(id)), fact(ofAtom(id), one, 0);
      break;
    case Operation::maximum:
      next(atom.a), fact(atom.a, atom.b, 0);
      next(atom.b), fact(atom.b, atom.a, 0);
      break;
    case Operation::minimum:
      next(atom.a), fact(atom.b, atom.a, 0);
      next(atom.b), fact(atom.a, atom.b, 0);
      break;
    case Operation::less:
      next(one), fact(atom.b, atom.a, -1);
      next(zero), fact(atom.a, atom.b, 0);
      break;
    case Operation::lessEqual:
      next(one), fact(atom.b, atom.a, 0);
      next(zero), fact(atom.a, atom.b, -1);
      break;
    case Operation::equal:
      next(one), fact(atom.a, atom.b, 0), fact(atom.b, atom.a, 0);
      next(zero);
      break;
    case Operation::both:
    case Operation::negation:
      next(one);
      next(zero);
      break;
    default:
      return result;
  }
  for (Alternative& each : result) {
    Value p = scaledSum(each.value, ofAtom(id), -1);
    if (p) each.facts.push_back(*p);
    if (p) each.facts.push_back(*scaledSum(zero, *p, -1));
  }
  return result;
}

Value replaced(const Polynomial& p, AtomId atom, const Polynomial& value) {
  Value result = Polynomial();
  for (const auto& [monomial, coefficient] : p.terms) {
    Polynomial term;
    Monomial others;
    size_t power = 0;
    for (const AtomId id : monomial) id == atom ? void(++power) : others.push_back(id);
    term.terms[others] = coefficient;
    Value part = term;
    for (; power > 0 && part; --power) part = product(*part, value);
    if (part) result = scaledSum(*result, *part, 1);
    if (!part || !result) return std::nullopt;
  }
  return result;
}

Value resolved(const Polynomial& p, const Scope& scope) {
  Value result = p;
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

void learnPositive(Scope& scope, const Atoms& atoms, const Polynomial& p) {
  if (const Value least = scaledSum(p, Polynomial(1), -1); least && !p.atom() && !p.constant())
    scope.facts.push_back(*least);
  if (p.terms.size() != 1 || !atoms.isPlainlyNonNegative(p, scope)) return;
  Monomial factors = p.terms.begin()->first;
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  for (const AtomId atom : factors)
    if (atoms.isNonNegative(atom, scope)) scope.facts.push_back(*scaledSum(ofAtom(atom), Polynomial(1), -1));
}

void learnZero(Scope& scope, const Atoms& atoms, const Polynomial& p) {
  // A symbol that equals the rest is replaced by it from here on. No value mentions a replaced symbol: p is
  // resolved, and older values are brought up to date.
  for (const auto& [monomial, coefficient] : p.terms) {
    if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    const AtomId atom = monomial[0];
    if (atoms[atom].kind != Operation::symbol) continue;
    Polynomial rest = p;
    rest.terms.erase(monomial);
    bool isBelow = true;  // only older atoms, so that no compound of the symbol stands for it
    for (const auto& [other, factor] : rest.terms)
      for (const AtomId id : other) isBelow = isBelow && id < atom;
    if (!isBelow) continue;
    const Value value = scaledSum(Polynomial(), rest, -coefficient);
    if (!value) continue;
    if (!atoms.isPlainlyNonNegative(*value, scope) && atoms.isNonNegative(atom, scope))
      learn(scope, atoms, *value);
    scope.values[atom] = *value;
    for (auto& [id, old] : scope.values)
      if (const Value now = resolved(old, scope)) old = *now;
    break;
  }
  scope.facts.push_back(p);
  if (const Value negative = scaledSum(Polynomial(), p, -1)) scope.facts.push_back(*negative);
}

void learnCondition(Scope& scope, const Atoms& atoms, const Polynomial& condition, bool holds, int depth) {
  const std::optional<AtomId> id = condition.atom();
  if (!id || depth > 30) return;
  const Atom& atom = atoms[*id];
  if (atom.kind == Operation::negation) return learnCondition(scope, atoms, atom.a, !holds, depth + 1);
  if (atom.kind == Operation::both && holds) {
    learnCondition(scope, atoms, atom.a, true, depth + 1);
    learnCondition(scope, atoms, atom.b, true, depth + 1);
  } else if (atom.kind == Operation::equal && holds) {
    if (const Value p = scaledSum(atom.a, atom.b, -1)) learnZero(scope, atoms, *p);
  } else if (atom.kind >= Operation::less) {
    const std::vector<Alternative> cases = alternatives(atoms, *id);
    for (const Polynomial& fact : cases[holds ? 0 : 1].facts)
      if (const Value p = resolved(fact, scope)) learn(scope, atoms, *p);
  }
}

std::string Atoms::print(const Polynomial& p) const {
  size_t room = kMostPrinted;
  return print(p, room);
}

std::string Atoms::print(AtomId id, size_t& room) const {
  const Atom& atom = atoms_[id];
  if (atom.kind == Operation::symbol) return atom.name;
  static constexpr const char* kNames[kOperationCount] = {
      "", "", "", "", "", "", "floordiv", "min", "max", "less", "lessequal", "equal", "and", "not"};
  if (room == 0) return "...";
  --room;
  std::string text = std::string(kNames[static_cast<size_t>(atom.kind)]) + "(" + print(atom.a, room);
  if (atom.kind != Operation::negation) text += ", " + print(atom.b, room);
  return text + ")";
}

std::string Atoms::print(const Polynomial& p, size_t& room) const {
  std::string text;
  for (auto term = p.terms.rbegin(); term != p.terms.rend(); ++term) {
    const auto& [monomial, coefficient] = *term;
    if (!text.empty()) text += coefficient < 0 ? " - " : " + ";
    const std::string number = std::to_string(coefficient);
    const bool isInner = !text.empty() && coefficient < 0;
    const bool isOne = !monomial.empty() && (coefficient == 1 || (isInner && coefficient == -1));
    if (!isOne) text += isInner ? number.substr(1) : number;
    for (size_t i = 0; i < monomial.size(); ++i)
      text += (i > 0 || !isOne ? "*" : "") + print(monomial[i], room);
  }
  return text.empty() ? "0" : text;
}

}  // namespace dyn::certificate
