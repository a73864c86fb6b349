// A choice among rows of several tensors, as a fused Concat or Split makes it: the address is chosen, before
// the loop over the row, and one load reads there. Else each iteration branches, and every branch has a load.
#include <algorithm>

#include "compiler/codegen/emit/kernel_emitter.h"

namespace dyn {

using loop::Expr;
using loop::ExprKind;

// The address of the tensor as a number, which the expressions of a kernel can reckon with.
Expr KernelEmitter::addressVariable(const loop::Buffer* buffer) {
  Expr& variable = addressVariables_[buffer];
  if (!variable.isNull()) return variable;
  variable = kernel_.context->variable("address");
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  if (scopes_.size() > 1 && scopes_[1].hoistPoint) b_.SetInsertPoint(scopes_[1].hoistPoint);
  values_[variable.id()] = LaneValue::uniform(b_.CreatePtrToInt(buffers_.at(buffer), b_.getInt64Ty()));
  variableScope_[variable.id()] = 0;
  return variable;
}

// Where the row begins that a tree of choices takes; null: its leaves are no rows of tensors of one type that
// are read at the same place, or a condition is not one for all lanes. `last`: that place, null before the
// first leaf.
Result<Expr> KernelEmitter::chosenRow(Expr e, Dtype dtype, Expr& last) {
  if (e.kind() == ExprKind::select) {
    const Expr condition = e.operands()[0];
    if (mayFault(condition)) return Expr();
    DYN_TRY(LaneValue c, value(condition));
    if (!c.isUniform()) return Expr();
    DYN_TRY(Expr a, chosenRow(e.operands()[1], dtype, last));
    if (a.isNull()) return a;
    DYN_TRY(Expr b, chosenRow(e.operands()[2], dtype, last));
    return b.isNull() ? b : select(condition, a, b);
  }
  if (e.kind() != ExprKind::load || e.operands().size() < 2 || e.buffer()->dtype != dtype) return Expr();
  if (e.buffer()->role != loop::BufferRole::input || !buffers_.contains(e.buffer())) return Expr();
  std::vector<Expr> index(e.operands().begin(), e.operands().end());
  if (!last.isNull() && !index.back().same(last)) return Expr();
  last = index.back();
  index.back() = kernel_.context->integer(0);
  if (std::ranges::any_of(index, [&](Expr part) { return mayFault(part); })) return Expr();
  return addressVariable(e.buffer()) + linearPlace(e.buffer(), index) * storageBytes(dtype);
}

Result<std::optional<LaneValue>> KernelEmitter::loadChosenRow(Expr choice) {
  const std::optional<LaneValue> none;
  if (device_ || function_->getParent()->getDataLayout().getPointerSizeInBits() != 64) return none;
  Expr leaf = choice;
  while (leaf.kind() == ExprKind::select) leaf = leaf.operands()[1];
  if (leaf.kind() != ExprKind::load) return none;
  Expr last;
  DYN_TRY(Expr row, chosenRow(choice, leaf.buffer()->dtype, last));
  if (row.isNull()) return none;
  DYN_TRY(LaneValue address, value(row));
  if (!address.isUniform()) return none;
  const loop::Buffer*& buffer = chosenRows_[choice.id()];
  if (!buffer)
    buffer = kernel_.context->buffer("row", leaf.buffer()->dtype, {kernel_.context->integer(1)},
                                     loop::BufferRole::input);
  buffers_[buffer] = b_.CreateIntToPtr(address.value, b_.getPtrTy());
  DYN_TRY(LaneValue element, value(kernel_.context->load(buffer, {last})));
  return std::optional(element);
}

}  // namespace dyn
