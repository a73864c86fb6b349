#include "compiler/loop/access/access_prover.h"

#include <algorithm>
#include <limits>

#include "compiler/loop/scalar_math.h"

namespace dyn::loop {

namespace {

constexpr int kBudget = 2000;       // steps of one question
constexpr int kMaxProofDepth = 40;  // of eliminations
constexpr int kMaxConvert = 100;    // nesting of an index expression
constexpr size_t kMaxProofTerms = 64;
constexpr int kMaxConstraintDepth = 3;

}  // namespace

AccessProver::AccessProver(LoopContext& context, const DimSolver* solver)
    : context_(context), solver_(solver) {}

// ---- polynomials ----

AccessProver::Polynomial AccessProver::constant(int64_t value) const {
  if (value == 0) return {};
  return {{{}, value}};
}

bool AccessProver::add(Polynomial& into, const Polynomial& p, int64_t factor) {
  for (const auto& [m, c] : p) {
    const auto product = checkedMul(c, factor);
    int64_t& slot = into[m];
    const auto total = product ? checkedAdd(slot, *product) : std::nullopt;
    if (!total) return false;
    slot = *total;
    if (slot == 0) into.erase(m);
  }
  return into.size() <= kMaxProofTerms;
}

// Overflow leaves an opaque polynomial that proves nothing.
AccessProver::Polynomial AccessProver::sum(const Polynomial& a, const Polynomial& b, int64_t factor) {
  Polynomial r = a;
  if (add(r, b, factor)) return r;
  return ofAtom(atom(AtomKind::opaque, atoms_.size() + (uint64_t{1} << 40), {}, {}, {}, {}));
}

std::optional<AccessProver::Polynomial> AccessProver::multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial r;
  if (a.size() * b.size() > kMaxProofTerms * kMaxProofTerms) return std::nullopt;
  for (const auto& [ma, ca] : a) {
    for (const auto& [mb, cb] : b) {
      Monomial m = ma;
      m.insert(m.end(), mb.begin(), mb.end());
      std::sort(m.begin(), m.end());
      const auto c = checkedMul(ca, cb);
      if (!c || m.size() > 12 || !add(r, {{m, *c}}, 1)) return std::nullopt;
    }
  }
  return r;
}

uint32_t AccessProver::atom(AtomKind kind, uint64_t reference, Expr expr, Dim dim, Polynomial a,
                            Polynomial b) {
  auto [found, fresh] = ids_.try_emplace({kind, reference, a, b}, static_cast<uint32_t>(atoms_.size()));
  if (fresh) atoms_.push_back({kind, expr, dim, std::move(a), std::move(b)});
  return found->second;
}

// ---- conversion ----

AccessProver::Polynomial AccessProver::division(Polynomial a, Polynomial k, bool remainder,
                                                uint64_t reference) {
  const uint32_t id = atom(AtomKind::floorDiv, 0, {}, {}, a, k);
  Polynomial q = ofAtom(id);
  if (!remainder) return q;
  auto product = multiply(k, q);  // mod(a, k) = a - k * floordiv(a, k)
  if (!product) return ofAtom(atom(AtomKind::opaque, reference, {}, {}, {}, {}));
  return sum(a, *product, -1);
}

AccessProver::Polynomial AccessProver::convert(Dim d, int depth) {
  const uint64_t reference = (uint64_t{1} << 33) + d.id();
  const Polynomial opaque = ofAtom(atom(AtomKind::opaque, reference, {}, d, {}, {}));
  if (depth > kMaxConvert) return opaque;
  if (auto value = d.constant()) return constant(*value);
  if (d.isSymbol()) return ofAtom(atom(AtomKind::symbol, d.id(), {}, d, {}, {}));
  std::vector<Polynomial> parts;
  for (Dim o : d.operands()) parts.push_back(convert(o, depth + 1));
  switch (d.kind()) {
    case DimKind::add: {
      Polynomial r;
      for (const Polynomial& p : parts) r = sum(r, p, 1);
      return r;
    }
    case DimKind::mul: {
      Polynomial r = constant(1);
      for (const Polynomial& p : parts) {
        auto product = multiply(r, p);
        if (!product) return opaque;
        r = std::move(*product);
      }
      return r;
    }
    case DimKind::floorDiv:
      return division(parts[0], parts[1], false, reference);
    case DimKind::
        ceilDiv:  // of positive divisors; a divisor <= 0 is never proved positive, so nothing follows
      return division(sum(sum(parts[0], parts[1], 1), constant(1), -1), parts[1], false, reference);
    case DimKind::mod:
      return division(parts[0], parts[1], true, reference);
    case DimKind::min:
    case DimKind::max:
      return ofAtom(
          atom(d.kind() == DimKind::min ? AtomKind::min : AtomKind::max, 0, {}, {}, parts[0], parts[1]));
    default:
      return opaque;
  }
}

