#include "compiler/loop/builder/region_emitter.h"

#include <algorithm>

#include "compiler/loop/scalar_math.h"

namespace dyn::loop {

namespace {

constexpr int kMaxReduceNesting = 32;

bool isLeaf(Expr e) {
  return e.kind() == ExprKind::intConstant || e.kind() == ExprKind::realConstant ||
         e.kind() == ExprKind::variable || e.kind() == ExprKind::dim;
}

// Sharing pays: it costs more than reading a register.
bool isExpensive(Expr e) {
  switch (e.kind()) {
    case ExprKind::load:
    case ExprKind::call:
      return true;
    case ExprKind::unary:
      return e.unaryOp() >= UnaryOp::sqrt;
    case ExprKind::binary:
      return isIntegerDivision(e.binaryOp()) || e.binaryOp() == BinaryOp::pow;
    default:
      return false;
  }
}

Expr zero(LoopContext& c, Dtype dtype) { return c.number(0, dtype); }

Expr neutral(LoopContext& c, ReduceOp op, Dtype dtype) {
  if (isReal(dtype)) return c.real(realNeutral(op), dtype);
  if (dtype == Dtype::boolean) return c.boolean(integerNeutral(op, dtype) != 0);
  return c.integer(integerNeutral(op, dtype), dtype);
}

const char* hintOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::minimum:
      return "least";
    case ReduceOp::maximum:
      return "most";
    case ReduceOp::logicalAnd:
      return "all";
    case ReduceOp::logicalOr:
      return "some";
    default:
      return "total";
  }
}

}  // namespace

// One call of emit().
struct RegionEmitter::Region {
  GuardPaths guards;
  std::unordered_map<uint32_t, int> uses;
  std::unordered_map<uint32_t, Expr> done;
  std::unordered_set<uint32_t> visiting;
  std::unordered_map<uint32_t, int> checkLevels;  // by condition
  std::unordered_map<uint32_t, int> sizes;        // of the printed form, saturating

  explicit Region(std::span<const Expr> roots) : guards(roots, false) {
    for (Expr root : roots) ++uses[root.id()];
    for (Expr e : guards.order()) {
      const size_t count = e.operands().size() - (e.kind() == ExprKind::reduce ? 1 : 0);
      for (size_t i = 0; i < count; ++i) ++uses[e.operands()[i].id()];
    }
  }
};

void RegionEmitter::openScope() {
  owned_.push_back(std::make_unique<Scope>());
  owned_.back()->mark = prover_.mark();
  chain_.push_back(owned_.back().get());
}

void RegionEmitter::bind(Expr variable, Expr extent) {
  c_.bound(variable, extent);
  chain_.back()->extents.push_back(extent);
  chain_.back()->variables.push_back(variable.id());
  variableLevel_[variable.id()] = top();
  prover_.addVariable(variable, extent);
}

void RegionEmitter::bindLet(Expr variable, Expr value) {
  append(let(variable, value));
  variableLevel_[variable.id()] = top();
  prover_.addLet(variable, value);
}

StmtRef RegionEmitter::closeScope() {
  prover_.rollback(chain_.back()->mark);
  StmtRef body = block(std::move(chain_.back()->statements));
  chain_.pop_back();
  return body;
}

// Level: the position in the chain of the innermost scope whose variables the expression uses. Kept for every
// node: the level of a variable is settled before an expression over it is asked about.
int RegionEmitter::levelOf(Expr root) {
  std::vector<std::pair<Expr, size_t>> stack{{root, 0}};
  while (!stack.empty()) {
    auto& [e, next] = stack.back();
    if (levelMemo_.contains(e.id())) {
      stack.pop_back();
    } else if (next < e.operands().size()) {
      stack.push_back({e.operands()[next++], 0});
    } else {
      int level = 0;
      if (auto found = variableLevel_.find(e.id()); found != variableLevel_.end()) level = found->second;
      for (Expr o : e.operands()) level = std::max(level, levelMemo_.at(o.id()));
      levelMemo_.emplace(e.id(), level);
      stack.pop_back();
    }
  }
  return levelMemo_.at(root.id());
}

