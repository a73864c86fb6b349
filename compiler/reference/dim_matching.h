// Reading the values of symbols off concrete shapes.
#pragma once

#include <optional>
#include <vector>

#include "compiler/dims/dim.h"
#include "compiler/ir/type.h"
#include "compiler/reference/value.h"

namespace dyn {

// Symbols with values, and which of them hold in the current scope.
class DimScope {
 public:
  bool isBound(SymbolId symbol) const { return symbol < bound_.size() && bound_[symbol]; }
  bool isBound(Dim dim) const;
  void bind(SymbolId symbol, int64_t value);
  void unbind(SymbolId symbol) { bound_[symbol] = 0; }
  // Error textName when a symbol has no value here.
  Result<int64_t> value(Dim dim) const;

 private:
  DimBinding binding_;
  std::vector<char> bound_;
};

// The only symbol of `dim` without a value, solved from dim == value; nullopt when there is not exactly one or no integer fits.
std::optional<std::pair<SymbolId, int64_t>> solveForOne(Dim dim, int64_t value, const DimScope& scope);

struct DimMismatch {
  std::string place;  // "dim 1", "field 0, dim 2", "element type", "rank"
  std::string expected, actual;
};

// Binds the symbols of `type` that have no value yet from the shapes in `value` (each one bound is added to `log`), then compares everything
// else; the first disagreement is returned. Sizes inside lists, data and functions are not looked at.
std::optional<DimMismatch> matchValue(Type type, const Value& value, DimScope* scope,
                                      std::vector<SymbolId>* log);

}  // namespace dyn
