#include "compiler/lower/function_lowering.h"

#include "compiler/lower/builtin_lowering.h"
#include "compiler/lower/dim_lowering.h"
#include "compiler/lower/host_lowering.h"
#include "compiler/lower/selection_lowering.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

// --- registers of objects

int32_t FunctionLowering::newObject() {
  if (freeObjects_.empty()) return nextObject_++;
  const int32_t object = freeObjects_.back();
  freeObjects_.pop_back();
  return object;
}

void FunctionLowering::kill(int32_t object) {
  emit(Opcode::kill, object);
  freeObjects_.push_back(object);
}

int32_t FunctionLowering::define(ValueId value) {
  const int32_t object = newObject();
  alias(value, object);
  return object;
}

void FunctionLowering::alias(ValueId value, int32_t object) {
  objects_[value] = object;
  registerValues_.push_back({code_.position(), object, value});
}

std::optional<int32_t> FunctionLowering::registerOf(ValueId value) const {
  const auto held = objects_.find(value);
  return held == objects_.end() ? std::nullopt : std::optional(held->second);
}

void FunctionLowering::killOwn(ValueId value) {
  const auto held = objects_.find(value);
  if (held == objects_.end() || isBorrowed(value)) return;
  kill(held->second);
  objects_.erase(held);
}

// --- values

void FunctionLowering::setTypesOfResults(const Op& op) {
  for (const ValueDef& r : op.results) types_[r.id] = r.type;
}

const FunctionLowering::Lazy* FunctionLowering::lazy(ValueId value) const {
  const auto known = lazy_.find(value);
  return known == lazy_.end() ? nullptr : &known->second;
}

Result<int32_t> FunctionLowering::object(ValueId value) {
  if (const std::optional<int32_t> held = registerOf(value)) return *held;
  const Lazy* known = lazy(value);
  if (!known)
    return makeError(DiagnosticId::internalError, "value %" + ir().valueName(value) + " has no register");
  if (known->scalar >= 0) {
    const int32_t made = newLastingObject();  // made anew at each use: a use may stand in a branch
    emit(Opcode::fromScalar, made, static_cast<int32_t>(Dtype::i64), known->scalar);
    return made;
  }
  if (auto it = materialised_.find(value); it != materialised_.end()) return it->second;
  if (known->copyOf != kNoValue) return objectOn(true, known->copyOf);
  return makeContents(value, *known->op);
}

Result<int32_t> FunctionLowering::makeContents(ValueId value, const Op& op) {
  const int32_t made = newLastingObject();
  if (const HostTensor* tensor = op.attributes.tensor("value")) {
    if (tensor->dtype() == Dtype::string)
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: constants that are strings", op.place);
    emit(Opcode::loadConstant, made, program_.constant(*tensor, ir().valueName(value)));
    // A load inside a branch is not remembered for code outside it.
    if (dims_.scopeDepth() == 0) materialised_[value] = made;
    return made;
  }
  DYN_TRY(std::vector<int32_t> scalars, shapeRegisters(op.attributes.dims("value")));
  if (typeOf(value).rank() == 0)
    emit(Opcode::fromScalar, made, static_cast<int32_t>(typeOf(value).dtype()), scalars.at(0));
  else
    emit(Opcode::fromScalars, made, static_cast<int32_t>(typeOf(value).dtype()), OperandList(scalars));
  return made;
}

Result<int32_t> FunctionLowering::objectOn(bool device, ValueId value) {
  const Lazy* known = lazy(value);
  if (known && known->copyOf != kNoValue) {
    value = known->copyOf;
    known = lazy(value);
  } else if (isOnDevice(value) == device) {
    return object(value);
  }
  const bool isLazy = known && known->copyOf == kNoValue;
  if (isLazy && !device) return object(value);
  const int32_t made = newLastingObject();
  if (const HostTensor* tensor = isLazy ? constant(value) : nullptr) {
    emit(Opcode::loadGlobal, made, program_.deviceGlobal(*tensor, ir().valueName(value)));
    return made;
  }
  DYN_TRY(int32_t source, object(value));
  emit(Opcode::deviceCopy, made, source, device ? vm::kHostDevice : program_.deviceNumber(),
       device ? program_.deviceNumber() : vm::kHostDevice);
  return made;
}