AccessProver::Polynomial AccessProver::call(Expr e, int depth) {
  const UninterpretedFunction* f = e.function();
  if (f->backing == FunctionBacking::dimExpression && f->dim) return convert(f->dim, depth + 1);
  if (f->arity != 1) return ofAtom(atom(AtomKind::call, e.id() + (uint64_t{1} << 34), e, {}, {}, {}));
  Polynomial argument = convert(e.operands()[0], depth + 1);
  if (f->facts.prefixSumOf && argument.empty()) return {};  // the empty sum
  return ofAtom(atom(AtomKind::call, reinterpret_cast<uintptr_t>(f), e, {}, std::move(argument), {}));
}

AccessProver::Polynomial AccessProver::convert(Expr e, int depth) {
  if (auto found = converted_.find(e.id()); found != converted_.end()) return found->second;
  const auto opaque = [&] { return ofAtom(atom(AtomKind::opaque, e.id(), e, {}, {}, {})); };
  if (depth > kMaxConvert || e.dtype() != Dtype::i64) return opaque();
  Polynomial r;
  switch (e.kind()) {
    case ExprKind::intConstant:
      r = constant(e.intValue());
      break;
    case ExprKind::dim:
      r = convert(solver_ ? solver_->canonical(e.dimValue()) : e.dimValue(), depth + 1);
      break;
    case ExprKind::variable:
      if (auto value = lets_.find(e.id()); value != lets_.end())
        r = convert(value->second, depth + 1);
      else
        r = ofAtom(atom(AtomKind::variable, e.id(), e, {}, {}, {}));
      break;
    case ExprKind::call:
      r = call(e, depth);
      break;
    case ExprKind::select:
      r = ofAtom(atom(AtomKind::select, e.id(), e, {}, convert(e.operands()[1], depth + 1),
                      convert(e.operands()[2], depth + 1)));
      break;
    case ExprKind::unary:
      if (e.unaryOp() == UnaryOp::neg)
        r = sum({}, convert(e.operands()[0], depth + 1), -1);
      else
        r = opaque();
      break;
    case ExprKind::binary: {
      const BinaryOp op = e.binaryOp();
      const bool used = op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul ||
                        op == BinaryOp::floorDiv || op == BinaryOp::mod || op == BinaryOp::min ||
                        op == BinaryOp::max;
      if (!used) {
        r = opaque();
        break;
      }
      Polynomial a = convert(e.operands()[0], depth + 1), b = convert(e.operands()[1], depth + 1);
      if (op == BinaryOp::add || op == BinaryOp::sub) {
        r = sum(a, b, op == BinaryOp::add ? 1 : -1);
      } else if (op == BinaryOp::mul) {
        auto product = multiply(a, b);
        r = product ? std::move(*product) : opaque();
      } else if (op == BinaryOp::floorDiv || op == BinaryOp::mod) {
        r = division(std::move(a), std::move(b), op == BinaryOp::mod, e.id());
      } else {
        r = ofAtom(
            atom(op == BinaryOp::min ? AtomKind::min : AtomKind::max, 0, {}, {}, std::move(a), std::move(b)));
      }
      break;
    }
    default:
      r = opaque();
  }
  converted_.emplace(e.id(), r);
  return r;
}

// ---- facts ----

void AccessProver::addVariable(Expr variable, Expr extent) {
  extents_[variable.id()] = extent;
  const Polynomial size = convert(extent);
  // A product of sizes that is at least 1 has no factor 0; floordiv(a, k) >= 1 says a >= k.
  if (size.size() == 1 && size.begin()->second > 0) {
    const Monomial factors = size.begin()->first;
    const bool natural = factors.size() == 1 || std::all_of(factors.begin(), factors.end(),
                                                            [&](uint32_t a) { return ask(ofAtom(a)); });
    for (size_t k = 0; k < factors.size() && natural; ++k) {
      constraints_.push_back(sum(ofAtom(factors[k]), constant(1), -1));
      const Polynomial a = atoms_[factors[k]].a, b = atoms_[factors[k]].b;
      if (atoms_[factors[k]].kind == AtomKind::floorDiv && ask(sum(b, constant(1), -1)))
        constraints_.push_back(sum(a, b, -1));
    }
  }
  constraints_.push_back(sum(size, constant(1), -1));
}

