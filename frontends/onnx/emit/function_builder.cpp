#include "frontends/onnx/emit/function_builder.h"

#include "compiler/ops/op_table.h"
#include "frontends/onnx/emit/result_dtypes.h"
#include "frontends/onnx/emit/result_ranks.h"
#include "frontends/onnx/emit/result_sums.h"

namespace dyn::onnx {

size_t CaptureList::add(ValueId id) {
  const auto [found, fresh] = index.emplace(id, outer.size());
  if (fresh) outer.push_back(id);
  return found->second;
}

FunctionBuilder::FunctionBuilder(IrContext& ir, ValueTable& values, FunctionBuilder* parent,
                                 CaptureList* captures)
    : ir_(ir), values_(values), parent_(parent), captures_(captures), serial_(values.nextSerial()) {}

ValueId FunctionBuilder::localize(ValueId id) {
  if (id == kNoValue) return id;
  const ValueTable::Entry entry = values_.at(id);
  if (entry.owner == serial_) return id;
  const auto known = local_.find(id);
  if (known != local_.end()) return known->second;
  if (entry.constant != nullptr) return local_[id] = makeAgain(*entry.constant, id);
  // Through every function between the nearest that knows it already and this.
  const ValueId defined = id;
  std::vector<FunctionBuilder*> path;
  for (FunctionBuilder* at = this; at != nullptr && at->serial_ != entry.owner; at = at->parent_) {
    if (const auto there = at->local_.find(defined); there != at->local_.end()) {
      id = there->second;
      break;
    }
    path.push_back(at);
  }
  for (size_t i = path.size(); i-- > 0;) {
    id = path[i]->capture(id);
    path[i]->local_.emplace(defined, id);
  }
  return id;
}

ValueId FunctionBuilder::capture(ValueId outer) {
  const size_t place = captures_->add(outer);
  const auto known = captureParameters_.find(place);
  if (known != captureParameters_.end()) return known->second;
  const ValueId inner = ir_.newValue(ir_.hasName(outer) ? ir_.valueName(outer) : "");
  const ValueTable::Entry seen = values_.at(outer);
  values_.at(inner) = seen;
  values_.at(inner).owner = serial_;
  values_.at(inner).constant = nullptr;
  values_.at(inner).base = kNoValue;  // a value of the function around
  captureParameters_.emplace(place, inner);
  local_.emplace(outer, inner);
  return inner;
}

ValueId FunctionBuilder::makeAgain(const Op& constant, ValueId like) {
  return this->constant(*constant.attributes.tensor("value"), constant.place,
                        ir_.hasName(like) ? ir_.valueName(like) : "");
}

ValueId FunctionBuilder::origin(ValueId id) const {
  for (const FunctionBuilder* at = this; at != nullptr; at = at->parent_) {
    for (const auto& [place, inner] : at->captureParameters_)
      if (inner == id) id = at->captures_->outer[place];
  }
  return id;
}

ValueId FunctionBuilder::addParameter(std::string_view name, std::optional<Dtype> dtype, int rank,
                                      Type type) {
  const ValueId id = ir_.newValue(name);
  const bool isVector = type && type.isTensor() && type.rank() == 1;
  const int64_t length = isVector ? type.dims()[0].constant().value_or(-1) : -1;
  const bool mayBeNone = type && type.kind() == TypeKind::optional;
  const Type held = mayBeNone ? type.elements()[0] : type;
  values_.at(id) = {serial_,
                    dtype,
                    nullptr,
                    rank,
                    held && held.kind() == TypeKind::list,
                    length < INT32_MAX ? static_cast<int>(length) : -1};
  parameters_.push_back({id, type});
  return id;
}

std::vector<ValueId> FunctionBuilder::emit(const OpDef& def, std::vector<ValueId> operands,
                                           Attributes attributes, size_t resultCount, SourceLocation place,
                                           std::vector<const Function*> regions, Type annotation) {
  Op op;
  op.def = &def;
  for (ValueId& operand : operands) operand = localize(operand);
  op.operands = std::move(operands);
  op.attributes = std::move(attributes);
  op.place = std::move(place);
  op.regions = std::move(regions);
  std::vector<ValueId> results;
  for (size_t i = 0; i != resultCount; ++i) {
    results.push_back(ir_.newValue());
    op.results.push_back({results.back(), i == 0 ? annotation : Type()});
  }
  add(std::move(op));
  return results;
}

void FunctionBuilder::add(Op op) {
  const OpDef& def = *op.def;
  const Op* owned = ir_.own(std::move(op));
  for (size_t i = 0; i != owned->results.size(); ++i) {
    const ValueId result = owned->results[i].id;
    values_.at(result) = {serial_,
                          resultDtype(*owned, i, values_),
                          &def == &ops::constantOp ? owned : nullptr,
                          resultRank(*owned, i, values_),
                          resultIsList(*owned, values_),
                          i == 0 ? resultLength(*owned, values_) : -1};
    if (&def == &ops::constantOp) values_.at(result).rank = owned->attributes.tensor("value")->rank();
  }
  learnSums(*owned, values_);
  ops_.push_back(owned);
}

std::optional<std::vector<ValueId>> FunctionBuilder::expand(const Function& function,
                                                            const std::vector<ValueId>& arguments,
                                                            const SharedText& node,
                                                            const std::string& prefix) {
  std::unordered_map<ValueId, ValueId> here{{kNoValue, kNoValue}};
  for (size_t i = 0; i != function.parameters.size(); ++i)
    here[function.parameters[i].id] = i < arguments.size() ? localize(arguments[i]) : kNoValue;
  for (const Op* written : function.ops) {
    Op op = *written;
    op.place.node = node;
    for (ValueId& operand : op.operands) operand = here.at(operand);
    for (const ValueDef& result : op.results) {
      here[result.id] = result.id;
      if (ir_.hasName(result.id)) ir_.setValueName(result.id, prefix + ir_.valueName(result.id));
    }
    add(std::move(op));
  }
  std::vector<ValueId> results;
  for (const ValueId result : function.results) {
    results.push_back(here.at(result));
    if (results.back() == kNoValue) return std::nullopt;
    if (results.back() == result) ir_.setValueName(result, "");
  }
  return results;
}

ValueId FunctionBuilder::constant(HostTensor tensor, SourceLocation place, std::string_view name) {
  Attributes attributes;
  attributes.set("value", std::move(tensor));
  const ValueId id = emit(ops::constantOp, {}, std::move(attributes), 1, std::move(place))[0];
  if (!name.empty()) ir_.setValueName(id, name);
  return id;
}

const Function* FunctionBuilder::finish(std::string name, std::vector<ValueId> results,
                                        SourceLocation place) {
  Function function;
  function.name = std::move(name);
  function.place = std::move(place);
  function.parameters = std::move(parameters_);
  for (size_t i = 0; captures_ != nullptr && i != captures_->outer.size(); ++i) {
    function.parameters.push_back({capture(captures_->outer[i]), Type()});
  }
  function.ops = std::move(ops_);
  function.resultTypes.resize(results.size());
  function.results = std::move(results);
  return ir_.own(std::move(function));
}

}  // namespace dyn::onnx
