// Internal to codegen: the number of a unit and a loop over columns taken apart into digits, each a variable
// of its own.
//
//   UnitDigits digits(kernel);
//   digits.addLet(stmt);              // lets are seen through
//   digits.expressions = {...};       // what is to be told by digits
//   if (digits.find(columnLoop)) digits.digits;   // fastest first; expressions and `after` are rewritten
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/emit/device_products.h"
#include "compiler/loop/expr_forms.h"
#include "compiler/loop/kernel.h"

namespace dyn {

class UnitDigits {
 public:
  explicit UnitDigits(const loop::Kernel& kernel) : kernel_(kernel), loops_(*kernel.context) {}
  void addLet(const loop::Stmt& let);
  void addAfter(const loop::Stmt& s);  // a let or a store
  loop::Expr through(loop::Expr e);
  // mod(u, a), mod(floorDiv(u, a), b), ..., and what is left. A loop over columns is the fastest digit;
  // together with the blocks that it is cut into, if it is. Null: there is no such loop.
  bool find(const loop::Stmt* columns);

  std::vector<loop::Expr> expressions;
  std::vector<loop::StmtRef> after;
  std::vector<ProductDigit> digits;     // fastest first
  std::vector<loop::Expr> unitExtents;  // of the unit's digits but the slowest, in units

 private:
  bool mergeColumns(loop::Expr variable);
  std::vector<loop::Expr> roots() const;
  void replace(const std::function<loop::Expr(loop::Expr)>& by);
  bool isLeft(loop::Expr part) const;

  const loop::Kernel& kernel_;
  loop::LoopContext& loops_;
  loop::Expr columnExtent_;
  std::unordered_map<uint32_t, loop::Expr> lets_;
};

// Statements of a body in order, blocks taken apart.
void flatten(const loop::Stmt& stmt, std::vector<const loop::Stmt*>& found);
bool holdsStatements(const loop::Stmt& stmt);  // other than blocks of nothing
// "#2": the kernel's scalar number 2; "96": a constant; "": another expression.
std::string knownAtLaunch(const loop::Kernel& kernel, loop::Expr e);
// The product of the digits' extents as the launch computes it, from left to right
// (vm/core/device/device_code.h); "": it can not.
std::string extentAtLaunch(const loop::Kernel& kernel, const std::vector<loop::Expr>& unitExtents,
                           const std::vector<ProductDigit>& digits);

}  // namespace dyn
