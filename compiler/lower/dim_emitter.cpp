#include "compiler/lower/dim_emitter.h"

#include <algorithm>

namespace dyn {

using vm::Immediate;
using vm::Opcode;

bool DimEmitter::computable(Dim dim) const {
  for (SymbolId s : symbolsOf(dim))
    if (!bound(s)) return false;
  return !dim.isInvalid();
}

void DimEmitter::bind(SymbolId symbol, int32_t scalar) {
  if (symbols_.emplace(symbol, scalar).second) log_.push_back({true, symbol});
}

void DimEmitter::popScope() {
  const size_t start = scopes_.back();
  scopes_.pop_back();
  for (size_t i = start; i < log_.size(); ++i) {
    if (log_[i].isSymbol)
      symbols_.erase(log_[i].key);
    else
      computed_.erase(log_[i].key);
  }
  log_.resize(start);
}

int32_t DimEmitter::emitConstant(int64_t value) {
  const int32_t scalar = newScalar();
  code_.emit(Opcode::constInt, scalar, Immediate{value});
  return scalar;
}

Result<int32_t> DimEmitter::emit(Dim root) {
  // Post-order with an explicit stack: a dim may be as large as the user's shape arithmetic.
  std::vector<Dim> work{root};
  while (!work.empty()) {
    const Dim dim = work.back();
    if (computed_.count(dim.id())) {
      work.pop_back();
      continue;
    }
    int32_t scalar = -1;
    if (std::optional<int64_t> constant = dim.constant()) {
      scalar = emitConstant(*constant);
    } else if (dim.isSymbol()) {
      auto it = symbols_.find(dim.symbol());
      if (it == symbols_.end())
        return makeError(DiagnosticId::internalError, "the dim " + dim.toString() +
                                                          " has no value where it is needed (" +
                                                          dim.context().symbolReason(dim.symbol()) + ")");
      scalar = it->second;
    } else if (dim.isInvalid()) {
      return makeError(DiagnosticId::dimOverflow, "a size does not fit in 64 bits, or divides by zero");
    } else {
      bool ready = true;
      for (Dim operand : dim.operands())
        if (!computed_.count(operand.id())) {
          if (ready) ready = false;
          work.push_back(operand);
        }
      if (!ready) continue;
      std::vector<int32_t> parts;
      for (Dim operand : dim.operands()) parts.push_back(computed_.at(operand.id()));
      Opcode opcode = Opcode::add;
      switch (dim.kind()) {
        case DimKind::add:
          opcode = Opcode::add;
          break;
        case DimKind::mul:
          opcode = Opcode::mul;
          break;
        case DimKind::floorDiv:
          opcode = Opcode::floorDiv;
          break;
        case DimKind::ceilDiv:
          opcode = Opcode::ceilDiv;
          break;
        case DimKind::mod:
          opcode = Opcode::mod;
          break;
        case DimKind::min:
          opcode = Opcode::minimum;
          break;
        case DimKind::max:
          opcode = Opcode::maximum;
          break;
        default:
          return makeError(DiagnosticId::internalError, "no instruction for the dim " + dim.toString());
      }
      scalar = parts[0];
      for (size_t i = 1; i < parts.size(); ++i) {
        const int32_t next = newScalar();
        code_.emit(opcode, next, scalar, parts[i]);
        scalar = next;
      }
    }
    computed_[dim.id()] = scalar;
    log_.push_back({false, dim.id()});
    work.pop_back();
  }
  return computed_.at(root.id());
}

}  // namespace dyn