bool RegionEmitter::nodeIsSafe(Expr e) {
  if (e.kind() == ExprKind::load || (e.kind() == ExprKind::call && e.function()->array)) {
    const Buffer& b = e.kind() == ExprKind::load ? *e.buffer() : *e.function()->array;
    for (size_t axis = 0; axis < b.shape.size(); ++axis)
      if (!prover_.inRange(e.operands()[axis], b.shape[axis])) return false;
    return true;
  }
  if (e.kind() == ExprKind::binary && !isReal(e.dtype()) && isIntegerDivision(e.binaryOp())) {
    const Expr divisor = e.operands()[1];
    if (divisor.kind() == ExprKind::intConstant) return divisor.intValue() != 0;
    return divisor.dtype() == Dtype::i64 && prover_.positive(divisor);
  }
  return true;
}

bool RegionEmitter::mayFault(Expr root) const {
  for (Expr e : postorder(std::span(&root, 1))) {
    if (e.kind() == ExprKind::load || e.kind() == ExprKind::call || e.kind() == ExprKind::checked)
      return true;
    if (e.kind() == ExprKind::binary && !isReal(e.dtype()) && isIntegerDivision(e.binaryOp()) &&
        !(e.operands()[1].kind() == ExprKind::intConstant && e.operands()[1].intValue() != 0))
      return true;
  }
  return false;
}

// Is nothing in the expression out of range whenever the scopes up to `level` are entered?
bool RegionEmitter::isSafeAt(Expr root, int level) {
  const size_t keep = level + 1 < static_cast<int>(chain_.size())
                          ? chain_[static_cast<size_t>(level) + 1]->mark
                          : prover_.mark();
  AccessProver::Facts away = prover_.takeSince(keep);
  const GuardPaths guards(std::span(&root, 1), true);
  bool safe = guards.complete();
  // Variables of inner reductions; the same canonical one may run over different extents, then nothing is
  // proved.
  std::unordered_map<uint32_t, Expr> ranges;
  for (Expr e : guards.order()) {
    if (e.kind() != ExprKind::reduce) continue;
    for (size_t k = 0; k < e.reduceVariables().size(); ++k) {
      auto [known, fresh] = ranges.try_emplace(e.reduceVariables()[k].id(), e.operands()[k]);
      safe &= known->second.same(e.operands()[k]);
      prover_.addRange(e.reduceVariables()[k], e.operands()[k]);
    }
  }
  for (Expr e : guards.order()) {
    if (!safe) break;
    if (e.kind() == ExprKind::checked) safe = false;
    for (uint32_t path : guards.of(e)) {
      const size_t mark = prover_.mark();
      for (const GuardPath& g : guards.conditions(path)) prover_.assume(g.condition, g.holds);
      safe = safe && nodeIsSafe(e);
      prover_.rollback(mark);
    }
  }
  prover_.rollback(keep);
  prover_.giveBack(std::move(away));
  return safe;
}

RegionEmitter::UseGuard RegionEmitter::useGuard(Region& region, Expr node) {
  UseGuard guard;
  Expr any;
  for (uint32_t path : region.guards.of(node)) {
    Expr all;
    for (const GuardPath& g : region.guards.conditions(path)) {
      if (g.isCheck) {
        auto level = region.checkLevels.find(g.condition.id());
        guard.checkLevel =
            std::max(guard.checkLevel, level == region.checkLevels.end() ? top() : level->second);
        continue;
      }
      auto found = region.done.find(g.condition.id());
      if (found == region.done.end()) {
        guard.exact = false;  // the condition depends on the node itself
        break;
      }
      const Expr condition = g.holds ? found->second : !found->second;
      all = all.isNull() ? condition : all && condition;
    }
    if (all.isNull()) {
      guard.condition = {};
      // Later paths may still hold checks.
      any = c_.boolean(true);
      continue;
    }
    any = any.isNull() ? all : any || all;
  }
  if (!any.isNull() && !(any.kind() == ExprKind::intConstant && any.intValue() != 0)) guard.condition = any;
  return guard;
}