Status FunctionLowering::makeOnce(ValueId value) {
  if (registerOf(value)) return {};
  DYN_TRY(materialised_[value], object(value));
  return {};
}

std::optional<Contents> FunctionLowering::contents(ValueId value) const {
  const Lazy* known = lazy(value);
  if (!known || !known->op) return std::nullopt;
  const HostTensor* tensor = known->op->attributes.tensor("value");
  if (!tensor) return known->op->attributes.dims("value");
  const bool small =
      tensor->elementCount() <= 1024 && (isInteger(tensor->dtype()) || tensor->dtype() == Dtype::boolean);
  if (!small) return std::nullopt;
  Contents elements;
  for (int64_t i = 0; i < tensor->elementCount(); ++i)
    elements.push_back(ir().dims().constant(tensor->intAt(i)));
  return elements;
}

const HostTensor* FunctionLowering::constant(ValueId value) const {
  const Lazy* known = lazy(value);
  return known && known->op ? known->op->attributes.tensor("value") : nullptr;
}

Result<int32_t> FunctionLowering::element(ValueId value, int64_t index) {
  if (const Lazy* known = lazy(value); known && known->scalar >= 0 && index == 0) return known->scalar;
  if (std::optional<Contents> known = contents(value);
      known && index < static_cast<int64_t>(known->size()) && (*known)[index])
    return dims_.emit((*known)[index]);
  DYN_TRY(int32_t from, objectOn(false, value));
  const int32_t at = dims_.emitConstant(index);
  const int32_t scalar = dims_.newScalar();
  emit(Opcode::item, scalar, from, at);
  return scalar;
}

Result<std::vector<int32_t>> FunctionLowering::shapeRegisters(const Shape& shape) {
  std::vector<int32_t> scalars;
  for (Dim d : shape) {
    DYN_TRY(int32_t scalar, dims_.emit(d));
    scalars.push_back(scalar);
  }
  return scalars;
}

Result<std::vector<int32_t>> FunctionLowering::objectsOf(std::span<const ValueId> values) {
  std::vector<int32_t> objects;
  for (ValueId v : values) {
    DYN_TRY(int32_t o, object(v));
    objects.push_back(o);
  }
  return objects;
}

// --- dims

Status FunctionLowering::bindFromObject(Type type, int32_t object) {
  if (!type.isTensor()) return {};
  for (int axis = 0; axis < type.rank(); ++axis) {
    const Dim d = type.dims()[axis];
    if (!d.isSymbol() || dims_.bound(d.symbol())) continue;
    const int32_t scalar = dims_.newScalar();
    emit(Opcode::dim, scalar, object, axis);
    dims_.bind(d.symbol(), scalar);
  }
  return {};
}

// --- regions

void FunctionLowering::pushRegion(const Function& region, bool tail, Task finish) {
  push([this, finish = std::move(finish)]() -> Status {
    DYN_CHECK(finish());
    closeScope();
    return {};
  });
  push([this, &region, tail] { return run(LoweredBody{&region, 0, tail}); });
}

void FunctionLowering::openScope() {
  dims_.pushScope();
  factMarks_.push_back(facts_.mark());
}

void FunctionLowering::closeScope() {
  dims_.popScope();
  facts_.rollback(factMarks_.back());
  factMarks_.pop_back();
}

