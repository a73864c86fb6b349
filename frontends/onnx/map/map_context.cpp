#include "frontends/onnx/map/map_context.h"

#include "compiler/ops/op_table.h"
#include "frontends/onnx/emit/tensor_loader.h"

namespace dyn::onnx {

MapContext::MapContext(IrContext& ir, ValueTable& values, FunctionBuilder& builder, TensorLoader& tensors,
                       const NodeProto& node, int64_t version, SourceLocation place,
                       const AttributeEnvironment* environment, std::vector<ValueId> inputs, TypeProbe* probe)
    : ir_(ir),
      values_(values),
      builder_(&builder),
      probe_(probe),
      tensors_(tensors),
      node_(node),
      version_(version),
      place_(std::move(place)),
      environment_(environment),
      inputs_(std::move(inputs)),
      outputs_(node.outputs.size(), kNoValue) {}

ValueId MapContext::input(int i) {
  if (!hasInput(i)) {
    fail(DiagnosticId::badOperands, "input " + std::to_string(i) + " is missing",
         "the operator demands it: repair the model");
    return kNoValue;
  }
  return inputs_[static_cast<size_t>(i)];
}

std::vector<ValueId> MapContext::inputs() {
  for (int i = 0; i < inputCount(); ++i) (void)input(i);
  return inputs_;
}

bool MapContext::wantsOutput(int i) const {
  return i < outputCount() && !node_.outputs[static_cast<size_t>(i)].empty();
}

const AttributeProto* MapContext::attribute(std::string_view name) {
  read_.emplace(name);
  const AttributeProto* found = node_.attribute(name);
  if (found == nullptr || found->refName.empty()) return found;
  if (environment_ == nullptr) {
    fail(DiagnosticId::onnxInvalid,
         "attribute " + quotedText(name) + " refers to an attribute of a function, but is not in one");
    return nullptr;
  }
  const auto given = environment_->find(found->refName);
  return given == environment_->end() ? nullptr : given->second;
}

const AttributeProto* MapContext::typedAttribute(std::string_view name, AttributeType type) {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return nullptr;
  if (found->type == type) return found;
  fail(DiagnosticId::badAttribute, "attribute " + quotedText(name) + " is " +
                                       std::string(toString(found->type)) + " where " +
                                       std::string(toString(type)) + " is demanded");
  return nullptr;
}

bool MapContext::hasAttribute(std::string_view name) { return attribute(name) != nullptr; }

int64_t MapContext::integer(std::string_view name, int64_t fallback) {
  const AttributeProto* found = typedAttribute(name, AttributeType::integer);
  return found ? found->i : fallback;
}

int64_t MapContext::requiredInteger(std::string_view name) {
  if (!hasAttribute(name)) fail(DiagnosticId::badAttribute, "attribute " + quotedText(name) + " is missing");
  return integer(name, 0);
}

double MapContext::real(std::string_view name, double fallback) {
  const AttributeProto* found = typedAttribute(name, AttributeType::real);
  return found ? static_cast<double>(found->f) : fallback;
}

std::string MapContext::text(std::string_view name, std::string_view fallback) {
  const AttributeProto* found = typedAttribute(name, AttributeType::text);
  return std::string(found ? found->s : fallback);
}

std::vector<int64_t> MapContext::integers(std::string_view name) {
  const AttributeProto* found = typedAttribute(name, AttributeType::integers);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

std::vector<double> MapContext::reals(std::string_view name) {
  const AttributeProto* found = typedAttribute(name, AttributeType::reals);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> MapContext::texts(std::string_view name) {
  std::vector<std::string> values;
  if (const AttributeProto* found = typedAttribute(name, AttributeType::texts))
    for (Text value : found->strings()) values.emplace_back(value);
  return values;
}

std::optional<Dtype> MapContext::dtype(std::string_view name) {
  const AttributeProto* found = typedAttribute(name, AttributeType::integer);
  if (found == nullptr || found->i == 0) return std::nullopt;
  std::optional<Dtype> known;
  if (found->i > 0 && found->i < 1000) known = dtypeFromOnnx(static_cast<int32_t>(found->i));
  if (!known)
    fail(DiagnosticId::unsupportedDtype,
         "attribute " + quotedText(name) + " names element type " +
             (found->i > 0 && found->i < 1000 ? elementTypeName(static_cast<int32_t>(found->i))
                                              : std::to_string(found->i)));
  return known;
}

std::optional<HostTensor> MapContext::tensor(std::string_view name) {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  Result<HostTensor> loaded = HostTensor();
  if (!found->tensors().empty()) {
    loaded = tensors_.load(found->tensors()[0]);
  } else if (!found->sparseTensors().empty()) {
    loaded = tensors_.loadSparse(found->sparseTensors()[0]);
  } else {
    (void)typedAttribute(name, AttributeType::tensor);
    return std::nullopt;
  }
  if (loaded.ok()) return *loaded;
  if (!failure_) failure_ = loaded.error();
  return std::nullopt;
}

const TypeProto* MapContext::type(std::string_view name) {
  const AttributeProto* found = typedAttribute(name, AttributeType::type);
  return found && !found->types().empty() ? &found->types()[0] : nullptr;
}

// The entry after inference has been asked; a body's parameter is what it stands for outside.
const ValueTable::Entry& MapContext::learn(ValueId id) {
  probe_->learn();
  const ValueTable::Entry outer = values_.at(builder_->origin(id));
  ValueTable::Entry& own = values_.at(id);
  if (own.rank < 0) own.rank = outer.rank;
  if (!own.dtype) own.dtype = outer.dtype;
  return own;
}

std::optional<Dtype> MapContext::dtypeOf(ValueId id) const {
  return id == kNoValue ? std::nullopt : values_.at(id).dtype;
}

std::optional<Dtype> MapContext::inferredDtype(ValueId id) {
  const std::optional<Dtype> known = dtypeOf(id);
  return known || id == kNoValue || failed() ? known : learn(id).dtype;
}

const HostTensor* MapContext::constantOf(ValueId id) const {
  if (id == kNoValue || values_.at(id).constant == nullptr) return nullptr;
  return values_.at(id).constant->attributes.tensor("value");
}

std::optional<std::vector<int64_t>> MapContext::constantIntegers(ValueId id) const {
  const HostTensor* tensor = constantOf(id);
  if (tensor == nullptr || !isInteger(tensor->dtype())) return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor->elementCount(); ++i) values.push_back(tensor->intAt(i));
  return values;
}

int MapContext::rankOf(ValueId id) const { return id == kNoValue ? -1 : values_.at(id).rank; }

int MapContext::inferredRank(ValueId id) {
  const int known = rankOf(id);
  return known >= 0 || id == kNoValue || failed() ? known : learn(id).rank;
}

std::optional<int64_t> MapContext::fillOf(ValueId id) const {
  return id == kNoValue ? std::nullopt : values_.at(id).fill;
}
int MapContext::lengthOf(ValueId id) const { return id == kNoValue ? -1 : values_.at(id).vectorLength; }

bool MapContext::knowsOp(std::string_view op) const { return findOp(op) != nullptr; }

std::vector<ValueId> MapContext::emitMany(std::string_view name, std::vector<ValueId> operands,
                                          Attributes attributes, size_t resultCount) {
  const std::vector<ValueId> nothing(resultCount, kNoValue);
  if (failed()) return nothing;
  const OpDef* def = findOp(name);
  if (def == nullptr) {
    fail(DiagnosticId::unsupportedOp,
         "it needs the operator `" + std::string(name) + "`, which is not there yet");
    return nothing;
  }
  const int minimum = def->minOperands, maximum = def->maxOperands;
  while (static_cast<int>(operands.size()) > minimum && operands.back() == kNoValue) operands.pop_back();
  const int count = static_cast<int>(operands.size());
  if (count < minimum || (maximum >= 0 && count > maximum)) {
    fail(DiagnosticId::badOperands, std::to_string(count) + " inputs where " + std::to_string(minimum) +
                                        (maximum < 0          ? " or more"
                                         : maximum == minimum ? ""
                                                              : " to " + std::to_string(maximum)) +
                                        " are demanded");
    return nothing;
  }
  return builder_->emit(*def, std::move(operands), std::move(attributes), resultCount, place_);
}

ValueId MapContext::emit(std::string_view op, std::vector<ValueId> operands, Attributes attributes) {
  return emitMany(op, std::move(operands), std::move(attributes), 1)[0];
}

ValueId MapContext::emitAnnotated(std::string_view op, std::vector<ValueId> operands, Attributes attributes,
                                  Type type) {
  if (failed()) return kNoValue;
  const OpDef* def = findOp(op);
  if (def == nullptr) return emit(op, {}, {});  // fails
  return builder_->emit(*def, std::move(operands), std::move(attributes), 1, place_, {}, type)[0];
}

void MapContext::requireInRange(ValueId value, ValueId least, ValueId most, std::string_view what) {
  if (failed() || value == kNoValue) return;
  if (dtypeOf(value) != Dtype::i64) value = emit("cast", {value}, {{"to", Dtype::i64}});
  const std::string place = std::string(node_.opType) + ": " + std::string(what);
  emitMany("check_values", {value, least, most}, {{"elements", std::string("in_range")}, {"what", place}}, 0);
}

void MapContext::requireAxis(ValueId x, int64_t axis, AxisEnd end) {
  const int64_t beyond = end == AxisEnd::included ? 1 : 0;
  if (const int rank = rankOf(x); rank >= 0) {
    if (axis < -rank || axis >= rank + beyond)
      fail(DiagnosticId::badAttribute, "axis " + std::to_string(axis) + " is outside [" +
                                           std::to_string(-rank) + ", " + std::to_string(rank + beyond) +
                                           ")");
    return;
  }
  const ValueId rank = emit("size", {emit("shape", {x})});
  requireInRange(integerValue(axis), emit("neg", {rank}), emit("add", {rank, integerValue(beyond - 1)}),
                 "axis");
}

ValueId MapContext::constant(HostTensor tensor) {
  if (failed()) return kNoValue;
  if (!tensor.valid()) {
    fail(DiagnosticId::memoryLimit, "a constant does not fit in memory");
    return kNoValue;
  }
  return builder_->constant(std::move(tensor), place_);
}

ValueId MapContext::integersValue(std::vector<int64_t> values) {
  return constant(HostTensor::vectorInt(Dtype::i64, values));
}

ValueId MapContext::integerValue(int64_t value) { return constant(HostTensor::scalarInt(Dtype::i64, value)); }

ValueId MapContext::number(double value, ValueId like) {
  if (failed()) return kNoValue;
  const std::optional<Dtype> dtype = inferredDtype(like);
  if (!dtype) {
    unsupported("the element type of an input is not known before inference");
    return kNoValue;
  }
  return numberOf(value, *dtype);
}

ValueId MapContext::numberOf(double value, Dtype dtype) {
  HostTensor tensor = HostTensor::scalar(dtype, value);
  if (isInteger(dtype) && tensor.valid() && static_cast<double>(tensor.intAt(0)) != value) {
    fail(DiagnosticId::dtypeMismatch, "the number " + std::to_string(value) + " beside elements of type " +
                                          std::string(toString(dtype)) + ", which do not have it");
    return kNoValue;
  }
  return constant(std::move(tensor));
}

std::vector<ValueId> MapContext::emitLoop(ValueId tripCount, std::vector<ValueId> carried,
                                          size_t stackedCount,
                                          const std::function<std::vector<ValueId>(const LoopBody&)>& make) {
  const size_t carriedCount = carried.size();
  const std::vector<ValueId> nothing(carriedCount + stackedCount, kNoValue);
  if (failed()) return nothing;
  CaptureList captures;
  FunctionBuilder* outer = builder_;
  FunctionBuilder body(ir_, values_, outer, &captures);
  LoopBody made;
  made.iteration = body.addParameter("", Dtype::i64, 0);
  for (ValueId value : carried) made.carried.push_back(body.addParameter("", dtypeOf(value), rankOf(value)));
  builder_ = &body;
  std::vector<ValueId> results = make(made);
  const ValueId go_on = constant(HostTensor::scalarInt(Dtype::boolean, 1));
  builder_ = outer;
  if (failed()) return nothing;
  results.insert(results.begin(), go_on);
  for (ValueId& result : results) result = body.localize(result);
  std::vector<std::optional<Dtype>> dtypes;
  for (size_t i = 1; i != results.size(); ++i) dtypes.push_back(dtypeOf(results[i]));
  const Function* function = body.finish(ir_.uniqueFunctionName("main.loop"), std::move(results), place_);
  std::vector<ValueId> operands = {tripCount, kNoValue};
  operands.insert(operands.end(), carried.begin(), carried.end());
  operands.insert(operands.end(), captures.outer.begin(), captures.outer.end());
  std::vector<ValueId> values =
      builder_->emit(ops::loopOp, std::move(operands), {{"carried", static_cast<int64_t>(carriedCount)}},
                     carriedCount + stackedCount, place_, {function});
  for (size_t i = 0; i != values.size(); ++i) values_.at(values[i]).dtype = dtypes[i];
  return values;
}

ValueId MapContext::makeMap(ValueId keys, ValueId values) {
  const ValueId map = emit("tuple", {keys, values});
  if (failed()) return map;
  values_.at(map).mapKeys = dtypeOr(keys, Dtype::string);
  values_.at(map).dtype = dtypeOf(values);
  return map;
}

MapContext::MapParts MapContext::mapInput(int i) {
  const ValueId map = input(i);
  if (!failed() && !values_.at(map).isMap())
    fail(DiagnosticId::badOperands, "input " + std::to_string(i) + " is not a map");
  const auto part = [&](int64_t index) { return emit("tuple_get", {map}, {{"index", index}}); };
  const MapParts parts{part(0), part(1)};
  if (failed()) return parts;
  values_.at(parts.keys).dtype = values_.at(map).mapKeys;
  values_.at(parts.values).dtype = values_.at(map).dtype;
  return parts;
}

void MapContext::setOutput(int i, ValueId value) {
  if (failed() || i >= outputCount()) return;
  outputs_[static_cast<size_t>(i)] = value;
}

void MapContext::fail(DiagnosticId id, std::string message, std::string advice) {
  if (failure_) return;
  failure_.emplace();
  failure_->id = id;
  failure_->message = std::move(message);
  if (!advice.empty()) failure_->notes.push_back(std::move(advice));
}

void MapContext::unsupported(std::string message, std::string advice) {
  fail(DiagnosticId::unsupportedFeature, std::move(message), std::move(advice));
}

void MapContext::warn(std::string message) { warnings_.push_back(std::move(message)); }

std::vector<std::string> MapContext::unreadAttributes() const {
  std::vector<std::string> names;
  for (const AttributeProto& a : node_.attributes)
    if (read_.find(a.name) == read_.end()) names.emplace_back(a.name);
  return names;
}

}  // namespace dyn::onnx
