// Numbers that are bytes, widened, and tables of what is made of a byte.
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

constexpr int64_t kByteTable = 256;  // elements of a table with a place for each byte

inline bool isByteTable(const Buffer& buffer) {
  return storageBytes(buffer.dtype) == 1 && isInteger(buffer.dtype) && buffer.shape.size() == 1 &&
         buffer.shape[0].kind() == ExprKind::intConstant && buffer.shape[0].intValue() == kByteTable;
}

// Is it a load of the byte that a table has for another byte?
inline bool looksUpByte(Expr e) {
  return e.kind() == ExprKind::load && isByteTable(*e.buffer()) && !widenedByte(e.operands()[0]).isNull();
}

}  // namespace dyn::loop
