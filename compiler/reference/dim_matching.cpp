#include "compiler/reference/dim_matching.h"

namespace dyn {

bool DimScope::isBound(Dim dim) const {
  for (SymbolId symbol : symbolsOf(dim)) {
    if (!isBound(symbol)) return false;
  }
  return true;
}

void DimScope::bind(SymbolId symbol, int64_t value) {
  if (symbol >= bound_.size()) bound_.resize(static_cast<size_t>(symbol) + 1, 0);
  bound_[symbol] = 1;
  binding_.set(symbol, value);
}

Result<int64_t> DimScope::value(Dim dim) const {
  for (SymbolId symbol : symbolsOf(dim)) {
    if (!isBound(symbol)) {
      return makeError(DiagnosticId::textName, dim.toString() + " has no value here");
    }
  }
  return evaluate(dim, binding_);
}

std::optional<std::pair<SymbolId, int64_t>> solveForOne(Dim dim, int64_t value, const DimScope& scope) {
  std::optional<SymbolId> unknown;
  for (SymbolId symbol : symbolsOf(dim)) {
    if (scope.isBound(symbol)) continue;
    if (unknown) return std::nullopt;
    unknown = symbol;
  }
  if (!unknown) return std::nullopt;
  // If the dim is linear in the symbol, two values give the line; the third confirms it.
  DimScope trial = scope;
  auto at = [&](int64_t candidate) -> std::optional<int64_t> {
    trial.bind(*unknown, candidate);
    Result<int64_t> result = trial.value(dim);
    return result.ok() ? std::optional<int64_t>(*result) : std::nullopt;
  };
  const std::optional<int64_t> atZero = at(0), atOne = at(1);
  if (!atZero || !atOne || *atZero == *atOne) return std::nullopt;
  const int64_t slope = *atOne - *atZero;
  const int64_t candidate = (value - *atZero) / slope;
  if (candidate < 0 || at(candidate) != value) return std::nullopt;
  return std::pair(*unknown, candidate);
}

namespace {

struct Pending {
  Dim dim;
  int64_t actual;
  std::string place;
};

// Every tensor dim of the value beside that of its type; disagreements of structure end the walk.
std::optional<DimMismatch> collect(Type root, const Value& rootValue, std::vector<Pending>* dims) {
  struct Item {
    Type type;
    const Value* value;
    std::string path;
  };
  std::vector<Item> stack{{root, &rootValue, ""}};
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    const std::string prefix = item.path.empty() ? "" : item.path + ", ";
    switch (item.type.kind()) {
      case TypeKind::tensor: {
        if (!item.value->isTensor())
          return DimMismatch{prefix + "kind", "tensor", toString(item.value->kind())};
        const HostTensor& tensor = item.value->tensor();
        if (tensor.dtype() != item.type.dtype()) {
          return DimMismatch{prefix + "element type", std::string(toString(item.type.dtype())),
                             std::string(toString(tensor.dtype()))};
        }
        if (tensor.rank() != item.type.rank()) {
          return DimMismatch{prefix + "rank", std::to_string(item.type.rank()),
                             std::to_string(tensor.rank())};
        }
        for (int i = 0; i < tensor.rank(); ++i) {
          dims->push_back({item.type.dims()[i], tensor.shape()[i], prefix + "dim " + std::to_string(i)});
        }
        break;
      }
      case TypeKind::tuple:
        if (item.value->kind() != ValueKind::tuple ||
            item.value->parts().size() != item.type.elements().size()) {
          return DimMismatch{prefix + "kind", item.type.toString(), toString(item.value->kind())};
        }
        for (size_t i = item.type.elements().size(); i-- > 0;) {
          stack.push_back(
              {item.type.elements()[i], &item.value->parts()[i], prefix + "field " + std::to_string(i)});
        }
        break;
      case TypeKind::optional:
        if (item.value->kind() != ValueKind::optional) {
          return DimMismatch{prefix + "kind", "optional", toString(item.value->kind())};
        }
        if (!item.value->parts().empty())
          stack.push_back({item.type.element(), &item.value->parts()[0], item.path});
        break;
      case TypeKind::list:
      case TypeKind::function:
      case TypeKind::data: {
        const ValueKind expected = item.type.kind() == TypeKind::list       ? ValueKind::list
                                   : item.type.kind() == TypeKind::function ? ValueKind::closure
                                                                            : ValueKind::data;
        if (item.value->kind() != expected) {
          return DimMismatch{prefix + "kind", toString(expected), toString(item.value->kind())};
        }
        break;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<DimMismatch> matchValue(Type type, const Value& value, DimScope* scope,
                                      std::vector<SymbolId>* log) {
  std::vector<Pending> dims;
  if (auto mismatch = collect(type, value, &dims)) return mismatch;
  for (const Pending& pending : dims) {
    if (!pending.dim.isSymbol() || scope->isBound(pending.dim.symbol())) continue;
    scope->bind(pending.dim.symbol(), pending.actual);
    log->push_back(pending.dim.symbol());
  }
  for (const Pending& pending : dims) {
    if (auto solved = solveForOne(pending.dim, pending.actual, *scope)) {
      scope->bind(solved->first, solved->second);
      log->push_back(solved->first);
    }
  }
  for (const Pending& pending : dims) {
    Result<int64_t> expected = scope->value(pending.dim);
    if (expected.ok() && *expected == pending.actual) continue;
    const std::string text = pending.dim.toString();
    std::string known = expected.ok() ? std::to_string(*expected) : "not computable";
    return DimMismatch{pending.place, pending.dim.isConstant() ? text : text + " = " + known,
                       std::to_string(pending.actual)};
  }
  return std::nullopt;
}

}  // namespace dyn
