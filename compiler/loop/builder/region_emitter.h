// RegionEmitter: places expressions in a nest of loops.
//
// Needs: expressions with `reduce` and `checked` nodes over variables bound by the open scopes.
// Establishes: statements in those scopes and expressions without such nodes, where
//  - each reduction is an `accumulate` in the outermost scope that binds everything it depends on, made once
//    per scope;
//  - what an inner loop would compute again and again is a `let` in the outermost scope that binds it;
//  - what is used more than once and is worth it is a `let`;
//  - each `checked` node is a `check` in the outermost scope that binds its condition, before its value is
//    computed;
//  - nothing that could read out of range moves to a place where it is evaluated though the original would
//    not be: such a value moves under a `select` with the conditions of its use, or not at all.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/loop/access/access_prover.h"
#include "compiler/loop/access/guard_paths.h"
#include "compiler/loop/kernel.h"

namespace dyn::loop {

class RegionEmitter {
 public:
  RegionEmitter(LoopContext& context, const DimSolver* solver) : c_(context), prover_(context, solver) {}

  void openScope();
  void bind(Expr variable, Expr extent);  // in the innermost scope
  void bindLet(Expr variable, Expr value);
  // The expressions to use in the innermost scope, after the statements appended to the open scopes.
  Result<std::vector<Expr>> emit(std::span<const Expr> roots);
  void append(StmtRef statement) { chain_.back()->statements.push_back(std::move(statement)); }
  StmtRef closeScope();

 private:
  struct Scope {
    std::vector<StmtRef> statements;
    std::vector<Expr> extents;
    size_t mark = 0;  // of the prover, when the scope was opened
    std::unordered_map<uint32_t, Expr> lets;
    std::map<std::pair<uint32_t, uint32_t>, Expr> accumulates;
    std::vector<uint32_t> variables;
  };
  struct Region;

  int top() const { return static_cast<int>(chain_.size()) - 1; }
  int levelOf(Expr e);
  bool mayFault(Expr e) const;
  bool isSafeAt(Expr e, int level);
  bool nodeIsSafe(Expr e);
  // Conditions of use of a node, and that the loops between `level` and the innermost scope run at all.
  struct UseGuard {
    Expr condition;  // null: always
    bool exact = true;
    int checkLevel = 0;
  };
  UseGuard useGuard(Region& region, Expr node);
  Expr runsGuard(int level, bool* known);
  Expr hoist(Region& region, Expr original, Expr value, int level);
  Expr letIn(Expr value, int level);
  static bool dependsOnVisited(const Region& region, Expr condition);
  Status visit(Region& region, Expr root);
  Status finish(Region& region, Expr e);
  Expr subjectOf(const Region& region, Expr checked, int level);
  Status emitCheck(Region& region, Expr checked);
  Status emitReduce(Region& region, Expr e);

  LoopContext& c_;
  AccessProver prover_;
  std::vector<std::unique_ptr<Scope>> owned_;
  std::vector<Scope*> chain_;
  std::unordered_map<uint32_t, int> variableLevel_;
  std::unordered_map<uint32_t, int> levelMemo_;  // of expressions over bound variables
  int depth_ = 0;
};

}  // namespace dyn::loop