void AccessProver::addRange(Expr variable, Expr extent) {
  extents_[variable.id()] = extent;
  convert(extent);  // candidates() looks its polynomial up
}

void AccessProver::addLet(Expr variable, Expr value) { lets_[variable.id()] = value; }

void AccessProver::assume(Expr condition, bool holds) {
  std::vector<std::pair<Expr, bool>> stack{{condition, holds}};
  while (!stack.empty()) {
    auto [e, positive] = stack.back();
    stack.pop_back();
    if (e.kind() == ExprKind::variable && lets_.contains(e.id())) {
      stack.push_back({lets_.at(e.id()), positive});
      continue;
    }
    if (e.kind() == ExprKind::unary && e.unaryOp() == UnaryOp::logicalNot) {
      stack.push_back({e.operands()[0], !positive});
      continue;
    }
    if (e.kind() != ExprKind::binary) continue;
    const Expr a = e.operands()[0], b = e.operands()[1];
    const BinaryOp op = e.binaryOp();
    if (op == (positive ? BinaryOp::logicalAnd : BinaryOp::logicalOr)) {
      stack.push_back({a, positive});
      stack.push_back({b, positive});
      continue;
    }
    if (a.dtype() != Dtype::i64 || !isComparison(op)) continue;
    const Polynomial pa = convert(a), pb = convert(b);
    const Polynomial ab = sum(pa, pb, -1), ba = sum(pb, pa, -1);
    if (op == (positive ? BinaryOp::equal : BinaryOp::notEqual)) {
      constraints_.push_back(ab);
      constraints_.push_back(ba);
    } else if (op == BinaryOp::less) {
      constraints_.push_back(positive ? sum(ba, constant(1), -1) : ab);
    } else if (op == BinaryOp::lessEqual) {
      constraints_.push_back(positive ? ba : sum(ab, constant(1), -1));
    }
  }
}

AccessProver::Facts AccessProver::takeSince(size_t mark) {
  Facts facts;
  facts.constraints.assign(constraints_.begin() + static_cast<std::ptrdiff_t>(mark), constraints_.end());
  constraints_.resize(mark);
  return facts;
}

void AccessProver::giveBack(Facts facts) {
  constraints_.insert(constraints_.end(), facts.constraints.begin(), facts.constraints.end());
}

// ---- proof ----

bool AccessProver::nonNegative(Expr e) { return ask(convert(e)); }
bool AccessProver::positive(Expr e) { return ask(sum(convert(e), constant(1), -1)); }
bool AccessProver::inRange(Expr index, Expr extent) {
  const Polynomial i = convert(index);
  return ask(i) && ask(sum(sum(convert(extent), i, -1), constant(1), -1));
}

bool AccessProver::ask(const Polynomial& p) {
  budget_ = kBudget;
  return prove(p, 0);
}

bool AccessProver::dependsOn(const Polynomial& p, uint32_t id, int depth) const {
  if (depth > kMaxConvert) return true;
  for (const auto& [m, c] : p) {
    for (uint32_t a : m) {
      if (a == id) return true;
      const Atom& at = atoms_[a];
      if (dependsOn(at.a, id, depth + 1) || dependsOn(at.b, id, depth + 1)) return true;
      // A load, or an opaque value: look into its expression for the variable.
      if (at.kind == AtomKind::opaque && at.expr && atoms_[id].kind == AtomKind::variable)
        for (Expr e : postorder(std::span(&at.expr, 1)))
          if (e.same(atoms_[id].expr)) return true;
    }
  }
  return false;
}

// p = coefficient * atom + rest; false when the atom occurs in a higher power.
bool AccessProver::split(const Polynomial& p, uint32_t id, Polynomial* coefficient, Polynomial* rest) const {
  for (const auto& [m, c] : p) {
    const auto count = std::count(m.begin(), m.end(), id);
    if (count == 0) {
      (*rest)[m] = c;
    } else if (count == 1) {
      Monomial left = m;
      left.erase(std::find(left.begin(), left.end(), id));
      (*coefficient)[left] = c;
    } else {
      return false;
    }
  }
  return true;
}

