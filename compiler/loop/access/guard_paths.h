// Under which conditions each node of an expression graph is needed.
//
// A path is a conjunction of conditions, from the root down: the arms of `select` add the condition or its
// negation, the value of a `checked` node adds its condition. A node used in several places has several
// paths; {kAlways} means unconditionally.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/loop/expr.h"

namespace dyn::loop {

struct GuardPath {
  uint32_t parent = 0;
  Expr condition;
  bool holds = true;     // the condition, or its negation
  bool isCheck = false;  // a check has made sure of it
};

class GuardPaths {
 public:
  static constexpr uint32_t kAlways = 0;

  // Bodies of reductions are looked into only when `intoReductions`.
  GuardPaths(std::span<const Expr> roots, bool intoReductions);

  const std::vector<uint32_t>& of(Expr node) const;  // sorted, without repeats
  bool isUnconditional(Expr node) const { return of(node).size() == 1 && of(node)[0] == kAlways; }
  const GuardPath& path(uint32_t id) const { return paths_[id]; }
  // Conditions of a path, outermost first.
  std::vector<GuardPath> conditions(uint32_t id) const;
  // All nodes, operands before users; of a `checked` node and a `select` the condition comes first.
  const std::vector<Expr>& order() const { return order_; }
  // False when the paths were too many to keep apart; then of() is not to be trusted.
  bool complete() const { return complete_; }

 private:
  uint32_t extend(uint32_t parent, Expr condition, bool holds, bool isCheck);
  void add(std::vector<uint32_t>& set, uint32_t path);

  std::vector<GuardPath> paths_{{}};
  std::unordered_map<uint32_t, std::vector<uint32_t>> children_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> of_;
  std::vector<Expr> order_;
  bool complete_ = true;
};

}  // namespace dyn::loop
