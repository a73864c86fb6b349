// Canonical sums and products; the rewrites of floorDiv, ceilDiv, mod, min and max. Each holds for all
// integers.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "compiler/dims/dim_node.h"

namespace dyn {

namespace {

uint64_t hashOf(const DimNode* n) {
  uint64_t h = (static_cast<uint64_t>(n->kind) + 1) * 0x9e3779b97f4a7c15ull ^ static_cast<uint64_t>(n->value);
  h = (h ^ n->symbol) * 0xff51afd7ed558ccdull;
  for (Dim d : n->operands) h = (h ^ (h >> 29) ^ d.id()) * 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 32);
}

bool areSame(const DimNode& a, const DimNode& b) {
  return a.kind == b.kind && a.value == b.value && a.symbol == b.symbol && a.operands == b.operands;
}

}  // namespace

const DimNode* InternedDims::find(const DimNode& probe) const {
  const size_t mask = entries_.size() - 1;
  for (size_t i = probe.hash & mask; entries_[i].node; i = (i + 1) & mask)
    if (entries_[i].hash == probe.hash && areSame(*entries_[i].node, probe)) return entries_[i].node;
  return nullptr;
}

InternedDims::Entry& InternedDims::freeEntry(uint64_t hash) {
  const size_t mask = entries_.size() - 1;
  size_t i = hash & mask;
  while (entries_[i].node) i = (i + 1) & mask;
  return entries_[i];
}

void InternedDims::insert(const DimNode* node) {
  if (2 * ++count_ > entries_.size()) {
    std::vector<Entry> before(2 * entries_.size());
    std::swap(before, entries_);
    for (const Entry& entry : before)
      if (entry.node) freeEntry(entry.hash) = entry;
  }
  freeEntry(node->hash) = {node->hash, node};
}

int compareDims(const DimNode* a, const DimNode* b) {
  auto rank = [](const DimNode* n) {
    return n->kind == DimKind::constant ? 0 : n->kind == DimKind::symbol ? 1 : 2;
  };
  // One path down, no stack: interned operands are equal by pointer, so only the first difference is entered.
  while (a != b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
    if (a->kind == DimKind::constant) return a->value < b->value ? -1 : 1;
    if (a->kind == DimKind::symbol) {
      const auto& symbols = DimBuilder::impl(*a->context).symbols;
      const auto& x = symbols[a->symbol];
      const auto& y = symbols[b->symbol];
      if (x.anonymous != y.anonymous) return y.anonymous ? -1 : 1;
      if (x.anonymous) return x.number < y.number ? -1 : 1;
      return x.name < y.name ? -1 : 1;
    }
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    size_t i = 0, common = std::min(a->operands.size(), b->operands.size());
    while (i < common && a->operands[i] == b->operands[i]) ++i;
    if (i == common) return a->operands.size() < b->operands.size() ? -1 : 1;
    const DimNode* x = DimBuilder::node(a->operands[i]);
    b = DimBuilder::node(b->operands[i]);
    a = x;
  }
  return 0;
}

bool monomialBefore(const DimNode* a, const DimNode* b) {
  if (a == b) return false;
  if (a->degree != b->degree) return a->degree > b->degree;
  if (a->kind == DimKind::mul && b->kind == DimKind::mul) {
    for (size_t i = 0; i < a->operands.size(); ++i)
      if (a->operands[i] != b->operands[i])
        return compareDims(DimBuilder::node(a->operands[i]), DimBuilder::node(b->operands[i])) < 0;
  }
  return compareDims(a, b) < 0;
}

const DimNode* DimBuilder::constant(int64_t value) {
  DimNode probe;
  probe.kind = DimKind::constant;
  probe.value = value;
  probe.hash = hashOf(&probe);
  if (const DimNode* found = impl_.interned.find(probe)) return found;
  probe.id = static_cast<uint32_t>(impl_.nodes.size());
  probe.degree = 0;
  probe.context = &context_;
  impl_.nodes.push_back(std::move(probe));
  DimNode* node = &impl_.nodes.back();
  node->monomial = value == 1 ? node : impl_.one;
  impl_.interned.insert(node);
  return node;
}

