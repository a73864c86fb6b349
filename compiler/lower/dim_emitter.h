// DimEmitter: symbolic dims to scalar registers. Each dim is computed once per scope: what was computed
// inside a branch is forgotten after it.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/dims/dim.h"
#include "vm/isa/code_writer.h"

namespace dyn {

class DimEmitter {
 public:
  explicit DimEmitter(vm::CodeWriter& code) : code_(code) {}

  int32_t newScalar() { return nextScalar_++; }
  int32_t scalarCount() const { return nextScalar_; }

  bool bound(SymbolId symbol) const { return symbols_.count(symbol) != 0; }
  bool computable(Dim dim) const;
  void bind(SymbolId symbol, int32_t scalar);

  // The register that holds the dim's value. Error internalError when a symbol has no value here.
  Result<int32_t> emit(Dim dim);
  int32_t emitConstant(int64_t value);

  // Scopes nest like brackets; what a scope bound or computed is forgotten at its end.
  void pushScope() { scopes_.push_back(log_.size()); }
  void popScope();
  size_t scopeDepth() const { return scopes_.size(); }

 private:
  struct Entry {
    bool isSymbol;
    uint32_t key;
  };
  vm::CodeWriter& code_;
  int32_t nextScalar_ = 0;
  std::unordered_map<SymbolId, int32_t> symbols_;
  std::unordered_map<uint32_t, int32_t> computed_;  // Dim::id → register
  std::vector<Entry> log_;
  std::vector<size_t> scopes_;
};

}  // namespace dyn