// Do the loops between `level` and the innermost scope run? Null: surely. `known` is false when that depends
// on their own variables.
Expr RegionEmitter::runsGuard(int level, bool* known) {
  Expr all;
  const size_t keep = chain_.size() > static_cast<size_t>(level) + 1
                          ? chain_[static_cast<size_t>(level) + 1]->mark
                          : prover_.mark();
  AccessProver::Facts away = prover_.takeSince(keep);
  for (size_t k = static_cast<size_t>(level) + 1; k < chain_.size(); ++k) {
    for (Expr extent : chain_[k]->extents) {
      if (prover_.positive(extent)) continue;
      if (levelOf(extent) > level) *known = false;
      const Expr runs = c_.integer(0) < extent;
      all = all.isNull() ? runs : all && runs;
    }
  }
  prover_.giveBack(std::move(away));
  return all;
}

Expr RegionEmitter::letIn(Expr value, int level) {
  if (isLeaf(value)) return value;
  Scope& scope = *chain_[static_cast<size_t>(level)];
  if (auto found = scope.lets.find(value.id()); found != scope.lets.end()) return found->second;
  Expr v = c_.variable(value.kind() == ExprKind::load ? value.buffer()->name : "t", value.dtype());
  scope.statements.push_back(let(v, value));
  scope.lets.emplace(value.id(), v);
  variableLevel_[v.id()] = level;
  prover_.addLet(v, value);
  return v;
}

// `value` (the rewritten form of `original`) as something computed once per round of the scope at `level`, if
// that is safe.
Expr RegionEmitter::hoist(Region& region, Expr original, Expr value, int level) {
  if (isLeaf(value)) return value;
  if (!mayFault(value) || isSafeAt(value, level)) return letIn(value, level);
  UseGuard use = useGuard(region, original);
  bool known = use.exact && use.checkLevel <= level;
  const Expr runs = known ? runsGuard(level, &known) : Expr();
  if (!known) return value;
  Expr guard = use.condition;
  if (!runs.isNull()) guard = guard.isNull() ? runs : runs && guard;
  if (!guard.isNull() && levelOf(guard) > level) return value;
  return letIn(guard.isNull() ? value : select(guard, value, zero(c_, value.dtype())), level);
}

Result<std::vector<Expr>> RegionEmitter::emit(std::span<const Expr> roots) {
  Region region(roots);
  if (!region.guards.complete())
    return makeError(DiagnosticId::unsupportedFeature,
                     "an expression is used under too many conditions to be made a kernel");
  std::vector<Expr> results;
  for (Expr root : roots) DYN_CHECK(visit(region, root));
  for (Expr root : roots) {
    Expr value = region.done.at(root.id());
    const int level = levelOf(value);
    if (level < top()) value = hoist(region, root, value, level);
    results.push_back(value);
  }
  return results;
}

bool RegionEmitter::dependsOnVisited(const Region& region, Expr condition) {
  for (Expr e : postorder(std::span(&condition, 1)))
    if (region.visiting.contains(e.id())) return true;
  return false;
}