SymbolId DimBuilder::addSymbol(std::string name, bool anonymous, uint64_t number, std::string reason) {
  SymbolId id = static_cast<SymbolId>(impl_.symbols.size());
  DimNode& node = impl_.nodes.emplace_back();
  node.kind = DimKind::symbol;
  node.id = static_cast<uint32_t>(impl_.nodes.size() - 1);
  node.symbol = id;
  node.monomial = &node;
  node.context = &context_;
  node.symbolSet = symbolSet({id});
  impl_.byName.emplace(name, id);
  impl_.symbols.push_back({std::move(name), std::move(reason), &node, anonymous, number, kNoBatch});
  return id;
}

Dim DimBuilder::anonymous(uint64_t number) {
  std::string name = "?" + std::to_string(number);
  auto known = impl_.byName.find(name);
  SymbolId id =
      known != impl_.byName.end() ? known->second : addSymbol(name, true, number, "written as " + name);
  return dim(impl_.symbols[id].node);
}

uint32_t DimBuilder::symbolSet(std::vector<SymbolId> symbols) {
  if (symbols.size() > kMaxSymbols) return kManySymbols;
  auto [at, fresh] =
      impl_.symbolSetNumbers.try_emplace(std::move(symbols), static_cast<uint32_t>(impl_.symbolSets.size()));
  if (fresh) impl_.symbolSets.push_back(at->first);
  return at->second;
}

uint32_t DimBuilder::symbolSetOf(const std::vector<Dim>& operands) {
  uint32_t set = 0;
  for (Dim d : operands) {
    const uint32_t other = node(d)->symbolSet;
    if (other == set || other == 0) continue;
    if (other == kManySymbols) return other;
    if (set == 0) {
      set = other;
      continue;
    }
    const auto &a = impl_.symbolSets[set], &b = impl_.symbolSets[other];
    std::vector<SymbolId> both;
    both.reserve(a.size() + b.size());
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    set = symbolSet(std::move(both));
    if (set == kManySymbols) return set;
  }
  return set;
}

// `operands` must be canonical for `kind` already.
const DimNode* DimBuilder::intern(DimKind kind, std::vector<Dim> operands) {
  DimNode probe;
  probe.kind = kind;
  probe.operands = std::move(operands);
  bool scaledProduct = kind == DimKind::mul && probe.operands[0].isConstant();
  if (scaledProduct) probe.value = node(probe.operands[0])->value;
  probe.hash = hashOf(&probe);
  if (const DimNode* found = impl_.interned.find(probe)) return found;
  for (Dim d : probe.operands) probe.depth = std::max(probe.depth, node(d)->depth + 1);
  probe.id = static_cast<uint32_t>(impl_.nodes.size());
  if (kind == DimKind::mul)
    probe.degree = static_cast<uint32_t>(probe.operands.size()) - (scaledProduct ? 1 : 0);
  probe.grouped = kind == DimKind::add;
  if (kind == DimKind::mul)
    for (Dim d : probe.operands) probe.grouped = probe.grouped || d.kind() == DimKind::add;
  probe.context = &context_;
  probe.symbolSet = symbolSetOf(probe.operands);
  impl_.nodes.push_back(std::move(probe));
  DimNode* made = &impl_.nodes.back();
  made->monomial = made;
  impl_.interned.insert(made);
  return made;
}

const DimNode* DimBuilder::scaled(int64_t coefficient, const DimNode* monomial) {
  if (monomial == impl_.one) return constant(coefficient);
  if (coefficient == 1) return monomial;
  std::vector<Dim> operands{dim(constant(coefficient))};
  if (monomial->kind == DimKind::mul)
    operands.insert(operands.end(), monomial->operands.begin(), monomial->operands.end());
  else
    operands.push_back(dim(monomial));
  const DimNode* made = intern(DimKind::mul, std::move(operands));
  const_cast<DimNode*>(made)->monomial = monomial;
  return made;
}

