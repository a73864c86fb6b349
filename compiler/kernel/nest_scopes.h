// The statements of a nest, by depth: where the reductions, checks and loads of an element stand.
//
//   y[i, j] = x[i, j] / sum(k) x[i, k]      lowered in the loop over j:
//   unit    { accumulate r = sum over k      its value does not change in the loop over j
//   loop j    { y[i, j] = x[i, j] / r } }
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn {

// The statements of a loop. Depth 0 is the unit; inner loops and reductions lie deeper.
struct NestScope {
  std::vector<loop::StmtRef> statements;
  size_t depth = 0;
  NestScope* parent = nullptr;                        // null: nothing moves out of this loop
  std::unordered_map<uint32_t, loop::Expr> replaced;  // parts that became variables here, by id

  static NestScope inside(NestScope& parent) { return {{}, parent.depth + 1, &parent, {}}; }
};

// A reduction, check or load of an element that is not inside another reduction.
struct NestPart {
  loop::Expr expr;
  bool always = false;  // evaluated for every element
  bool check = false;   // the check itself, before anything inside the value that it protects
};

// Operands first. A check comes twice: as `check`, and as the value it protects.
std::vector<NestPart> partsOf(loop::Expr root);

class NestLowering {
 public:
  struct Reduction {
    size_t depth;  // of the scope that it stands in
    std::vector<loop::Expr> extents;
  };

  explicit NestLowering(loop::LoopContext& loops) : loops_(loops) {}

  // Says which scope's loop binds `variable`; one that was never named is bound around all.
  void bind(loop::Expr variable, const NestScope& scope) { depthOf_[variable.id()] = scope.depth; }

  // `root` with reductions and checks made statements, each in the outermost scope that has all it needs.
  // What remains is evaluated in `scope`.
  loop::Expr lower(loop::Expr root, NestScope& scope);

  // All that were lowered.
  std::span<const Reduction> reductions() const { return reductions_; }

 private:
  NestScope& homeOf(loop::Expr e, NestScope& scope) const;
  loop::Expr replacement(loop::Expr e, const NestScope& scope) const;
  loop::Expr apply(loop::Expr root, const NestScope& scope);
  loop::Expr accumulate(loop::Expr reduction, NestScope& home);
  void check(loop::Expr e, NestScope& scope);

  loop::LoopContext& loops_;
  std::unordered_map<uint32_t, size_t> depthOf_;  // variable → depth of the scope that binds it
  std::vector<Reduction> reductions_;
};

}  // namespace dyn