// Operands first; for reductions and checks the conditions under which they are needed come first, too.
Status RegionEmitter::visit(Region& region, Expr root) {
  struct Frame {
    Expr expr;
    std::vector<Expr> needs;
    size_t next = 0, conditions = 0;
    size_t checkBefore = SIZE_MAX;  // emit the check before this one
  };
  std::vector<Frame> stack;
  const auto enter = [&](Expr e) {
    Frame frame{.expr = e};
    if (e.kind() == ExprKind::reduce || e.kind() == ExprKind::checked)
      for (uint32_t path : region.guards.of(e))
        for (const GuardPath& g : region.guards.conditions(path)) frame.needs.push_back(g.condition);
    frame.conditions = frame.needs.size();
    const size_t count = e.operands().size() - (e.kind() == ExprKind::reduce ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      if (e.kind() == ExprKind::checked && i == 1) frame.checkBefore = frame.needs.size();
      frame.needs.push_back(e.operands()[i]);
    }
    region.visiting.insert(e.id());
    stack.push_back(std::move(frame));
  };
  if (!region.done.contains(root.id())) enter(root);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next < frame.needs.size()) {
      if (frame.next == frame.checkBefore) {
        frame.checkBefore = SIZE_MAX;
        DYN_CHECK(emitCheck(region, frame.expr));
      }
      const bool isCondition = frame.next < frame.conditions;
      const Expr need = frame.needs[frame.next++];
      if (region.done.contains(need.id())) continue;
      // A condition that depends on what is being visited cannot come first; the guard does without it.
      if (isCondition && dependsOnVisited(region, need)) continue;
      enter(need);
      continue;
    }
    const Expr e = frame.expr;
    stack.pop_back();
    region.visiting.erase(e.id());
    DYN_CHECK(finish(region, e));
  }
  return {};
}