const DimNode* DimBuilder::monomialProduct(const DimNode* a, const DimNode* b) {
  if (a == impl_.one) return b;
  if (b == impl_.one) return a;
  std::vector<Dim> left = a->kind == DimKind::mul ? a->operands : std::vector<Dim>{dim(a)};
  std::vector<Dim> right = b->kind == DimKind::mul ? b->operands : std::vector<Dim>{dim(b)};
  if (left.size() + right.size() > kMaxDegree) return nullptr;
  std::vector<Dim> atoms(left.size() + right.size());
  std::merge(left.begin(), left.end(), right.begin(), right.end(), atoms.begin(),
             [](Dim x, Dim y) { return compareDims(node(x), node(y)) < 0; });
  return intern(DimKind::mul, std::move(atoms));
}

DimPoly DimBuilder::poly(Dim d) {
  const DimNode* n = node(d);
  DimPoly p;
  if (n->kind == DimKind::invalid) return DimPoly::failed();
  if (n->kind == DimKind::constant && n->value == 0) return p;
  if (n->kind == DimKind::add) {
    p.terms.reserve(n->operands.size());
    for (Dim term : n->operands) p.terms.push_back({node(term)->value, node(term)->monomial});
  } else {
    p.terms.push_back({n->value, n->monomial});
  }
  return p;
}

DimPoly DimBuilder::grouped(Dim d) {
  if (d.kind() != DimKind::add) return poly(d);
  return {{{1, node(d)}}, false};
}

Dim DimBuilder::build(const DimPoly& p) {
  if (p.bad) return dim(impl_.invalid);
  if (p.terms.empty()) return dim(constant(0));
  if (p.terms.size() == 1) return dim(scaled(p.terms[0].coefficient, p.terms[0].monomial));
  std::vector<Dim> operands;
  operands.reserve(p.terms.size());
  for (const DimTerm& t : p.terms) operands.push_back(dim(scaled(t.coefficient, t.monomial)));
  return dim(intern(DimKind::add, std::move(operands)));
}

DimPoly DimBuilder::single(const DimPoly& p) {
  return p.terms.size() <= 1 ? p : DimPoly{{{1, node(build(p))}}, false};
}

DimPoly DimBuilder::scale(const DimPoly& a, int64_t factor) {
  if (a.bad) return a;
  DimPoly out;
  if (factor == 0) return out;
  out.terms.reserve(a.terms.size());
  for (const DimTerm& t : a.terms) {
    auto c = checkedMul(t.coefficient, factor);
    if (!c) return DimPoly::failed();
    out.terms.push_back({*c, t.monomial});
  }
  return out;
}

DimPoly DimBuilder::add(const DimPoly& a, const DimPoly& b, int64_t sign) {
  if (a.bad || b.bad) return DimPoly::failed();
  DimPoly out;
  out.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    bool takeLeft = j == b.terms.size() ||
                    (i < a.terms.size() && monomialBefore(a.terms[i].monomial, b.terms[j].monomial));
    if (takeLeft) {
      out.terms.push_back(a.terms[i++]);
      continue;
    }
    auto right = checkedMul(b.terms[j].coefficient, sign);
    if (!right) return DimPoly::failed();
    if (i < a.terms.size() && a.terms[i].monomial == b.terms[j].monomial) {
      auto sum = checkedAdd(a.terms[i].coefficient, *right);
      if (!sum) return DimPoly::failed();
      if (*sum != 0) out.terms.push_back({*sum, a.terms[i].monomial});
      ++i;
    } else {
      out.terms.push_back({*right, b.terms[j].monomial});
    }
    ++j;
  }
  if (out.terms.size() > kMaxTerms && (a.terms.size() > 1 || b.terms.size() > 1))
    return add(single(a), single(b), sign);
  return out;
}

