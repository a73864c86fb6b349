#include "compiler/loop/access/guard_paths.h"

#include <algorithm>
#include <unordered_set>

namespace dyn::loop {

namespace {

constexpr size_t kMaxPathsPerNode = 64;

std::span<const Expr> operandsWithin(Expr e, bool intoReductions) {
  if (e.kind() == ExprKind::reduce && !intoReductions) return e.operands().first(e.operands().size() - 1);
  return e.operands();
}

}  // namespace

GuardPaths::GuardPaths(std::span<const Expr> roots, bool intoReductions) {
  std::unordered_set<uint32_t> seen;
  struct Visit {
    Expr expr;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  for (Expr root : roots) {
    if (!seen.insert(root.id()).second) continue;
    stack.push_back({root});
    while (!stack.empty()) {
      Visit& top = stack.back();
      const auto operands = operandsWithin(top.expr, intoReductions);
      if (top.next < operands.size()) {
        const Expr o = operands[top.next++];
        if (seen.insert(o.id()).second) stack.push_back({o});
      } else {
        order_.push_back(top.expr);
        stack.pop_back();
      }
    }
  }
  for (Expr root : roots) add(of_[root.id()], kAlways);
  for (size_t k = order_.size(); k-- > 0;) {
    const Expr e = order_[k];
    const std::vector<uint32_t> own = of_[e.id()];
    const auto operands = operandsWithin(e, intoReductions);
    for (size_t i = 0; i < operands.size(); ++i) {
      std::vector<uint32_t>& set = of_[operands[i].id()];
      for (uint32_t p : own) {
        if (e.kind() == ExprKind::select && i > 0)
          add(set, extend(p, e.operands()[0], i == 1, false));
        else if (e.kind() == ExprKind::checked && i == 1)
          add(set, extend(p, e.operands()[0], true, true));
        else
          add(set, p);
      }
    }
  }
}

const std::vector<uint32_t>& GuardPaths::of(Expr node) const { return of_.at(node.id()); }

uint32_t GuardPaths::extend(uint32_t parent, Expr condition, bool holds, bool isCheck) {
  for (uint32_t p = parent; p != kAlways; p = paths_[p].parent)
    if (paths_[p].condition.same(condition) && paths_[p].holds == holds) return parent;
  for (uint32_t child : children_[parent]) {
    const GuardPath& c = paths_[child];
    if (c.condition.same(condition) && c.holds == holds && c.isCheck == isCheck) return child;
  }
  paths_.push_back({parent, condition, holds, isCheck});
  const auto id = static_cast<uint32_t>(paths_.size() - 1);
  children_[parent].push_back(id);
  return id;
}

void GuardPaths::add(std::vector<uint32_t>& set, uint32_t path) {
  // A path below one that is there already adds nothing; both sides of a condition are its parent.
  while (true) {
    for (uint32_t p = path;; p = paths_[p].parent) {
      if (std::binary_search(set.begin(), set.end(), p)) return;
      if (p == kAlways) break;
    }
    const GuardPath& own = paths_[path];
    auto other = std::find_if(set.begin(), set.end(), [&](uint32_t id) {
      const GuardPath& o = paths_[id];
      return path != kAlways && id != kAlways && !own.isCheck && !o.isCheck && o.parent == own.parent &&
             o.condition.same(own.condition) && o.holds != own.holds;
    });
    if (other == set.end()) break;
    set.erase(other);
    path = own.parent;
  }
  std::erase_if(set, [&](uint32_t id) {
    for (uint32_t p = id; p != kAlways; p = paths_[p].parent)
      if (p == path) return true;
    return path == kAlways;
  });
  set.insert(std::lower_bound(set.begin(), set.end(), path), path);
  if (set.size() > kMaxPathsPerNode) {
    complete_ = false;
    set.pop_back();
  }
}

std::vector<GuardPath> GuardPaths::conditions(uint32_t id) const {
  std::vector<GuardPath> list;
  for (; id != kAlways; id = paths_[id].parent) list.push_back(paths_[id]);
  std::reverse(list.begin(), list.end());
  return list;
}

}  // namespace dyn::loop