int64_t AccessProver::symbolLow(uint32_t id) const {
  int64_t low = 0;
  if (solver_) low = solver_->interval(atoms_[id].dim).low.value_or(std::numeric_limits<int64_t>::min());
  // A loop over an extent n is running, so n >= 1.
  for (const Polynomial& q : constraints_)
    if (q.size() == 2) {
      auto own = q.find({id});
      auto one = q.find({});
      if (own != q.end() && one != q.end() && own->second == 1) low = std::max(low, -one->second);
    }
  return low;
}

bool AccessProver::symbolNonNegative(uint32_t id) const {
  return atoms_[id].kind == AtomKind::symbol && symbolLow(id) >= 0;
}

// Over symbols only: with each symbol written as its lower bound plus something not negative, no coefficient
// is negative.
bool AccessProver::simplySigned(const Polynomial& p) {
  Polynomial shifted;
  for (const auto& [m, c] : p) {
    Polynomial term = constant(c);
    for (uint32_t a : m) {
      if (atoms_[a].kind != AtomKind::symbol) return false;
      const int64_t low = symbolLow(a);
      if (low < 0) return false;
      Polynomial factor = ofAtom(a);
      if (!add(factor, constant(std::min<int64_t>(low, 1 << 20)), 1)) return false;
      auto product = multiply(term, factor);
      if (!product) return false;
      term = std::move(*product);
    }
    if (!add(shifted, term, 1)) return false;
  }
  return std::all_of(shifted.begin(), shifted.end(), [](const auto& t) { return t.second >= 0; });
}

bool AccessProver::bySolver(const Polynomial& p) const {
  if (!solver_) return false;
  DimContext& dims = solver_->context();
  Dim low = dims.constant(0), high = dims.constant(0);
  for (const auto& [m, c] : p) {
    Dim term = dims.constant(c < 0 ? -c : c);
    if (c == std::numeric_limits<int64_t>::min()) return false;
    for (uint32_t a : m) {
      if (atoms_[a].kind != AtomKind::symbol) return false;
      term = term * atoms_[a].dim;
    }
    (c < 0 ? low : high) = (c < 0 ? low : high) + term;
  }
  return solver_->lessEqual(low, high) == Answer::yes;
}

// Atoms of p that no other atom of p depends on, the youngest first: inner variables come after outer ones.
std::vector<uint32_t> AccessProver::candidates(const Polynomial& p) const {
  std::vector<uint32_t> all;
  for (const auto& [m, c] : p)
    for (uint32_t a : m)
      if (std::find(all.begin(), all.end(), a) == all.end()) all.push_back(a);
  std::vector<uint32_t> free;
  for (uint32_t a : all) {
    bool used = false;
    for (uint32_t b : all) {
      if (a == b) continue;
      used |= dependsOn(atoms_[b].a, a) || dependsOn(atoms_[b].b, a);
      if (atoms_[b].kind == AtomKind::opaque && !used) used = dependsOn(ofAtom(b), a);
      if (atoms_[b].kind == AtomKind::variable && !used) {
        auto extent = extents_.find(atoms_[b].expr.id());
        if (extent != extents_.end()) {
          auto converted = converted_.find(extent->second.id());
          used |= converted != converted_.end() && dependsOn(converted->second, a);
        }
      }
      if (used) break;
    }
    if (!used) free.push_back(a);
  }
  std::sort(free.begin(), free.end(), std::greater<>());
  // Symbols last: everything else is bounded by them.
  std::stable_partition(free.begin(), free.end(),
                        [&](uint32_t a) { return atoms_[a].kind != AtomKind::symbol; });
  return free;
}

// With f the prefix sum of g: f(x) + g(x) is f(x + 1), and f(x + 1) - g(x) is f(x).
void AccessProver::joinPrefixSums(Polynomial& p) {
  for (int round = 0; round < 16; ++round) {
    if (!joinOnePrefixSum(p)) return;
  }
}