DimPoly DimBuilder::multiply(const DimPoly& a, const DimPoly& b) {
  if (a.bad || b.bad) return DimPoly::failed();
  auto grouped = [](const DimPoly& p) {
    return std::any_of(p.terms.begin(), p.terms.end(), [](const DimTerm& t) { return t.monomial->grouped; });
  };
  auto isConstant = [&](const DimPoly& p) { return p.terms.size() == 1 && p.terms[0].monomial == impl_.one; };
  bool many = a.terms.size() > 1 || b.terms.size() > 1;
  // Next to a group everything stays a group: expanding there would repeat its text.
  if (many && (a.terms.size() * b.terms.size() > kMaxTerms || grouped(a) || grouped(b)) && !isConstant(a) &&
      !isConstant(b))
    return multiply(single(a), single(b));
  DimPoly out;
  for (const DimTerm& x : a.terms)
    for (const DimTerm& y : b.terms) {
      auto c = checkedMul(x.coefficient, y.coefficient);
      if (!c) return DimPoly::failed();
      const DimNode* monomial = monomialProduct(x.monomial, y.monomial);
      if (!monomial) return DimPoly::failed();
      out.terms.push_back({*c, monomial});
    }
  std::sort(out.terms.begin(), out.terms.end(),
            [](const DimTerm& x, const DimTerm& y) { return monomialBefore(x.monomial, y.monomial); });
  size_t kept = 0;
  for (size_t i = 0; i < out.terms.size();) {
    DimTerm t = out.terms[i++];
    for (; i < out.terms.size() && out.terms[i].monomial == t.monomial; ++i) {
      auto sum = checkedAdd(t.coefficient, out.terms[i].coefficient);
      if (!sum) return DimPoly::failed();
      t.coefficient = *sum;
    }
    if (t.coefficient != 0) out.terms[kept++] = t;
  }
  out.terms.resize(kept);
  return out;
}

// A divisor that is kept as it is written: the canonical forms add up to its size to what is divided, which
// would overflow where the written form does not. By one that is not huge, what is within its size of the
// largest number is more than any memory has elements.
static bool isHuge(int64_t divisor) { return divisor > INT32_MAX || divisor < INT32_MIN; }

Dim DimBuilder::floorDiv(Dim a, Dim b) {
  if (a.isInvalid() || b.isInvalid()) return dim(invalid());
  auto divisor = b.constant();
  if (!divisor) return dim(intern(DimKind::floorDiv, {a, b}));
  if (auto numerator = a.constant()) {
    auto q = checkedFloorDiv(*numerator, *divisor);
    return dim(q ? constant(*q) : invalid());
  }
  if (*divisor == 0 || isHuge(*divisor))
    return dim(*divisor == 0 ? invalid() : intern(DimKind::floorDiv, {a, b}));
  if (*divisor < 0) return floorDivByConstant(scale(poly(a), -1), -*divisor);
  return floorDivByConstant(poly(a), *divisor);
}

// A remainder inside of a quotient that its multiple divides: floor((x + c*(a mod m))/k) = floor((x + c*a)/k)
// - (c*m/k)*floor(a/m) where k divides c*m. Only where x and c*a share what cancels: floor((n + (-n mod
//   7))/7). The quotient is told in `whole`.
std::optional<DimPoly> DimBuilder::withoutRemainder(const DimPoly& numerator, int64_t divisor,
                                                    DimPoly& whole) {
  constexpr uint32_t kMaxDepth = 64;  // of what is divided anew: no recursion over deep dims
  for (const DimTerm& t : numerator.terms) {
    if (t.monomial->kind != DimKind::mod || t.monomial->depth > kMaxDepth) continue;
    auto modulus = t.monomial->operands[1].constant();
    auto span = modulus && *modulus > 0 ? checkedMul(t.coefficient, *modulus) : std::nullopt;
    if (!span || *span % divisor != 0) continue;
    DimPoly opened =
        add(add(numerator, {{t}, false}, -1), scale(poly(t.monomial->operands[0]), t.coefficient), 1);
    if (opened.bad) continue;
    const auto left = std::count_if(opened.terms.begin(), opened.terms.end(),
                                    [&](const DimTerm& u) { return u.coefficient % divisor != 0; });
    if (left >= static_cast<std::ptrdiff_t>(numerator.terms.size())) continue;
    const Dim inner = floorDivByConstant(poly(t.monomial->operands[0]), *modulus);
    whole = scale(poly(inner), -(*span / divisor));
    if (whole.bad) continue;
    return opened;
  }
  return std::nullopt;
}