Status RegionEmitter::finish(Region& region, Expr e) {
  if (region.done.contains(e.id())) return {};
  if (isLeaf(e)) {
    region.done.emplace(e.id(), e);
    return {};
  }
  if (e.kind() == ExprKind::reduce) return emitReduce(region, e);
  if (e.kind() == ExprKind::checked) {
    region.done.emplace(e.id(), region.done.at(e.operands()[1].id()));
    return {};
  }
  std::vector<Expr> operands;
  std::vector<int> levels;
  int level = 0;
  for (Expr o : e.operands()) {
    operands.push_back(region.done.at(o.id()));
    levels.push_back(levelOf(operands.back()));
    level = std::max(level, levels.back());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    if (levels[i] < level) operands[i] = hoist(region, e.operands()[i], operands[i], levels[i]);
  Expr value = c_.withOperands(e, operands);
  int size = 1;
  for (Expr o : operands) size = std::min(1 << 20, size + (isLeaf(o) ? 1 : region.sizes[o.id()]));
  if (region.uses[e.id()] > 1 && (isExpensive(value) || size > 12)) {
    level = levelOf(value);
    value = hoist(region, e, value, level);
  }
  region.sizes[value.id()] = isLeaf(value) ? 1 : size;
  region.done.emplace(e.id(), value);
  return {};
}

// Null where it is not known yet: the condition was simplified to something else.
Expr RegionEmitter::subjectOf(const Region& region, Expr checked, int level) {
  if (checked.operands().size() < 3) return {};
  const auto known = region.done.find(checked.operands()[2].id());
  return known == region.done.end() || levelOf(known->second) > level ? Expr() : known->second;
}

Status RegionEmitter::emitCheck(Region& region, Expr checked) {
  const Expr original = checked.operands()[0];
  Expr condition = region.done.at(original.id());
  const UseGuard use = useGuard(region, checked);
  int level = std::max(levelOf(condition), use.checkLevel);
  if (!use.condition.isNull()) level = std::max(level, levelOf(use.condition));
  // A check outside loops that do not run would stop the kernel for nothing.
  Expr runs;
  for (bool known = false; !known;) {
    known = true;
    runs = runsGuard(level, &known);
    if (!known) ++level;
  }
  Expr guard = use.condition;
  if (!runs.isNull()) guard = guard.isNull() ? runs : runs && guard;
  if (!guard.isNull()) condition = select(guard, condition, c_.boolean(true));
  auto [place, fresh] = region.checkLevels.try_emplace(original.id(), level);
  if (!fresh) place->second = std::max(place->second, level);
  if (condition.kind() == ExprKind::intConstant && condition.intValue() != 0) return {};
  chain_[static_cast<size_t>(level)]->statements.push_back(
      check(condition, checked.fault(), subjectOf(region, checked, level)));
  if (level == top()) prover_.assume(condition);
  return {};
}

Status RegionEmitter::emitReduce(Region& region, Expr e) {
  if (++depth_ > kMaxReduceNesting)
    return makeError(DiagnosticId::unsupportedFeature, "reductions are nested too deeply for one kernel");
  std::vector<Expr> extents;
  int level = levelOf(e.operands().back());
  for (size_t k = 0; k < e.reduceVariables().size(); ++k) {
    extents.push_back(region.done.at(e.operands()[k].id()));
    level = std::max(level, levelOf(extents.back()));
  }
  auto& made = chain_[static_cast<size_t>(level)]->accumulates;
  if (auto found = made.find({e.id(), UINT32_MAX}); found != made.end()) {
    region.done.emplace(e.id(), found->second);
    --depth_;
    return {};
  }
  // The reduction's own variables, fresh: canonical ones are shared by many reductions.
  std::vector<Expr> variables;
  std::unordered_map<uint32_t, Expr> renamed;
  for (size_t k = 0; k < extents.size(); ++k) {
    variables.push_back(c_.variable("r"));
    c_.bound(variables.back(), extents[k]);
    renamed.emplace(e.reduceVariables()[k].id(), variables.back());
  }
  Expr body = c_.rename(e.operands().back(), renamed);
  Expr guard;
  if (mayFault(body)) {
    const size_t mark = prover_.mark();
    const size_t keep = level < top() ? chain_[static_cast<size_t>(level) + 1]->mark : mark;
    AccessProver::Facts away = prover_.takeSince(keep);
    for (size_t k = 0; k < extents.size(); ++k) prover_.addVariable(variables[k], extents[k]);
    const bool safe = isSafeAt(body, top());
    prover_.rollback(keep);
    prover_.giveBack(std::move(away));
    if (!safe) {
      const UseGuard use = useGuard(region, e);
      level = std::max(level, use.checkLevel);
      guard = use.condition;
      if (!guard.isNull()) level = std::max(level, levelOf(guard));
      Expr runs;
      for (bool known = false; !known;) {
        known = true;
        runs = runsGuard(level, &known);
        if (!known) ++level;
      }
      if (!runs.isNull()) guard = guard.isNull() ? runs : runs && guard;
    }
  }
  Scope& home = *chain_[static_cast<size_t>(level)];
  const std::pair<uint32_t, uint32_t> key{e.id(), guard.isNull() ? UINT32_MAX : guard.id()};
  if (auto found = home.accumulates.find(key); found != home.accumulates.end()) {
    region.done.emplace(e.id(), found->second);
    --depth_;
    return {};
  }
  if (!guard.isNull()) body = select(guard, body, neutral(c_, e.reduceOp(), e.dtype()));

  // The body is a region of its own in a scope below `home`; what holds only in the loops between does not
  // hold there.
  const size_t keep = level < top() ? chain_[static_cast<size_t>(level) + 1]->mark : prover_.mark();
  AccessProver::Facts away = prover_.takeSince(keep);
  std::vector<Scope*> between(chain_.begin() + level + 1, chain_.end());
  chain_.resize(static_cast<size_t>(level) + 1);
  openScope();
  for (size_t k = 0; k < variables.size(); ++k) bind(variables[k], extents[k]);
  auto values = emit(std::span(&body, 1));
  StmtRef inner = closeScope();
  chain_.insert(chain_.end(), between.begin(), between.end());
  prover_.giveBack(std::move(away));
  if (!values.ok()) return values.takeError();

  Expr result = c_.variable(hintOf(e.reduceOp()), e.dtype());
  if (inner->children.empty()) inner = nullptr;
  home.statements.push_back(
      accumulate(result, e.reduceOp(), variables, extents, LoopKind::vector, inner, (*values)[0]));
  home.accumulates.emplace(key, result);
  variableLevel_[result.id()] = level;
  region.done.emplace(e.id(), result);
  --depth_;
  return {};
}

}  // namespace dyn::loop
