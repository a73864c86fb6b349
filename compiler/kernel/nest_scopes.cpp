#include "compiler/kernel/nest_scopes.h"

#include <algorithm>

namespace dyn {

using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::StmtRef;

std::vector<NestPart> partsOf(Expr root) {
  enum class Stage : uint8_t { enter, check, leave };
  struct Visit {
    Expr e;
    bool always;
    Stage stage;
  };
  std::vector<NestPart> found;
  std::unordered_map<uint32_t, bool> seen;  // id → seen unconditionally
  std::unordered_map<uint32_t, size_t> position;
  std::vector<Visit> work{{root, true, Stage::enter}};
  while (!work.empty()) {
    const Visit v = work.back();
    work.pop_back();
    if (v.stage == Stage::check) {
      found.push_back({v.e, v.always, true});
      continue;
    }
    if (v.stage == Stage::leave) {
      const bool wanted =
          v.e.kind() == ExprKind::reduce || v.e.kind() == ExprKind::checked || v.e.kind() == ExprKind::load;
      if (!wanted) continue;
      auto [it, fresh] = position.try_emplace(v.e.id(), found.size());
      if (fresh)
        found.push_back({v.e, v.always, false});
      else
        found[it->second].always |= v.always;
      continue;
    }
    auto [it, fresh] = seen.try_emplace(v.e.id(), v.always);
    if (!fresh && (it->second || !v.always)) continue;
    it->second = v.always;
    work.push_back({v.e, v.always, Stage::leave});
    if (v.e.kind() == ExprKind::reduce) continue;
    for (size_t i = v.e.operands().size(); i-- > 0;) {
      const bool arm = v.e.kind() == ExprKind::select && i > 0;
      work.push_back({v.e.operands()[i], v.always && !arm, Stage::enter});
      if (v.e.kind() == ExprKind::checked && i == 1 && fresh) work.push_back({v.e, v.always, Stage::check});
    }
  }
  return found;
}

// The innermost of `scope` and its parents that binds a variable of `e`.
NestScope& NestLowering::homeOf(Expr e, NestScope& scope) const {
  size_t depth = 0;
  for (const Expr& part : loop::postorder(std::span<const Expr>(&e, 1))) {
    auto it = depthOf_.find(part.id());
    if (it != depthOf_.end()) depth = std::max(depth, it->second);
  }
  NestScope* home = &scope;
  while (home->parent && home->depth > depth) home = home->parent;
  return *home;
}

Expr NestLowering::lower(Expr root, NestScope& scope) {
  for (const NestPart& part : partsOf(root)) {
    const Expr e = part.expr;
    if (part.check) {
      check(e, scope);
      continue;
    }
    if (replacement(e, scope)) continue;
    NestScope& home = homeOf(e, scope);
    if (e.kind() == ExprKind::reduce) {
      home.replaced[e.id()] = accumulate(e, home);
    } else if (e.kind() == ExprKind::checked) {
      scope.replaced[e.id()] = apply(e.operands()[1], scope);
    } else if (part.always && &home != &scope) {
      // A load that does not change here is read once, further out.
      const Expr load = apply(e, scope);
      const Expr variable = loops_.variable("v", load.dtype());
      home.statements.push_back(loop::let(variable, load));
      bind(variable, home);
      home.replaced[e.id()] = variable;
    }
  }
  return apply(root, scope);
}

void NestLowering::check(Expr e, NestScope& scope) {
  const Expr condition = apply(e.operands()[0], scope);
  NestScope& place = homeOf(condition, scope);
  Expr subject = e.operands().size() > 2 ? apply(e.operands()[2], scope) : Expr();
  // What the condition was simplified to may be known further out than a part of it.
  if (!subject.isNull() && homeOf(subject, scope).depth > place.depth) subject = {};
  place.statements.push_back(loop::check(condition, e.fault(), subject));
}

Expr NestLowering::replacement(Expr e, const NestScope& scope) const {
  for (const NestScope* s = &scope; s; s = s->parent) {
    auto it = s->replaced.find(e.id());
    if (it != s->replaced.end()) return it->second;
  }
  return {};
}

Expr NestLowering::apply(Expr root, const NestScope& scope) {
  return loops_.substitute(root, [&](Expr e) { return replacement(e, scope); });
}

Expr NestLowering::accumulate(Expr reduction, NestScope& home) {
  std::vector<Expr> variables, extents;
  const size_t count = reduction.reduceVariables().size();
  std::unordered_map<uint32_t, Expr> renamed;
  NestScope inner = NestScope::inside(home);
  for (size_t i = 0; i < count; ++i) {
    const Expr fresh = loops_.variable("k");
    renamed[reduction.reduceVariables()[i].id()] = fresh;
    variables.push_back(fresh);
    bind(fresh, inner);
    extents.push_back(apply(reduction.operands()[i], home));
    loops_.bound(fresh, extents.back());
  }
  Expr body = loops_.rename(reduction.operands()[count], renamed);
  body = lower(body, inner);
  const Expr result = loops_.variable("r", reduction.dtype());
  bind(result, home);
  reductions_.push_back({home.depth, extents});
  StmtRef children = loop::block(std::move(inner.statements));
  // A reduction inside a vector loop is done by its lanes; the emitter decides from where it stands.
  home.statements.push_back(
      loop::accumulate(result, reduction.reduceOp(), variables, extents, LoopKind::vector, children, body));
  return result;
}

}  // namespace dyn
