#include "app/session/explain/dim_guards.h"

#include <numeric>

namespace dyn {

namespace {

// A term as coefficient and the rest.
std::pair<int64_t, Dim> split(DimContext& context, Dim term) {
  if (auto value = term.constant()) return {*value, context.constant(1)};
  if (term.kind() != DimKind::mul || !term.operands()[0].isConstant()) return {1, term};
  Dim rest = context.constant(1);
  for (size_t i = 1; i < term.operands().size(); ++i) rest = rest * term.operands()[i];
  return {*term.operands()[0].constant(), rest};
}

struct Equation {
  std::string text;
  int cost = 0;  // additions, multiplications, divisions and reads of dims
};

int costOf(Dim dim) {
  int cost = 0;
  std::vector<Dim> pending = {dim};
  while (!pending.empty()) {
    const Dim at = pending.back();
    pending.pop_back();
    cost += at.isConstant() ? 0 : 1;
    for (Dim operand : at.operands()) pending.push_back(operand);
  }
  return cost;
}

// a - b = 0 with the negative terms on the other side and no common factor.
Equation equation(DimContext& context, Dim a, Dim b) {
  const Dim difference = a - b;
  std::vector<Dim> terms = {difference};
  if (difference.kind() == DimKind::add)
    terms.assign(difference.operands().begin(), difference.operands().end());
  int64_t common = 0;
  for (Dim term : terms) common = std::gcd(common, split(context, term).first);
  Dim left = context.constant(0), right = context.constant(0);
  for (Dim term : terms) {
    const auto [coefficient, rest] = split(context, term);
    Dim& side = coefficient > 0 ? left : right;
    side = side + rest * std::abs(coefficient / std::max<int64_t>(common, 1));
  }
  if (left.isConstant()) std::swap(left, right);
  return {left.toString() + " == " + right.toString(), costOf(left) + costOf(right)};
}

}  // namespace

Guards guardsFor(const DimSolver& solver, Dim a, Dim b) {
  DimContext& context = solver.context();
  const Dim x = solver.canonical(a), y = solver.canonical(b);
  const Equation exact = equation(context, x, y);
  Guards guards{exact.text, exact.text};
  int least = exact.cost;
  // Between two symbols, or a symbol and a number: one comparison, where it is enough.
  auto offer = [&](Dim left, Dim right) {
    const Equation one = equation(context, left, right);
    if (one.cost >= least) return;
    DimSolver trial(solver);
    if (!trial.addEqual(left, right, {"a guard", {}}).ok() || trial.equal(x, y) != Answer::yes) return;
    least = one.cost;
    guards.cheapest = one.text;
  };
  const std::vector<SymbolId> symbols = symbolsOf(x - y);
  for (size_t i = 0; i < symbols.size(); ++i)
    for (size_t k = i + 1; k < symbols.size(); ++k)
      offer(context.symbolById(symbols[i]), context.symbolById(symbols[k]));
  for (SymbolId symbol : symbols)
    for (int64_t value : {1, 2, 0}) offer(context.symbolById(symbol), context.constant(value));
  return guards;
}

std::unique_ptr<DimSolver> solverWithout(const DimSolver& solver,
                                         const std::function<bool(const Fact&)>& leftOut) {
  auto made = std::make_unique<DimSolver>(solver.context());
  for (const Fact& fact : solver.facts()) {
    if (leftOut(fact)) continue;
    // Facts that held together hold together without some of them.
    switch (fact.kind) {
      case FactKind::equal:
        (void)made->addEqual(fact.a, fact.b, fact.reason);
        break;
      case FactKind::equalProduct:
        (void)made->addEqualProduct(fact.a, fact.b, fact.reason);
        break;
      case FactKind::range:
        (void)made->addRange(fact.a, fact.low, fact.high, fact.reason);
        break;
      case FactKind::multipleOf:
        (void)made->addMultipleOf(fact.a, fact.multiple, fact.reason);
        break;
      case FactKind::likely:
        break;
    }
  }
  return made;
}

std::vector<std::string> inputShapes(const Module& module,
                                     const std::vector<std::pair<std::string, ValueId>>& ports,
                                     const DimSolver& solver,
                                     const std::vector<std::pair<SymbolId, int64_t>>& values) {
  constexpr int64_t kMostTries = 64;
  DimContext& context = solver.context();
  DimSolver pinned(solver);
  for (const auto& [symbol, value] : values)
    (void)pinned.addRange(context.symbolById(symbol), value, value, {"counterexample", {}});
  std::vector<std::string> shapes;
  for (const Parameter& p : module.main()->parameters) {
    if (!p.type.isTensor()) continue;
    std::string text;
    for (Dim dim : p.type.dims()) {
      for (SymbolId symbol : symbolsOf(dim)) {
        const Dim free = context.symbolById(symbol);
        const Interval interval = pinned.interval(free);
        if (interval.low && interval.low == interval.high) continue;
        // A size of at least 1 shows more than an empty tensor.
        for (int64_t value = std::max<int64_t>(1, interval.low.value_or(0)), end = value + kMostTries;
             value < end; ++value)
          if (pinned.addRange(free, value, value, {"counterexample", {}}).ok()) break;
      }
      const Interval size = pinned.interval(dim);
      text += (text.empty() ? "" : ", ") +
              (size.low && size.low == size.high ? std::to_string(*size.low) : dim.toString());
    }
    std::string name = module.context->valueName(p.id);
    for (const auto& [port, id] : ports)
      if (id == p.id) name = port;
    shapes.push_back(name + ": [" + text + "]");
  }
  return shapes;
}

}  // namespace dyn