// floor((k*q + r)/k) = q + floor(r/k);  floor((g*x + c)/(g*k)) = floor((x + floor(c/g))/k);
// floor((floor(a/b) + d)/k) = floor((a + b*d)/(b*k)) for b > 0;  floor(-x/k) = -floor((x + k-1)/k).
Dim DimBuilder::floorDivByConstant(DimPoly numerator, int64_t divisor) {
  DimPoly whole;
  int64_t sign = 1;  // of what is still to be divided
  for (;;) {
    if (numerator.bad) return dim(invalid());
    DimPoly rest;
    int64_t common = divisor;
    for (const DimTerm& t : numerator.terms) {
      bool isConstant = t.monomial == impl_.one;
      int64_t q = isConstant ? *checkedFloorDiv(t.coefficient, divisor) : t.coefficient / divisor;
      int64_t r = t.coefficient - q * divisor;
      if (q) whole = add(whole, {{{q, t.monomial}}, false}, sign);
      if (r) rest.terms.push_back({r, t.monomial});
      if (r && !isConstant) common = std::gcd(common, r);
    }
    if (whole.bad) return dim(invalid());
    if (common > 1) {
      divisor /= common;
      std::vector<DimTerm> reduced;
      for (DimTerm t : rest.terms) {
        t.coefficient = *checkedFloorDiv(t.coefficient, common);
        if (t.coefficient) reduced.push_back(t);
      }
      rest.terms = std::move(reduced);
    }
    if (rest.terms.empty() || divisor == 1) return build(add(whole, rest, sign));
    if (rest.terms[0].coefficient < 0 && rest.terms[0].monomial != impl_.one) {
      numerator = add(scale(rest, -1), poly(dim(constant(divisor - 1))), 1);
      sign = -sign;
      continue;
    }
    DimPoly quotientOfRemainder;
    if (auto opened = withoutRemainder(rest, divisor, quotientOfRemainder)) {
      whole = add(whole, quotientOfRemainder, sign);
      numerator = std::move(*opened);
      continue;
    }
    const DimTerm& first = rest.terms[0];
    bool alone = rest.terms.size() == 1 || (rest.terms.size() == 2 && rest.terms[1].monomial == impl_.one);
    int64_t offset = rest.terms.size() == 2 ? rest.terms[1].coefficient : 0;
    if (alone && first.coefficient == 1 && first.monomial->kind == DimKind::mod && offset == 0) {
      auto modulus = first.monomial->operands[1].constant();
      if (modulus && *modulus > 0 && *modulus <= divisor) return build(whole);
    }
    if (alone && first.coefficient == 1 && first.monomial->kind == DimKind::floorDiv) {
      auto inner = first.monomial->operands[1].constant();
      auto product = inner && *inner > 0 ? checkedMul(*inner, divisor) : std::nullopt;
      auto shift = product && !isHuge(*product) ? checkedMul(*inner, offset) : std::nullopt;
      if (shift) {
        DimPoly constantPart;
        if (*shift) constantPart.terms.push_back({*shift, impl_.one});
        DimPoly merged = add(poly(first.monomial->operands[0]), constantPart, 1);
        if (!merged.bad) {
          numerator = std::move(merged);
          divisor = *product;
          continue;
        }
      }
    }
    Dim quotient = dim(intern(DimKind::floorDiv, {build(rest), dim(constant(divisor))}));
    return build(add(whole, poly(quotient), sign));
  }
}