Status FunctionLowering::bindCapture(const Parameter& parameter, ValueId captured) {
  if (isOnDevice(captured)) setOnDevice(parameter.id);
  if (const Lazy* known = lazy(captured)) {
    setLazy(parameter.id, *known);
    if (auto made = materialised_.find(captured); made != materialised_.end())
      materialised_[parameter.id] = made->second;
    return {};
  }
  DYN_TRY(int32_t from, object(captured));
  alias(parameter.id, from);
  borrow(parameter.id);
  return bindFromObject(parameter.type, from);
}

// --- the walk

Status FunctionLowering::lower(const Function& function, Entry entry) {
  nextObject_ = static_cast<int32_t>(function.parameters.size());
  DYN_CHECK(learnFacts(*this, function));
  DYN_CHECK(bindParameters(*this, function, entry));
  push([this, &function]() -> Status {
    if (ended_) return {};
    DYN_TRY(std::vector<int32_t> results, objectsOf(function.results));
    emit(Opcode::ret, OperandList(results));
    return {};
  });
  push([this, &function] { return run(LoweredBody{&function, 0, true}); });
  while (!tasks_.empty()) {
    Task task = std::move(tasks_.back());
    tasks_.pop_back();
    DYN_CHECK(task());
  }
  return write(function);
}

Status FunctionLowering::write(const Function& function) {
  const auto index = static_cast<size_t>(program_.functionIndex(function.name));
  vm::Function& out = program_.program().functions[index];
  out.parameterCount = static_cast<uint32_t>(function.parameters.size());
  out.resultCount = static_cast<uint32_t>(function.results.size());
  out.objectCount = static_cast<uint32_t>(nextObject_);
  out.scalarCount = static_cast<uint32_t>(dims_.scalarCount());
  program_.setRegisterValues(index, std::move(registerValues_));
  const vm::Status finished = code_.finish(out);
  if (!finished.ok())
    return makeError(DiagnosticId::internalError, "bytecode of @" + function.name + ": " + finished.message);
  return {};
}

void FunctionLowering::setPlace(const SourceLocation& place) {
  if (place.known()) code_.setPlace(static_cast<uint32_t>(program_.string(place.toString())));
}

Status FunctionLowering::run(LoweredBody body) {
  while (body.next < body.function->ops.size() && !ended_) {
    const Op& op = *body.function->ops[body.next++];
    setPlace(op.place);
    setTypesOfResults(op);
    const size_t before = tasks_.size();
    Status status = lowerOp(op, body);
    if (!status.ok()) return status.takeError().at(op.place);
    if (tasks_.size() != before) {
      // The operation pushed its regions: the rest of this body comes after them.
      tasks_.insert(tasks_.begin() + static_cast<std::ptrdiff_t>(before), [this, body] { return run(body); });
      return {};
    }
  }
  return {};
}

Status FunctionLowering::lowerOp(const Op& op, LoweredBody& body) {
  if (op.def->traits.contentsKnown) {
    setLazy(op.results[0].id, Lazy{&op, -1});
    return {};
  }
  if (const HostFunction lower = hostFunctionOf(*op.def)) return lower(*this, op, body);
  if (op.def->traits.packsWeights && constant(op.operands[0])) return lowerPacking(*this, op);
  if (isForDevice(op)) return lowerSelection(*this, op);
  if (op.def->lowering == LoweringKind::builtin) {
    std::vector<int32_t> destinations;
    for (const ValueDef& r : op.results) destinations.push_back(define(r.id));
    DYN_CHECK(lowerBuiltin(*this, op, op.operands, destinations, false));
    if (op.def->traits.joinsList) DYN_CHECK(checkJoined(*this, op, destinations[0]));
    for (size_t i = 0; i < op.results.size(); ++i)
      DYN_CHECK(bindFromObject(op.results[i].type, destinations[i]));
    return {};
  }
  return makeError(DiagnosticId::unsupportedOp, "unsupported: " + std::string(op.def->name) +
                                                    " has no lowering: " + std::string(op.def->lowerNote));
}

}  // namespace dyn