bool AccessProver::joinOnePrefixSum(Polynomial& p) {
  for (const auto& [m, c] : p) {
    for (size_t k = 0; k < m.size(); ++k) {
      if (atoms_[m[k]].kind != AtomKind::call) continue;
      const Expr like = atoms_[m[k]].expr;
      const UninterpretedFunction* f = like.function();
      if (!f->facts.prefixSumOf || f->arity != 1) continue;
      const Polynomial x = atoms_[m[k]].a;
      for (int64_t step : {1, -1}) {
        auto g = ids_.find({AtomKind::call,
                            reinterpret_cast<uintptr_t>(f->facts.prefixSumOf),
                            step > 0 ? x : sum(x, constant(1), -1),
                            {}});
        if (g == ids_.end()) continue;
        Monomial other = m;
        other[k] = g->second;
        std::sort(other.begin(), other.end());
        auto match = p.find(other);
        if (match == p.end() || match->second != c * step) continue;
        Monomial next = m;
        next[k] =
            atom(AtomKind::call, reinterpret_cast<uintptr_t>(f), like, {}, sum(x, constant(step), 1), {});
        std::sort(next.begin(), next.end());
        const int64_t factor = c;
        const Monomial own = m;
        p.erase(other);
        p.erase(own);
        return add(p, {{next, factor}}, 1);
      }
    }
  }
  return false;
}

bool AccessProver::prove(Polynomial p, int depth) {
  if (depth > kMaxProofDepth || --budget_ < 0) return false;
  joinPrefixSums(p);
  if (p.empty()) return true;
  if (p.size() == 1 && p.begin()->first.empty()) return p.begin()->second >= 0;
  if (simplySigned(p)) return true;
  // x * q >= 0 follows from x >= 0 and q >= 0.
  for (uint32_t factor : p.begin()->first) {
    const bool common = std::all_of(p.begin(), p.end(), [&](const auto& t) {
      return std::find(t.first.begin(), t.first.end(), factor) != t.first.end();
    });
    if (!common || p == ofAtom(factor)) continue;
    Polynomial reduced;
    for (const auto& [m, c] : p) {
      Monomial left = m;
      left.erase(std::find(left.begin(), left.end(), factor));
      reduced[left] = c;
    }
    if (prove(ofAtom(factor), depth + 1) && prove(std::move(reduced), depth + 1)) return true;
    break;
  }
  const std::vector<uint32_t> order = candidates(p);
  for (uint32_t id : order) {
    if (atoms_[id].kind == AtomKind::symbol) break;
    if (depth < kMaxConstraintDepth && byConstraints(p, id, depth)) return true;
  }
  for (uint32_t id : order) {
    if (atoms_[id].kind == AtomKind::symbol) break;
    if (eliminate(p, id, depth)) return true;
    if (budget_ < 0) return false;
  }
  if (!order.empty() && atoms_[order[0]].kind == AtomKind::symbol) {
    if (bySolver(p)) return true;
    for (uint32_t id : order)
      if (depth < kMaxProofDepth - 2 &&
          byConstraints(p, id, std::max(depth, kMaxProofDepth - 2 - kMaxConstraintDepth)))
        return true;
  }
  return false;
}

// p >= 0 follows from p - factor * q >= 0 with q >= 0: tried for constraints that cancel a term of the atom.
bool AccessProver::byConstraints(const Polynomial& p, uint32_t id, int depth) {
  for (size_t k = constraints_.size(); k-- > 0;) {
    const Polynomial q = constraints_[k];
    for (const auto& [m, c] : q) {
      if (std::find(m.begin(), m.end(), id) == m.end()) continue;
      auto own = p.find(m);
      if (own == p.end() || (own->second < 0) != (c < 0) || own->second % c != 0) continue;
      Polynomial rest = p;
      if (add(rest, q, -(own->second / c)) && rest.size() <= p.size() + 2 &&
          prove(std::move(rest), depth + 1))
        return true;
      break;
    }
    if (budget_ < 0) return false;
  }
  return false;
}

