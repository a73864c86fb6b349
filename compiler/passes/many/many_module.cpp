#include "compiler/passes/many/many_module.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

ManyModule::ManyModule(const InferredModule& inferred)
    : inferred_(inferred),
      ir_(*inferred.module.context),
      uses_(inferred.module),
      types_(inferred.module.context->valueCount()) {
  for (const FunctionVisit& visit : functionsOf(inferred.module)) {
    for (const Parameter& p : visit.function->parameters) types_[p.id] = p.type;
    for (const Op* op : visit.function->ops) {
      for (const ValueDef& r : op->results) types_[r.id] = r.type;
      if (op->def == &ops::constantOp) constants_[op->results[0].id] = op->attributes.tensor("value");
    }
  }
}

std::optional<std::vector<int64_t>> ManyModule::constantsOf(ValueId v) const {
  std::vector<int64_t> elements;
  if (const auto constant = constants_.find(v); constant != constants_.end() && constant->second) {
    if (!isInteger(constant->second->dtype()) && constant->second->dtype() != Dtype::boolean)
      return std::nullopt;
    for (int64_t i = 0; i < constant->second->elementCount(); ++i)
      elements.push_back(constant->second->intAt(i));
    return elements;
  }
  const auto known = inferred_.contents.find(v);
  if (known == inferred_.contents.end()) return std::nullopt;
  for (Dim d : known->second) {
    if (!d || !d.isConstant()) return std::nullopt;
    elements.push_back(*d.constant());
  }
  return elements;
}

Attributes ManyModule::attributesOf(const Op& op) const {
  Attributes attributes = op.attributes;
  if (op.def != &ops::reshapeOp) return attributes;
  const auto sizes = inferred_.contents.find(op.operands[1]);
  if (sizes == inferred_.contents.end()) return attributes;
  const bool copies =
      std::any_of(sizes->second.begin(), sizes->second.end(), [](Dim d) { return !d || d.isConstant(0); });
  if (!copies) attributes.set("allowzero", int64_t{1});
  return attributes;
}

void ManyModule::addUniform(Type type) {
  for (SymbolId symbol : symbolsOf(type))
    if (uniform_.insert(symbol).second) uniformOrder_.push_back(symbol);
}

bool ManyModule::isUniform(Type type) const {
  const std::vector<SymbolId> symbols = symbolsOf(type);
  return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return uniform_.count(s) != 0; });
}

bool ManyModule::isUniform(const Shape& dims) const {
  return std::all_of(dims.begin(), dims.end(), [&](Dim d) {
    const std::vector<SymbolId> symbols = symbolsOf(d);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return uniform_.count(s) != 0; });
  });
}

ValueId ManyModule::idFor(ValueId old) {
  if (isDraft()) return ir_.newValue();
  if (used_.insert(old).second) return old;
  return ir_.hasName(old) ? ir_.newValue(ir_.valueName(old)) : ir_.newValue();
}

std::string ManyModule::nameOf(const Op& op) const {
  std::string text(op.def->name);
  if (!op.results.empty()) text = "%" + ir_.valueName(op.results[0].id) + " = " + text;
  return op.place.known() ? text + " (" + op.place.toString() + ")" : text;
}

}  // namespace dyn::passes
