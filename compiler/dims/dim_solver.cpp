#include "compiler/dims/dim_solver.h"

#include <algorithm>
#include <deque>

#include "compiler/dims/dim_solver_state.h"
#include "compiler/dims/ragged_dim.h"

namespace dyn {

const char* toString(Answer answer) {
  switch (answer) {
    case Answer::no:
      return "no";
    case Answer::yes:
      return "yes";
    default:
      return "unknown";
  }
}

const char* toString(FactKind kind) {
  switch (kind) {
    case FactKind::equal:
      return "equal";
    case FactKind::range:
      return "range";
    case FactKind::multipleOf:
      return "multipleOf";
    case FactKind::equalProduct:
      return "equalProduct";
    default:
      return "likely";
  }
}

std::string Fact::toString() const {
  std::string text = a.toString();
  switch (kind) {
    case FactKind::equal:
      text += " = " + b.toString();
      break;
    case FactKind::equalProduct:
      text += " = " + b.toString() + " as element counts";
      break;
    case FactKind::multipleOf:
      text += " is a multiple of " + std::to_string(multiple);
      break;
    case FactKind::range:
      if (low && high)
        text += " in " + std::to_string(*low) + ".." + std::to_string(*high);
      else if (low)
        text += " >= " + std::to_string(*low);
      else if (high)
        text += " <= " + std::to_string(*high);
      break;
    case FactKind::likely:
      text += " is likely";
      for (size_t i = 0; i < likely.size(); ++i) text += (i ? ", " : " ") + std::to_string(likely[i]);
      break;
  }
  return reason.text.empty() ? text : text + " (" + reason.text + ")";
}

DimSolver::DimSolver(DimContext& context) : impl_(std::make_unique<Impl>(context)) {}
DimSolver::~DimSolver() = default;
DimSolver::DimSolver(const DimSolver& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}

namespace {

// Drops chunks, then single facts, as long as `holds` stays true. The result has no needless fact.
std::vector<uint32_t> withoutNeedless(std::vector<uint32_t> chosen,
                                      const std::function<bool(const std::vector<uint32_t>&)>& holds) {
  if (chosen.size() > 400 || !holds(chosen)) return chosen;
  for (size_t chunk = std::max<size_t>(1, chosen.size() / 2);; chunk /= 2) {
    for (size_t at = 0; at < chosen.size();) {
      size_t end = std::min(chosen.size(), at + chunk);
      std::vector<uint32_t> fewer;
      for (size_t i = 0; i < chosen.size(); ++i)
        if (i < at || i >= end) fewer.push_back(chosen[i]);
      if (holds(fewer))
        chosen = std::move(fewer);
      else
        at = end;
    }
    if (chunk == 1) return chosen;
  }
}

Error invalidDim() {
  return makeError(DiagnosticId::dimOverflow,
                   "a fact about a size that overflowed, or divided by zero, while it was built");
}

}  // namespace

Status DimSolver::Impl::add(DimSolver& solver, const Fact& f) {
  switch (f.kind) {
    case FactKind::equal:
      return solver.addEqual(f.a, f.b, f.reason);
    case FactKind::equalProduct:
      return solver.addEqualProduct(f.a, f.b, f.reason);
    case FactKind::range:
      return solver.addRange(f.a, f.low, f.high, f.reason);
    case FactKind::multipleOf:
      return solver.addMultipleOf(f.a, f.multiple, f.reason);
    default:
      return {};
  }
}

std::unique_ptr<DimSolver> DimSolver::Impl::replay(const std::vector<uint32_t>& chosen) const {
  auto scratch = std::make_unique<DimSolver>(*context);
  scratch->impl_->explains = false;
  for (uint32_t i : chosen)
    if (!add(*scratch, facts[i]).ok()) return nullptr;
  return scratch;
}

void DimSolver::Impl::recordFact(Fact fact) {
  std::vector<SymbolId> about = symbolsOf(fact.a);
  if (fact.b) {
    for (SymbolId s : symbolsOf(fact.b)) about.push_back(s);
    std::sort(about.begin(), about.end());
    about.erase(std::unique(about.begin(), about.end()), about.end());
  }
  if (!about.empty() && about.back() >= factsOf.size()) factsOf.resize(context->symbolCount());
  for (SymbolId s : about) factsOf[s].push_back(static_cast<uint32_t>(facts.size()));
  facts.push_back(std::move(fact));
  undo.push_back([about](Impl& impl) {
    for (SymbolId s : about) impl.factsOf[s].pop_back();
    impl.facts.pop_back();
  });
}

Status DimSolver::Impl::learnFact(Fact fact, PendingConstraint constraint) {
  size_t mark = undo.size();
  uint32_t index = static_cast<uint32_t>(facts.size());
  recordFact(std::move(fact));
  constraint.proof = prove(index, {});
  DimLearner learner(*this);
  learner.push(std::move(constraint));
  if (learner.run()) return {};
  Fact refused = facts[index];
  rollback(mark);
  return contradiction(refused, index, learner.conflict());
}

Error DimSolver::Impl::contradiction(const Fact& fact, uint32_t index, const std::vector<ProofId>& proof) {
  if (!explains) return makeError(DiagnosticId::shapeMismatch, "contradiction");
  std::vector<uint32_t> others = factsBehind(proof);
  std::erase(others, index);
  others = withoutNeedless(std::move(others), [&](const std::vector<uint32_t>& chosen) {
    auto scratch = replay(chosen);
    return scratch && !add(*scratch, fact).ok();
  });
  std::string message = fact.toString();
  if (others.empty()) {
    message += " cannot hold";
  } else {
    message += " contradicts " + facts[others[0]].toString();
    if (others.size() > 1)
      message += others.size() == 2 ? " and " + facts[others[1]].toString() : " and others";
  }
  Error error = makeError(DiagnosticId::shapeMismatch, std::move(message), fact.reason.place);
  for (size_t i = 0; i < others.size() && i < 8; ++i) {
    const Fact& other = facts[others[i]];
    std::string note = "known: " + other.toString();
    if (other.reason.place.known()) note += " at " + other.reason.place.toString();
    error.diagnostic().notes.push_back(std::move(note));
  }
  return error;
}

Status DimSolver::addEqual(Dim a, Dim b, Reason reason) {
  if (a.isInvalid() || b.isInvalid()) return invalidDim();
  if (!mayBeEqual(impl_->canonical(a, nullptr), impl_->canonical(b, nullptr)))
    return makeError(DiagnosticId::shapeMismatch,
                     a.toString() + " == " + b.toString() + " (" + reason.text +
                         "): a length that differs from sequence to sequence equals itself alone",
                     reason.place);
  return impl_->learnFact({FactKind::equal, a, b, {}, {}, 1, {}, std::move(reason)}, {a - b, {0, 0}});
}

Status DimSolver::addEqualProduct(Dim a, Dim b, Reason reason) {
  if (a.isInvalid() || b.isInvalid()) return invalidDim();
  if (a == b) return {};  // says nothing
  return impl_->learnFact({FactKind::equalProduct, a, b, {}, {}, 1, {}, std::move(reason)}, {a - b, {0, 0}});
}

Status DimSolver::addRange(Dim a, std::optional<int64_t> low, std::optional<int64_t> high, Reason reason) {
  if (a.isInvalid()) return invalidDim();
  PendingConstraint constraint{a, {low, high}};
  constraint.lowersDefault = a.isSymbol();
  // One value: the default must give way first.
  if (low && high && *low == *high && constraint.lowersDefault && *low < 0) constraint.range.high.reset();
  bool split = constraint.range.high != high;
  size_t mark = impl_->undo.size();
  Status status = impl_->learnFact({FactKind::range, a, {}, low, high, 1, {}, std::move(reason)}, constraint);
  if (!status.ok() || !split) return status;
  DimLearner learner(*impl_);
  uint32_t index = static_cast<uint32_t>(impl_->facts.size() - 1);
  learner.push({a, {low, high}, 1, impl_->prove(index, {})});
  if (learner.run()) return {};
  Fact refused = impl_->facts[index];
  impl_->rollback(mark);
  return impl_->contradiction(refused, index, learner.conflict());
}

Status DimSolver::addMultipleOf(Dim a, int64_t multiple, Reason reason) {
  if (a.isInvalid() || multiple == INT64_MIN) return invalidDim();
  if (multiple < 0) multiple = -multiple;
  PendingConstraint constraint{a, {}, multiple};
  if (multiple == 0) constraint = {a, {0, 0}};  // 0 divides only 0
  return impl_->learnFact({FactKind::multipleOf, a, {}, {}, {}, multiple, {}, std::move(reason)},
                          std::move(constraint));
}

void DimSolver::addLikely(Dim a, std::vector<int64_t> values, Reason reason) {
  impl_->recordFact({FactKind::likely, a, {}, {}, {}, 1, std::move(values), std::move(reason)});
}

Answer DimSolver::equal(Dim a, Dim b) const {
  if (a.isInvalid() || b.isInvalid()) return Answer::unknown;
  if (a == b) return Answer::yes;
  Dim x = impl_->canonical(a), y = impl_->canonical(b);
  if (x.isInvalid() || y.isInvalid()) return Answer::unknown;
  return x == y ? Answer::yes : DimProver(*impl_).isZero(x - y);
}

Answer DimSolver::lessEqual(Dim a, Dim b) const {
  if (a.isInvalid() || b.isInvalid()) return Answer::unknown;
  if (a == b) return Answer::yes;
  return DimProver(*impl_).isNonNegative(impl_->canonical(b) - impl_->canonical(a));
}

Answer DimSolver::divides(int64_t divisor, Dim a) const {
  Dim x = impl_->canonical(a);
  DimProver prover(*impl_);
  Answer answer = prover.divides(divisor, x);
  return answer == Answer::unknown && !x.isInvalid() ? prover.divides(divisor, prover.simplify(x)) : answer;
}

Answer DimSolver::equalShapes(const Shape& a, const Shape& b) const {
  if (a.size() != b.size()) return Answer::no;
  Answer all = Answer::yes;
  for (size_t i = 0; i < a.size(); ++i) {
    Answer one = equal(a[i], b[i]);
    if (one == Answer::no) return one;
    if (one == Answer::unknown) all = one;
  }
  return all;
}

Answer DimSolver::equalElementCount(const Shape& a, const Shape& b) const {
  return equal(elementCount(*impl_->context, a), elementCount(*impl_->context, b));
}

Interval DimSolver::interval(Dim a) const {
  Dim x = impl_->canonical(a);
  DimProver prover(*impl_);
  Interval plain = prover.interval(x), simple = prover.interval(prover.simplify(x));
  if (simple.low && (!plain.low || *simple.low > *plain.low)) plain.low = simple.low;
  if (simple.high && (!plain.high || *simple.high < *plain.high)) plain.high = simple.high;
  return plain;
}

Dim DimSolver::canonical(Dim a) const { return impl_->canonical(a); }

namespace {

// The shortest chain of symbol = symbol (or constant) facts from a to b; nullopt if absent.
std::optional<std::vector<uint32_t>> chainOfEquals(const DimSolver::Impl& impl, Dim a, Dim b) {
  auto isEnd = [](Dim d) { return d && (d.isSymbol() || d.isConstant()); };
  if (!isEnd(a) || !isEnd(b)) return std::nullopt;
  bool swapped = !a.isSymbol();
  if (swapped) std::swap(a, b);
  if (!a.isSymbol()) return std::nullopt;
  struct Step {
    uint32_t fact;
    Dim from;
  };
  std::unordered_map<uint32_t, Step> came;  // by node id
  std::deque<Dim> queue{a};
  came[a.id()] = {0, Dim()};
  while (!queue.empty() && !came.count(b.id())) {
    Dim at = queue.front();
    queue.pop_front();
    if (!at.isSymbol() || at.symbol() >= impl.factsOf.size()) continue;
    for (uint32_t index : impl.factsOf[at.symbol()]) {
      const Fact& f = impl.facts[index];
      if (f.kind != FactKind::equal || !isEnd(f.a) || !isEnd(f.b)) continue;
      Dim to = f.a == at ? f.b : f.a;
      if (came.try_emplace(to.id(), Step{index, at}).second) queue.push_back(to);
    }
  }
  if (!came.count(b.id())) return std::nullopt;
  std::vector<uint32_t> chain;
  for (Dim at = b; at != a; at = came[at.id()].from) chain.push_back(came[at.id()].fact);
  if (!swapped) std::reverse(chain.begin(), chain.end());
  return chain;
}

std::vector<Fact> select(const std::vector<Fact>& facts, const std::vector<uint32_t>& chosen) {
  std::vector<Fact> out;
  for (uint32_t i : chosen) out.push_back(facts[i]);
  return out;
}

}  // namespace

std::vector<Fact> DimSolver::explainEqual(Dim a, Dim b) const {
  Answer answer = equal(a, b);
  if (answer == Answer::unknown || a == b) return {};
  if (auto chain = chainOfEquals(*impl_, a, b); chain && answer == Answer::yes)
    return select(impl_->facts, *chain);
  std::vector<ProofId> proof;
  Dim x = impl_->canonical(a, &proof), y = impl_->canonical(b, &proof);
  if (x != y) DimProver(*impl_, &proof).isZero(x - y);
  auto needed = withoutNeedless(impl_->factsBehind(proof), [&](const std::vector<uint32_t>& chosen) {
    auto scratch = impl_->replay(chosen);
    return scratch && scratch->equal(a, b) == answer;
  });
  return select(impl_->facts, needed);
}

std::vector<Fact> DimSolver::explainLessEqual(Dim a, Dim b) const {
  Answer answer = lessEqual(a, b);
  if (answer == Answer::unknown || a == b) return {};
  std::vector<ProofId> proof;
  Dim x = impl_->canonical(a, &proof), y = impl_->canonical(b, &proof);
  DimProver(*impl_, &proof).isNonNegative(y - x);
  auto needed = withoutNeedless(impl_->factsBehind(proof), [&](const std::vector<uint32_t>& chosen) {
    auto scratch = impl_->replay(chosen);
    return scratch && scratch->lessEqual(a, b) == answer;
  });
  return select(impl_->facts, needed);
}

size_t DimSolver::mark() const { return impl_->undo.size(); }
void DimSolver::rollback(size_t mark) { impl_->rollback(mark); }
const std::vector<Fact>& DimSolver::facts() const { return impl_->facts; }
std::vector<Fact> DimSolver::factsAbout(SymbolId symbol) const {
  if (symbol >= impl_->factsOf.size()) return {};
  return select(impl_->facts, impl_->factsOf[symbol]);
}
DimContext& DimSolver::context() const { return *impl_->context; }
uint64_t DimSolver::stepCount() const { return impl_->steps; }

}  // namespace dyn