bool AccessProver::eliminate(const Polynomial& p, uint32_t id, int depth) {
  Polynomial c, r;
  if (!split(p, id, &c, &r)) return false;
  const AtomKind kind = atoms_[id].kind;
  const Polynomial a = atoms_[id].a, b = atoms_[id].b;
  const auto with = [&](const Polynomial& value) -> std::optional<Polynomial> {
    auto product = multiply(c, value);
    if (!product) return std::nullopt;
    Polynomial s = r;
    if (!add(s, *product, 1)) return std::nullopt;
    return s;
  };
  const auto holdsWith = [&](const Polynomial& value) {
    auto s = with(value);
    return s && prove(std::move(*s), depth + 1);
  };
  const bool up = prove(c, depth + 1);                        // grows with the atom
  const bool down = !up && prove(sum({}, c, -1), depth + 1);  // falls with it
  switch (kind) {
    case AtomKind::variable: {
      auto extent = extents_.find(atoms_[id].expr.id());
      if (extent == extents_.end()) return false;
      if (up) return prove(r, depth + 1);
      return down && holdsWith(sum(convert(extent->second), constant(1), -1));
    }
    case AtomKind::min:
      if (down) return holdsWith(a) || holdsWith(b);
      return holdsWith(a) && holdsWith(b);
    case AtomKind::max:
      if (up) return holdsWith(a) || holdsWith(b);
      return holdsWith(a) && holdsWith(b);
    case AtomKind::select: {
      const Expr condition = atoms_[id].expr.operands()[0];
      const size_t before = mark();
      assume(condition, true);
      const bool first = holdsWith(a);
      rollback(before);
      if (!first) return false;
      assume(condition, false);
      const bool second = holdsWith(b);
      rollback(before);
      return second;
    }
    case AtomKind::floorDiv: {
      if ((!up && !down) || !prove(sum(b, constant(1), -1), depth + 1)) return false;
      const bool one =
          c.size() == 1 && c.begin()->first.empty() && (c.begin()->second == 1 || c.begin()->second == -1);
      auto scaled = multiply(b, r);
      if (!scaled) return false;
      // q <= a / k and q >= (a - k + 1) / k; with coefficient 1 or -1 exactly: k*r + a >= 0, k*r + k - 1 - a
      // >= 0.
      const Polynomial low = sum(sum(a, b, -1), constant(1), 1);
      auto term = multiply(c, up && !one ? low : a);
      if (!term || !add(*scaled, *term, 1)) return false;
      if (one && down) *scaled = sum(sum(*scaled, b, 1), constant(1), -1);
      if (prove(std::move(*scaled), depth + 1)) return true;
      return up && prove(a, depth + 1) && prove(r, depth + 1);
    }
    case AtomKind::call:
      return (up || down) && eliminateCall(c, r, id, depth);
    default:
      return false;
  }
}

bool AccessProver::eliminateCall(const Polynomial& c, const Polynomial& r, uint32_t id, int depth) {
  const Expr like = atoms_[id].expr;
  const UninterpretedFunction* f = like.function();
  const Polynomial argument = atoms_[id].a;
  const UninterpretedFunction* summed = f->facts.prefixSumOf;
  const auto naturalSum = [&] {
    return summed && summed->facts.low && summed->facts.low.kind() == ExprKind::intConstant &&
           summed->facts.low.intValue() >= 0;
  };
  const bool up = prove(c, depth + 1);
  // c * (f(y) - f(x)) >= 0 for x <= y.
  if (f->arity == 1 && (f->facts.monotone || naturalSum())) {
    std::vector<uint32_t> others;
    for (const auto& [m, k] : r)
      for (uint32_t o : m)
        if (o != id && atoms_[o].kind == AtomKind::call && atoms_[o].expr.function() == f)
          others.push_back(o);
    for (uint32_t o : others) {
      Polynomial co, rest, oppositeRest;
      if (!split(r, o, &co, &rest) || co != sum({}, c, -1)) continue;
      const Polynomial other = atoms_[o].a;
      const Polynomial distance = up ? sum(argument, other, -1) : sum(other, argument, -1);
      if (prove(distance, depth + 1) && prove(rest, depth + 1)) return true;
    }
  }
  const Expr bound = up ? f->facts.low : f->facts.high;
  Polynomial value;
  if (bound) {
    value = convert(bound);
  } else if (!(up && naturalSum())) {
    // g(x) = f(x + 1) - f(x) where f sums g up.
    const auto sumOf = std::find_if(atoms_.begin(), atoms_.end(), [&](const Atom& a) {
      return a.kind == AtomKind::call && a.expr.function()->facts.prefixSumOf == f &&
             a.expr.function()->arity == 1;
    });
    if (up || sumOf == atoms_.end() || depth > kMaxProofDepth / 2) return false;
    const Expr sumLike = sumOf->expr;
    const auto at = [&](const Polynomial& x) {
      return ofAtom(
          atom(AtomKind::call, reinterpret_cast<uintptr_t>(sumLike.function()), sumLike, {}, x, {}));
    };
    value = sum(at(sum(argument, constant(1), 1)), at(argument), -1);
  }
  auto product = multiply(c, value);
  if (!product || !add(*product, r, 1)) return false;
  return prove(std::move(*product), depth + 1);
}

}  // namespace dyn::loop