Dim DimBuilder::ceilDiv(Dim a, Dim b) {
  if (a.isInvalid() || b.isInvalid()) return dim(invalid());
  auto divisor = b.constant();
  if (!divisor) return dim(intern(DimKind::ceilDiv, {a, b}));
  if (auto numerator = a.constant()) {
    auto q = checkedCeilDiv(*numerator, *divisor);
    return dim(q ? constant(*q) : invalid());
  }
  if (*divisor == 0 || isHuge(*divisor))
    return dim(*divisor == 0 ? invalid() : intern(DimKind::ceilDiv, {a, b}));
  DimPoly numerator = *divisor < 0 ? scale(poly(a), -1) : poly(a);
  int64_t k = *divisor < 0 ? -*divisor : *divisor;
  return floorDivByConstant(add(numerator, poly(dim(constant(k - 1))), 1), k);
}

Dim DimBuilder::mod(Dim a, Dim b) {
  if (a.isInvalid() || b.isInvalid()) return dim(invalid());
  auto divisor = b.constant();
  if (!divisor) return dim(intern(DimKind::mod, {a, b}));
  if (auto numerator = a.constant()) {
    auto r = checkedMod(*numerator, *divisor);
    return dim(r ? constant(*r) : invalid());
  }
  if (*divisor == 0) return dim(invalid());
  if (isHuge(*divisor)) return dim(intern(DimKind::mod, {a, b}));
  if (*divisor > 0) return modByConstant(poly(a), *divisor);
  return build(scale(poly(modByConstant(scale(poly(a), -1), -*divisor)), -1));  // a mod -k = -(-a mod k)
}

// (k*q + r) mod k = r mod k;  (g*x + c) mod (g*k) = g*((x + floor(c/g)) mod k) + c mod g;
// c*(x mod m) is c*x modulo k when k divides c*m.
Dim DimBuilder::modByConstant(DimPoly numerator, int64_t divisor) {
  for (int round = 0; round < 16; ++round) {
    if (numerator.bad) return dim(invalid());
    bool changed = false;
    DimPoly rest;
    for (const DimTerm& t : numerator.terms) {
      int64_t r = t.monomial == impl_.one ? *checkedMod(t.coefficient, divisor) : t.coefficient % divisor;
      if (!r) continue;
      auto modulus = t.monomial->kind == DimKind::mod ? t.monomial->operands[1].constant() : std::nullopt;
      auto span = modulus && *modulus > 0 ? checkedMul(r, *modulus) : std::nullopt;
      DimPoly part{{{r, t.monomial}}, false};
      if (span && *span % divisor == 0) {
        DimPoly opened = scale(poly(t.monomial->operands[0]), r);
        if (!opened.bad) {
          part = std::move(opened);
          changed = true;
        }
      }
      DimPoly sum = add(rest, part, 1);
      if (sum.bad) return dim(intern(DimKind::mod, {build(numerator), dim(constant(divisor))}));
      rest = std::move(sum);
    }
    numerator = std::move(rest);
    if (!changed) break;
  }
  if (numerator.terms.empty() || divisor == 1) return dim(constant(0));
  if (numerator.terms.size() == 1 && numerator.terms[0].monomial == impl_.one)
    return dim(constant(*checkedMod(numerator.terms[0].coefficient, divisor)));
  if (numerator.terms.size() == 1 && numerator.terms[0].coefficient == 1) {
    const DimNode* only = numerator.terms[0].monomial;
    auto modulus = only->kind == DimKind::mod ? only->operands[1].constant() : std::nullopt;
    if (modulus && *modulus > 0 && *modulus <= divisor) return dim(only);
  }
  int64_t common = divisor;
  for (const DimTerm& t : numerator.terms)
    if (t.monomial != impl_.one) common = std::gcd(common, t.coefficient);
  int64_t left = 0;
  if (common > 1) {
    std::vector<DimTerm> reduced;
    for (DimTerm t : numerator.terms) {
      if (t.monomial == impl_.one) left = *checkedMod(t.coefficient, common);
      t.coefficient = *checkedFloorDiv(t.coefficient, common);
      if (t.coefficient) reduced.push_back(t);
    }
    numerator.terms = std::move(reduced);
    divisor /= common;
  }
  DimPoly remainder;
  if (divisor > 1) {
    // What is left without the common factor may open or fall away in its turn; it has none, so this ends.
    const Dim rest = common > 1 ? modByConstant(std::move(numerator), divisor)
                                : dim(intern(DimKind::mod, {build(numerator), dim(constant(divisor))}));
    remainder = scale(poly(rest), common);
  }
  return build(add(remainder, poly(dim(constant(left))), 1));
}

