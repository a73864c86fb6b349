#include "compiler/dims/ragged_dim.h"

#include <algorithm>

#include "compiler/dims/dim_node.h"

namespace dyn {

std::optional<RaggedDim> raggedDim(Dim symbol) {
  if (!symbol || !symbol.isSymbol()) return std::nullopt;
  DimContext& context = symbol.context();
  const auto& entry = DimBuilder::impl(context).symbols[symbol.symbol()];
  if (entry.batch == kNoBatch) return std::nullopt;
  return RaggedDim{entry.name.substr(0, entry.name.find('[')), context.symbolById(entry.batch)};
}

std::vector<Dim> raggedSymbols(Dim d) {
  std::vector<Dim> ragged;
  for (SymbolId id : symbolsOf(d))
    if (const Dim symbol = d.context().symbolById(id); raggedDim(symbol)) ragged.push_back(symbol);
  return ragged;
}

bool isRagged(Dim d) { return d && !raggedSymbols(d).empty(); }

bool isRagged(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](Dim d) { return isRagged(d); });
}

Dim sumOfLengths(Dim symbol) {
  const Dim sum = symbol.context().symbol(raggedDim(symbol)->lengths + ".sum");
  symbol.context().setSymbolReason(sum.symbol(), "the sum of " + symbol.toString());
  return sum;
}

Dim sumOverBatch(Dim d) {
  DimContext& context = d.context();
  const std::vector<Dim> ragged = raggedSymbols(d);
  if (ragged.empty()) return {};
  const Dim batch = raggedDim(ragged[0])->batch;
  // With all lengths but at most one set to 0.
  const auto with = [&](Dim chosen) {
    return substitute(d, [&](SymbolId id) {
      const Dim symbol = context.symbolById(id);
      if (!raggedDim(symbol)) return Dim();
      return context.constant(symbol == chosen ? 1 : 0);
    });
  };
  const Dim rest = with(Dim());
  Dim linear = rest, sum = rest * batch;
  for (Dim symbol : ragged) {
    if (raggedDim(symbol)->batch != batch) return {};
    const Dim factor = with(symbol) - rest;
    linear = linear + factor * symbol;
    sum = sum + factor * sumOfLengths(symbol);
  }
  return linear == d && !sum.isInvalid() ? sum : Dim();
}

Dim sumOfElements(Dim d) {
  if (const Dim linear = sumOverBatch(d)) return linear;
  if (!isRagged(d) || d.kind() != DimKind::mul) return {};
  DimContext& context = d.context();
  Dim factor = context.constant(1), batch;
  std::vector<std::string> names;
  for (Dim operand : d.operands()) {
    if (!isRagged(operand)) {
      factor = factor * operand;
      continue;
    }
    const std::optional<RaggedDim> length = raggedDim(operand);
    if (!length || (batch && length->batch != batch)) return {};
    batch = length->batch;
    names.push_back(length->lengths);
  }
  std::sort(names.begin(), names.end());
  std::string name;
  for (const std::string& one : names) name += one + ".";
  const Dim sum = context.symbol(name + "sum");
  context.setSymbolReason(sum.symbol(), "the sum of a product of lengths");
  const Dim all = factor * sum;
  return all.isInvalid() ? Dim() : all;
}

bool mayBeEqual(Dim a, Dim b) {
  const Dim difference = a - b;
  if (difference.isInvalid() || difference.isConstant() || !isRagged(difference)) return true;
  return hasAnonymous(difference);
}

}  // namespace dyn
