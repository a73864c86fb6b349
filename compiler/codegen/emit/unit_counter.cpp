// The loop over the units of a kernel, whose indices are counted like the digits of a number instead of
// divided out for each unit:
// a row of a few elements is copied in less time than one division takes.
#include <algorithm>

#include "compiler/codegen/emit/kernel_emitter.h"

namespace dyn {

using llvm::Value;
using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::StmtKind;

std::vector<KernelEmitter::UnitDigit> KernelEmitter::unitDigits() const {
  std::vector<UnitDigit> digits;
  const loop::Stmt& body = *kernel_.body;
  if (body.kind != StmtKind::block) return digits;
  Expr rest = kernel_.unit;
  for (const loop::StmtRef& child : body.children) {
    if (child->kind != StmtKind::let) break;
    if (child->value.same(rest)) {
      digits.push_back({child->variable, Expr()});
      return digits;
    }
    const Expr e = child->value;
    if (e.kind() != ExprKind::binary || e.binaryOp() != BinaryOp::mod || !e.operands()[0].same(rest)) break;
    const Expr extent = e.operands()[1];
    if (extent.kind() != ExprKind::dim && extent.kind() != ExprKind::intConstant) break;
    digits.push_back({child->variable, extent});
    rest = floorDiv(rest, extent);
  }
  return {};
}

Status KernelEmitter::emitUnits() {
  const std::vector<UnitDigit> digits = unitDigits();
  Value *begin = function_->getArg(2), *end = function_->getArg(3);
  std::vector<Value*> counters, extents;
  Value* rest = begin;
  for (const UnitDigit& digit : digits) {
    if (digit.extent.isNull()) {
      counters.push_back(rest);
      continue;
    }
    DYN_TRY(Value * extent, scalar(digit.extent));
    extents.push_back(extent);
    // There are no units where an extent is 0.
    Value* safe = b_.CreateSelect(b_.CreateICmpSGT(extent, b_.getInt64(0)), extent, b_.getInt64(1));
    counters.push_back(b_.CreateURem(rest, safe));
    rest = b_.CreateUDiv(rest, safe);
  }
  const auto body = [&](Value*) -> Status {
    if (digits.empty()) return statement(*kernel_.body);
    const std::vector<Value*> now = counters;
    for (size_t i = 0; i < digits.size(); ++i) bindVariable(digits[i].variable, LaneValue::uniform(now[i]));
    DYN_CHECK(statements(std::span(kernel_.body->children).subspan(digits.size())));
    Value* carry = b_.getTrue();
    for (size_t i = 0; i < digits.size(); ++i) {
      Value* next = b_.CreateAdd(now[i], b_.CreateZExt(carry, b_.getInt64Ty()));
      if (i < extents.size()) {
        carry = b_.CreateICmpEQ(next, extents[i]);
        next = b_.CreateSelect(carry, b_.getInt64(0), next);
      }
      counters[i] = next;
    }
    return {};
  };
  Result<Value*> reached = countedLoop(kernel_.unit, begin, end, 1, counters, body);
  return reached.ok() ? Status() : Status(reached.takeError());
}

}  // namespace dyn