std::vector<Dim> flattenChoice(DimKind minOrMax, Dim n) {
  std::vector<Dim> out;
  while (n.kind() == minOrMax) {
    out.push_back(n.operands()[1]);
    n = n.operands()[0];
  }
  out.push_back(n);
  std::reverse(out.begin(), out.end());
  return out;
}

Dim DimBuilder::choose(DimKind kind, Dim a, Dim b) {
  if (a.isInvalid() || b.isInvalid()) return dim(invalid());
  if (a == b) return a;
  std::vector<Dim> list = flattenChoice(kind, a);
  std::vector<Dim> right = flattenChoice(kind, b);
  if (list.size() + right.size() > kMaxChoices) {
    list = {a};
    right = {b};
  }
  // Operands that differ only by a constant: the smaller (for max: the larger) one stays.
  struct Choice {
    Dim base;
    int64_t offset;
    Dim whole;
  };
  std::vector<Choice> kept;
  right.insert(right.begin(), list.begin(), list.end());
  for (Dim d : right) {
    DimPoly p = poly(d);
    int64_t offset = 0;
    if (!p.terms.empty() && p.terms.back().monomial == impl_.one) {
      offset = p.terms.back().coefficient;
      p.terms.pop_back();
    }
    Dim base = build(p);
    auto same = std::find_if(kept.begin(), kept.end(), [&](const Choice& c) { return c.base == base; });
    if (same == kept.end())
      kept.push_back({base, offset, d});
    else if (kind == DimKind::min ? offset < same->offset : offset > same->offset)
      *same = {base, offset, d};
  }
  // Absorption: min(a, max(a, b)) = a.
  DimKind other = kind == DimKind::min ? DimKind::max : DimKind::min;
  std::vector<Dim> operands;
  for (const Choice& c : kept) {
    bool absorbed = false;
    if (c.whole.kind() == other)
      for (Dim inner : flattenChoice(other, c.whole))
        absorbed = absorbed ||
                   std::any_of(kept.begin(), kept.end(), [&](const Choice& k) { return k.whole == inner; });
    if (!absorbed) operands.push_back(c.whole);
  }
  std::sort(operands.begin(), operands.end(), [](Dim x, Dim y) { return compareDims(node(x), node(y)) < 0; });
  Dim chain = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) chain = dim(intern(kind, {chain, operands[i]}));
  return chain;
}

Dim DimBuilder::rebuild(const DimNode* n, const std::vector<Dim>& operands) {
  switch (n->kind) {
    case DimKind::add: {
      DimPoly sum;
      for (Dim d : operands) sum = add(sum, poly(d), 1);
      return build(sum);
    }
    case DimKind::mul: {
      DimPoly product{{{1, impl_.one}}, false};
      for (Dim d : operands) product = multiply(product, poly(d));
      return build(product);
    }
    case DimKind::floorDiv:
      return floorDiv(operands[0], operands[1]);
    case DimKind::ceilDiv:
      return ceilDiv(operands[0], operands[1]);
    case DimKind::mod:
      return mod(operands[0], operands[1]);
    case DimKind::min:
    case DimKind::max:
      return choose(n->kind, operands[0], operands[1]);
    default:
      return dim(n);
  }
}

}  // namespace dyn
