// What an expression is, for code that matches forms.
#pragma once

#include "compiler/loop/expr.h"

namespace dyn::loop {

inline bool isBinary(const Expr& e, BinaryOp op) {
  return e.kind() == ExprKind::binary && e.binaryOp() == op;
}
inline bool mentions(const Expr& root, const Expr& part) {
  for (const Expr& e : postorder(std::span(&root, 1)))
    if (e.same(part)) return true;
  return false;
}
// The number 0.
inline bool isZero(const Expr& e) {
  return (e.kind() == ExprKind::intConstant && e.intValue() == 0) ||
         (e.kind() == ExprKind::realConstant && e.realValue() == 0);
}

}  // namespace dyn::loop
