// Numbers that are bytes, widened.
#pragma once

#include "compiler/loop/expr.h"

namespace dyn::loop {

// The u8 that `e` is a cast of, by way of wider integers perhaps; null: it is not one.
inline Expr widenedByte(Expr e) {
  while (e.kind() == ExprKind::cast && (e.dtype() == Dtype::i64 || e.dtype() == Dtype::i32)) {
    e = e.operands()[0];
    if (e.dtype() == Dtype::u8) return e;
  }
  return {};
}

}  // namespace dyn::loop
