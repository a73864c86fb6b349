#include "compiler/passes/analysis/batch_rows.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/row_loads.h"

namespace dyn::passes {

namespace {

constexpr int64_t kMostContents = 64;

std::string nameOf(const Op& op) { return std::string(op.def->name); }

// Products and convolutions with packed weights have no definition in loops: each element of the first axis
// is a product of its own, or an image of its own.
bool isPackedContraction(const Op& op) {
  return op.def == &ops::conv_packedOp || op.def == &ops::conv_integer_packedOp ||
         op.def == &ops::gemm_packedOp;
}

}  // namespace

void BatchRows::note(const Function& function) {
  for (const Parameter& p : function.parameters) {
    types_[p.id] = p.type;
    if (p.type.isTensor() && p.type.rank() >= 3 && p.type.dims()[0] == batch_) own_.insert(p.id);
  }
}

void BatchRows::note(const Op& op) {
  for (const ValueDef& r : op.results) types_[r.id] = r.type;
  if (!op.def->traits.contentsKnown) return;
  const HostTensor* tensor = op.attributes.tensor("value");
  Contents contents;
  if (!tensor) contents = op.attributes.dims("value");
  if (tensor && (tensor->elementCount() > kMostContents || !isInteger(tensor->dtype()))) return;
  for (int64_t i = 0; tensor && i < tensor->elementCount(); ++i)
    contents.push_back(batch_.context().constant(tensor->intAt(i)));
  inferred_.contents[op.results[0].id] = std::move(contents);
}

bool BatchRows::isBatch(Dim d) const {
  return d && (batch_.isSymbol() ? mentions(d, batch_.symbol()) : d == batch_);
}

bool BatchRows::anyIsBatch(const Shape& sizes) const {
  return std::any_of(sizes.begin(), sizes.end(), [&](Dim d) { return isBatch(d); });
}

bool BatchRows::holdsBatch(ValueId v) const {
  const auto contents = inferred_.contents.find(v);
  return contents != inferred_.contents.end() && anyIsBatch(contents->second);
}

BatchRows::Kind BatchRows::kindOf(ValueId value) const {
  if (!batch_.isSymbol()) return own_.count(value) ? Kind::own : Kind::none;
  const Type type = types_.at(value);
  const std::vector<SymbolId> symbols = symbolsOf(type);
  if (!std::binary_search(symbols.begin(), symbols.end(), batch_.symbol())) return Kind::none;
  if (!type.isTensor() || type.dims()[0] != batch_) return Kind::other;
  for (size_t axis = 1; axis < type.dims().size(); ++axis)
    if (isBatch(type.dims()[axis])) return Kind::other;
  return Kind::own;
}

bool BatchRows::readsRows(const Op& op) const {
  return std::any_of(op.operands.begin(), op.operands.end(),
                     [&](ValueId v) { return v != kNoValue && known(v) && kindOf(v) != Kind::none; });
}

// A number that is the batch's by chance says nothing of the batch.
bool BatchRows::aboutBatch(const Op& op) const {
  if (!batch_.isSymbol()) return false;
  for (const auto& [name, value] : op.attributes.all())
    if (const Shape* dims = std::get_if<Shape>(&value); dims && anyIsBatch(*dims)) return true;
  return false;
}

std::string BatchRows::whyNot(const Op& op) {
  if (op.def == &ops::fusedOp) return whyNotGroup(op);
  return whyNotAlone(op, Stands::alone);
}

std::string BatchRows::whyNotGroup(const Op& group) {
  if (group.attributes.has("device")) return "a kernel of another device";
  const Function& body = *group.regions[0];
  for (size_t i = 0; i < body.parameters.size(); ++i) {
    const ValueId parameter = body.parameters[i].id;
    types_[parameter] = body.parameters[i].type;
    if (own_.count(group.operands[i])) own_.insert(parameter);
    if (const auto known = inferred_.contents.find(group.operands[i]); known != inferred_.contents.end())
      inferred_.contents[parameter] = known->second;
  }
  for (const Op* op : body.ops) {
    note(*op);
    if (std::string why = whyNotAlone(*op, Stands::inGroup); !why.empty()) return why;
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    if (kindOf(body.results[i]) != Kind::own) return "a group makes something without them";
    if (!batch_.isSymbol()) own_.insert(group.results[i].id);
  }
  return "";
}

std::string BatchRows::whyNotAlone(const Op& op, Stands stands) {
  if (op.def->hasEffects || !op.regions.empty() || op.results.empty())
    return nameOf(op) + " is control flow or has effects";
  if (!readsRows(op)) {
    for (const ValueDef& r : op.results)
      if (kindOf(r.id) != Kind::none) return nameOf(op) + " makes as many as there are";
    return aboutBatch(op) ? nameOf(op) + " depends on how many there are" : "";
  }
  std::vector<Type> types;
  for (ValueId v : op.operands) {
    if (!known(v)) return nameOf(op) + " reads what is not known here";
    types.push_back(v == kNoValue ? Type() : types_.at(v));
    if (v != kNoValue && kindOf(v) == Kind::other) return nameOf(op) + " reads them along another axis";
    // The shape of a view alone is known to be one.
    if (!batch_.isSymbol() && !(op.def->traits.view && stands == Stands::alone) && holdsBatch(v))
      return nameOf(op) + " takes sizes that may be how many there are";
  }
  for (const ValueDef& r : op.results) {
    const Kind kind = batch_.isSymbol()                                                      ? kindOf(r.id)
                      : r.type.isTensor() && r.type.rank() > 0 && r.type.dims()[0] == batch_ ? Kind::own
                                                                                             : Kind::other;
    if (kind != Kind::own) return nameOf(op) + " does not keep them along the first axis";
  }
  std::string why = whyNotLoads(op, types);
  if (why.empty() && !batch_.isSymbol())
    for (const ValueDef& r : op.results) own_.insert(r.id);
  return why;
}

std::string BatchRows::whyNotLoads(const Op& op, const std::vector<Type>& types) const {
  if (op.def == &ops::stridedOp) return whyNotStrided(op);
  if (aboutBatch(op) || op.def->traits.readsShape) return nameOf(op) + " depends on how many there are";
  if (isPackedContraction(op)) {
    const bool first = kindOf(op.operands[0]) == Kind::own && types[0].rank() >= 2;
    for (size_t i = 1; i < op.operands.size(); ++i)
      if (op.operands[i] != kNoValue && kindOf(op.operands[i]) != Kind::none)
        return nameOf(op) + " has weights for each";
    return first ? "" : nameOf(op) + " reads them as its matrix";
  }
  // The same elements in the same order.
  if (op.def->traits.view) return kindOf(op.operands[0]) == Kind::own ? "" : nameOf(op) + " shows another";
  if (!op.def->lower) return nameOf(op) + " has no definition in loops";
  const RowAxis axis{0, batch_};
  const RowQuestion question{
      inferred_, batch_.isSymbol() ? std::optional(batch_.symbol()) : std::nullopt,
      [&](ValueId v) { return kindOf(v) == Kind::own ? std::optional(axis) : std::nullopt; },
      [&](ValueId v) { return batch_.isSymbol() && holdsBatch(v); }, true};
  for (size_t i = 0; i < op.results.size(); ++i)
    if (const std::string why = whyRowsMix(op, i, axis, types, question); !why.empty())
      return nameOf(op) + why;
  return "";
}

// Element n of the view lies in element n of what it shows: as far apart, and no further than one is large.
std::string BatchRows::whyNotStrided(const Op& op) const {
  const Shape base = types_.at(op.operands[0]).dims(), shape = op.results[0].type.dims();
  const Shape strides = op.attributes.dims("strides");
  const Dim first = op.attributes.dims("offset").at(0);
  DimContext& dims = batch_.context();
  Dim one = dims.constant(1);
  for (size_t axis = 1; axis < base.size(); ++axis) one = one * base[axis];
  const DimSolver& facts = inferred_.module.context->facts();
  const auto atMost = [&](Dim a, Dim b) { return facts.lessEqual(a, b) == Answer::yes; };
  bool inside = strides[0] == one && atMost(dims.constant(0), first);
  Dim last = first;
  for (size_t axis = 1; axis < shape.size() && inside; ++axis) {
    inside = !(batch_.isSymbol() && isBatch(strides[axis])) && atMost(dims.constant(0), strides[axis]);
    last = last + (shape[axis] - 1) * strides[axis];
  }
  const bool moves = batch_.isSymbol() && isBatch(first);
  return inside && !moves && atMost(last + 1, one) ? "" : "a view reaches from one to another";
}

}  // namespace dyn::passes
