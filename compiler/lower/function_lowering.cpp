#include "compiler/lower/function_lowering.h"

#include <algorithm>

#include "compiler/infer/infer.h"
#include "compiler/infer/infer_functions.h"
#include "compiler/ir/walk.h"
#include "compiler/lower/shape_program.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Immediate;
using vm::Label;
using vm::Opcode;
using vm::OperandList;

// --- registers and values

int32_t FunctionLowering::newObject() {
  if (freeObjects_.empty()) return nextObject_++;
  const int32_t object = freeObjects_.back();
  freeObjects_.pop_back();
  return object;
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

void FunctionLowering::setPlace(const SourceLocation& place) {
  if (place.known()) code_.setPlace(static_cast<uint32_t>(program_.string(place.toString())));
}

Result<int32_t> FunctionLowering::object(ValueId value) {
  if (auto it = objects_.find(value); it != objects_.end()) return it->second;
  auto lazy = lazy_.find(value);
  if (lazy == lazy_.end())
    return makeError(DiagnosticId::internalError,
                     "value %" + module_.context->valueName(value) + " has no register");
  if (lazy->second.scalar >= 0) {
    const int32_t made = nextObject_++;  // made anew at each use: a use may stand in a branch
    code_.emit(Opcode::fromScalar, made, static_cast<int32_t>(Dtype::i64), lazy->second.scalar);
    return made;
  }
  if (auto it = materialised_.find(value); it != materialised_.end()) return it->second;
  if (lazy->second.copyOf != kNoValue) return objectOn(true, lazy->second.copyOf);
  const Op& op = *lazy->second.op;
  const int32_t made = nextObject_++;  // lives as long as the function: never among the freed ones
  if (const HostTensor* tensor = op.attributes.tensor("value")) {
    if (tensor->dtype() == Dtype::string)
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: constants that are strings", op.place);
    code_.emit(Opcode::loadConstant, made, program_.constant(*tensor, module_.context->valueName(value)));
    // A load inside a branch is not remembered for code outside it.
    if (dims_.scopeDepth() == 0) materialised_[value] = made;
    return made;
  }
  std::vector<int32_t> scalars;
  for (Dim d : op.attributes.dims("value")) {
    DYN_TRY(int32_t scalar, dims_.emit(d));
    scalars.push_back(scalar);
  }
  if (typeOf(value).rank() == 0)
    code_.emit(Opcode::fromScalar, made, static_cast<int32_t>(typeOf(value).dtype()), scalars.at(0));
  else
    code_.emit(Opcode::fromScalars, made, static_cast<int32_t>(typeOf(value).dtype()), OperandList(scalars));
  return made;
}

std::optional<Contents> FunctionLowering::contents(ValueId value) const {
  auto lazy = lazy_.find(value);
  if (lazy == lazy_.end() || !lazy->second.op) return std::nullopt;
  if (const HostTensor* tensor = lazy->second.op->attributes.tensor("value")) {
    const bool small =
        tensor->elementCount() <= 1024 && (isInteger(tensor->dtype()) || tensor->dtype() == Dtype::boolean);
    if (!small) return std::nullopt;
    Contents known;
    for (int64_t i = 0; i < tensor->elementCount(); ++i)
      known.push_back(module_.context->dims().constant(tensor->intAt(i)));
    return known;
  }
  return lazy->second.op->attributes.dims("value");
}

const HostTensor* FunctionLowering::constant(ValueId value) const {
  auto lazy = lazy_.find(value);
  return lazy == lazy_.end() || !lazy->second.op ? nullptr : lazy->second.op->attributes.tensor("value");
}

Result<int32_t> FunctionLowering::element(ValueId value, int64_t index) {
  if (auto lazy = lazy_.find(value); lazy != lazy_.end() && lazy->second.scalar >= 0 && index == 0)
    return lazy->second.scalar;
  if (std::optional<Contents> known = contents(value);
      known && index < static_cast<int64_t>(known->size()) && (*known)[index])
    return dims_.emit((*known)[index]);
  DYN_TRY(int32_t from, objectOn(false, value));
  const int32_t at = dims_.emitConstant(index);
  const int32_t scalar = dims_.newScalar();
  code_.emit(Opcode::item, scalar, from, at);
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
    code_.emit(Opcode::dim, scalar, object, axis);
    dims_.bind(d.symbol(), scalar);
  }
  return {};
}

Status FunctionLowering::bindFromRule(const Op& op, const std::unordered_map<ValueId, ValueId>& outer) {
  return runShapeProgram(*this, op, outer);
}

Status FunctionLowering::ensureBound(const Op& op) {
  for (const ValueDef& r : op.results) {
    if (!r.type.isTensor()) continue;
    for (SymbolId s : symbolsOf(r.type))
      if (!dims_.bound(s)) return bindFromRule(op, {});
  }
  return {};
}

Status FunctionLowering::bindParameters(const Function& function, Entry entry) {
  for (size_t i = 0; i < function.parameters.size(); ++i)
    alias(function.parameters[i].id, static_cast<int32_t>(i));
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Parameter& p = function.parameters[i];
    types_[p.id] = p.type;
    if (!p.type.isTensor()) continue;
    if (entry == Entry::main) {
      const std::string what =
          "input '" + module_.context->valueName(p.id) + "' must be " + p.type.toString();
      code_.emit(Opcode::checkTensor, static_cast<int32_t>(i), static_cast<int32_t>(p.type.dtype()),
                 p.type.rank(), program_.string(what));
    }
    DYN_CHECK(bindFromObject(p.type, static_cast<int32_t>(i)));
  }
  if (entry != Entry::main) return {};
  // Dims that are constants, expressions, or symbols seen before are checked.
  std::unordered_set<SymbolId> seen;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Parameter& p = function.parameters[i];
    if (!p.type.isTensor()) continue;
    for (int axis = 0; axis < p.type.rank(); ++axis) {
      const Dim d = p.type.dims()[axis];
      if (d.isSymbol() && seen.insert(d.symbol()).second) continue;
      const int32_t actual = dims_.newScalar();
      code_.emit(Opcode::dim, actual, static_cast<int32_t>(i), axis);
      DYN_TRY(int32_t expected, dims_.emit(d));
      const std::string what = "input '" + module_.context->valueName(p.id) + "': dim " +
                               std::to_string(axis) + " must be " + d.toString();
      code_.emit(Opcode::checkEqual, actual, expected, program_.string(what));
    }
  }
  // Declared ranges and divisibility of the symbols.
  for (SymbolId s : seen) {
    for (const Fact& fact : module_.context->facts().factsAbout(s)) {
      const Dim symbol = module_.context->dims().symbolById(s);
      if (fact.a != symbol) continue;
      DYN_TRY(int32_t value, dims_.emit(symbol));
      checkFact(fact, value);
    }
  }
  return checkStated(seen);
}

// A range or a divisor of the value. No symbol is negative.
void FunctionLowering::checkFact(const Fact& fact, int32_t value) {
  const int32_t message = program_.string("dim " + fact.toString());
  if (fact.kind == FactKind::range && fact.low && !(fact.a.isSymbol() && *fact.low <= 0))
    code_.emit(Opcode::checkLessEqual, dims_.emitConstant(*fact.low), value, message);
  if (fact.kind == FactKind::range && fact.high)
    code_.emit(Opcode::checkLessEqual, value, dims_.emitConstant(*fact.high), message);
  if (fact.kind == FactKind::multipleOf) {
    const int32_t rest = dims_.newScalar();
    code_.emit(Opcode::mod, rest, value, dims_.emitConstant(fact.multiple));
    code_.emit(Opcode::checkEqual, rest, dims_.emitConstant(0), message);
  }
}

// What is stated of several symbols of the inputs together: a sum in a range, an equality.
Status FunctionLowering::checkStated(const std::unordered_set<SymbolId>& symbols) {
  for (const Fact& fact : module_.context->facts().facts()) {
    if (!isStated(fact)) continue;
    const bool equality = fact.kind == FactKind::equal || fact.kind == FactKind::equalProduct;
    if (equality ? fact.a == fact.b : fact.a.isSymbol()) continue;  // nothing, or checked with the symbol
    const auto isInput = [&](Dim d) {
      const std::vector<SymbolId> used = d ? symbolsOf(d) : std::vector<SymbolId>();
      return std::all_of(used.begin(), used.end(), [&](SymbolId s) { return symbols.count(s) != 0; });
    };
    if (!isInput(fact.a) || !isInput(fact.b)) continue;
    DYN_TRY(const int32_t value, dims_.emit(fact.a));
    if (equality) {
      DYN_TRY(const int32_t other, dims_.emit(fact.b));
      code_.emit(Opcode::checkEqual, value, other, program_.string("dim " + fact.toString()));
    } else {
      checkFact(fact, value);
    }
  }
  return {};
}

// Facts that rest on checks are learnt when the code has them behind it.
Status FunctionLowering::learnFacts(const Function& function) {
  const bool alone = module_.functions.size() == 1;
  std::unordered_set<SymbolId> own;
  const auto add = [&](Type type) {
    if (!type) return;
    for (SymbolId s : symbolsOf(type)) own.insert(s);
  };
  for (const FunctionVisit& visit : alone ? std::vector<FunctionVisit>() : functionsOf(function)) {
    for (const Parameter& p : visit.function->parameters) add(p.type);
    for (const Op* op : visit.function->ops) {
      for (const ValueDef& r : op->results) add(r.type);
      for (Dim d : op->attributes.dims("dims"))
        for (SymbolId s : symbolsOf(d)) own.insert(s);
    }
  }
  const auto isOwn = [&](Dim d) {
    if (alone || !d) return true;
    const std::vector<SymbolId> symbols = symbolsOf(d);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return own.count(s) != 0; });
  };
  for (const Fact& fact : module_.context->facts().facts())
    if (fact.reason.text.rfind(kCheckReason, 0) != 0 && isOwn(fact.a) && isOwn(fact.b))
      (void)addFact(&facts_, fact);
  return {};
}

// --- the walk

Status FunctionLowering::lower(const Function& function, Entry entry) {
  nextObject_ = static_cast<int32_t>(function.parameters.size());
  DYN_CHECK(learnFacts(function));
  DYN_CHECK(bindParameters(function, entry));
  Body body{&function, 0, true};
  tasks_.push_back([this, &function]() -> Status {
    if (ended_) return {};
    DYN_TRY(std::vector<int32_t> results, objectsOf(function.results));
    code_.emit(Opcode::ret, OperandList(results));
    return {};
  });
  tasks_.push_back([this, body] { return run(body); });
  while (!tasks_.empty()) {
    Task task = std::move(tasks_.back());
    tasks_.pop_back();
    DYN_CHECK(task());
  }
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

Status FunctionLowering::run(Body body) {
  while (body.next < body.function->ops.size() && !ended_) {
    const Op& op = *body.function->ops[body.next++];
    setPlace(op.place);
    for (const ValueDef& r : op.results) types_[r.id] = r.type;
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

void FunctionLowering::pushRegion(const Function& region, bool tail, Task finish) {
  tasks_.push_back([this, finish = std::move(finish)]() -> Status {
    DYN_CHECK(finish());
    closeScope();
    return {};
  });
  tasks_.push_back([this, &region, tail] { return run(Body{&region, 0, tail}); });
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

bool FunctionLowering::isTail(const Op& op, const Body& body) const {
  if (!body.tail || op.results.size() != body.function->results.size()) return false;
  for (size_t i = 0; i < op.results.size(); ++i)
    if (op.results[i].id != body.function->results[i]) return false;
  return std::all_of(body.function->ops.begin() + static_cast<std::ptrdiff_t>(body.next),
                     body.function->ops.end(), [](const Op* later) { return later->def == &ops::killOp; });
}

Status FunctionLowering::lowerOp(const Op& op, Body& body) {
  if (op.def->traits.contentsKnown) {
    lazy_[op.results[0].id] = Lazy{&op, -1};
    return {};
  }
  if (const HostLowering lowering = hostLoweringOf(*op.def)) return (this->*lowering)(op, body);
  if (op.def->traits.packsWeights && constant(op.operands[0])) return lowerPacking(op);
  if (isOnDevice(op)) return lowerSelection(op);
  if (op.def->lowering == LoweringKind::builtin) {
    std::vector<int32_t> destinations;
    for (const ValueDef& r : op.results) destinations.push_back(define(r.id));
    DYN_CHECK(lowerBuiltin(op, op.operands, destinations, false));
    for (size_t i = 0; i < op.results.size(); ++i)
      DYN_CHECK(bindFromObject(op.results[i].type, destinations[i]));
    return {};
  }
  return makeError(DiagnosticId::unsupportedOp, "unsupported: " + std::string(op.def->name) +
                                                    " has no lowering: " + std::string(op.def->lowerNote));
}

// Done once, when the module is loaded.
Status FunctionLowering::lowerPacking(const Op& op) {
  if (op.def->builtin.traits.is(calls::GEMM)) program_.needGemmFamily();
  const std::vector<Type> types = {types_.at(op.operands[0])};
  DYN_TRY(BuiltinCall call, op.def->builtin.describe({op, types}));
  code_.emit(Opcode::loadGlobal, define(op.results[0].id),
             program_.packedGlobal(*constant(op.operands[0]), op.def->builtinOf(op), call.numbers,
                                   op.results[0].type.dtype(), module_.context->valueName(op.operands[0])));
  return {};
}

// --- memory and kernels

const Op* FunctionLowering::writerOf(const Body& body, ValueId destination) const {
  for (size_t i = body.next; i < body.function->ops.size(); ++i) {
    const Op* op = body.function->ops[i];
    if (op->def == &ops::intoOp &&
        std::find(op->operands.begin(), op->operands.end(), destination) != op->operands.end())
      return op;
  }
  return nullptr;
}

Status FunctionLowering::lowerAlloc(const Op& op, Body& body) {
  const ValueDef& result = op.results[0];
  bool bound = true;
  for (SymbolId s : symbolsOf(result.type)) bound &= dims_.bound(s);
  if (!bound) {
    // The size depends on values: the rule of the operation that will write here computes it from its
    // operands.
    const Op* into = writerOf(body, result.id);
    if (!into) return makeError(DiagnosticId::internalError, "an alloc that nothing writes");
    std::unordered_map<ValueId, ValueId> outer;
    const Function& kernel = *into->regions[0];
    for (size_t i = 0; i < kernel.parameters.size(); ++i) outer[kernel.parameters[i].id] = into->operands[i];
    for (const Op* inner : kernel.ops) {
      for (const ValueDef& r : inner->results) types_[r.id] = r.type;
      DYN_CHECK(bindFromRule(*inner, outer));
    }
  }
  DYN_TRY(std::vector<int32_t> shape, shapeRegisters(result.type.dims()));
  const int32_t dtype = static_cast<int32_t>(result.type.dtype());
  const bool device = isOnDevice(op);
  if (device) onDevice_.insert(result.id);
  if (op.operands.empty()) {
    code_.emit(Opcode::newTensor, define(result.id), dtype, device ? vm::kCudaDevice : vm::kHostDevice,
               OperandList(shape));
    return {};
  }
  if (op.attributes.integer("reuse") != 0) {
    DYN_TRY(int32_t old, object(op.operands[0]));
    code_.emit(Opcode::reuseTensor, define(result.id), old, dtype, device ? vm::kCudaDevice : vm::kHostDevice,
               OperandList(shape));
    return {};
  }
  DYN_TRY(int32_t arena, object(op.operands[0]));
  DYN_TRY(int32_t offset, dims_.emit(op.attributes.dims("offset").at(0)));
  code_.emit(Opcode::allocTensor, define(result.id), arena, offset, dtype, OperandList(shape));
  return {};
}

Status FunctionLowering::lowerBuiltin(const Op& op, std::span<const ValueId> operands,
                                      std::span<const int32_t> destinations, bool into,
                                      const KernelCall* epilogue) {
  if (op.def->builtin.traits.is(calls::GEMM)) program_.needGemmFamily();
  const BuiltinUse& use = op.def->builtin;
  std::vector<Type> operandTypes;
  for (ValueId v : operands) operandTypes.push_back(v == kNoValue ? Type() : types_.at(v));
  EpilogueNumber inner;
  if (epilogue) inner = {1 + epilogue->kernel, epilogue->form};
  if (inner.kernelPlusOne > EpilogueNumber::kMostKernels)
    return makeError(DiagnosticId::unsupportedFeature, "a program of so many kernels");
  DYN_TRY(BuiltinCall call, use.describe({op, operandTypes, inner.number()}));
  operands = operands.first(use.handed(operands.size()));
  std::vector<int32_t> arguments, scalars;
  for (ValueId v : operands) {
    if (v == kNoValue) {
      // An absent optional is an empty register.
      const int32_t empty = nextObject_++;
      arguments.push_back(empty);
      continue;
    }
    DYN_TRY(int32_t o, object(v));
    arguments.push_back(o);
  }
  for (Dim d : call.scalars) {
    DYN_TRY(int32_t s, dims_.emit(d));
    scalars.push_back(s);
  }
  std::vector<int32_t> results(destinations.begin(), destinations.end());
  std::vector<int32_t> views;
  if (epilogue) {
    arguments.insert(arguments.end(), epilogue->buffers.begin(),
                     epilogue->buffers.end() - 1);  // the last is the result
    scalars.insert(scalars.end(), epilogue->scalars.begin(), epilogue->scalars.end());
  }
  if (op.def->traits.matrixOperands > 0)
    DYN_CHECK(viewVectorsAsMatrices(op, operandTypes, arguments, results, views));
  code_.emit(into ? Opcode::callBuiltinInto : Opcode::callBuiltin, program_.builtin(op.def->builtinOf(op)),
             OperandList(results), OperandList(arguments), OperandList(scalars), OperandList(call.numbers));
  for (int32_t view : views) {
    code_.emit(Opcode::kill, view);
    freeObjects_.push_back(view);
  }
  return {};
}

// The builtin knows matrices only: [k] x ... is [1, k] x ..., and ... x [k] is ... x [k, 1], with the same
// axis in the result.
Status FunctionLowering::viewVectorsAsMatrices(const Op& op, std::span<const Type> types,
                                               std::vector<int32_t>& arguments, std::vector<int32_t>& results,
                                               std::vector<int32_t>& views) {
  const bool leftVector = types[0].rank() == 1,
             rightVector = op.def->traits.matrixOperands > 1 && types[1].rank() == 1;
  if (!leftVector && !rightVector) return {};
  const Dim one = module_.context->dims().constant(1);
  auto view = [&](int32_t& object, const Shape& shape) -> Status {
    DYN_TRY(std::vector<int32_t> scalars, shapeRegisters(shape));
    views.push_back(newObject());
    code_.emit(Opcode::reshapeTensor, views.back(), object, OperandList(scalars));
    object = views.back();
    return {};
  };
  Shape result = op.results[0].type.dims();
  if (leftVector) {
    DYN_CHECK(view(arguments[0], {one, types[0].dims()[0]}));
    result.insert(rightVector ? result.end() : result.end() - 1, one);
  }
  if (rightVector) {
    DYN_CHECK(view(arguments[1], {types[1].dims()[0], one}));
    result.push_back(one);
  }
  return view(results[0], result);
}

Status FunctionLowering::lowerInto(const Op& op, Body&) {
  const size_t outputs = static_cast<size_t>(op.attributes.integer("outputs"));
  const std::span<const ValueId> all(op.operands);
  const std::span<const ValueId> inputs = all.first(all.size() - outputs), results = all.last(outputs);
  const Function& body = *op.regions[0];
  switch (kernelKindOf(op)) {
    case KernelKind::contraction:
      return lowerContraction(op);
    case KernelKind::attention:
      return lowerAttention(op);
    case KernelKind::loop:
      return lowerKernel(op, body, inputs, results);
    case KernelKind::builtin:
      break;
  }
  // One builtin: its operands are the region's parameters, left-out ones stay left out.
  const Op& inner = *body.ops.at(0);
  std::unordered_map<ValueId, ValueId> outer;
  for (size_t i = 0; i < body.parameters.size(); ++i) outer[body.parameters[i].id] = inputs[i];
  std::vector<ValueId> operands;
  for (ValueId v : inner.operands) operands.push_back(v == kNoValue ? kNoValue : outer.at(v));
  DYN_TRY(std::vector<int32_t> destinations, objectsOf(results));
  return lowerBuiltin(inner, operands, destinations, true);
}

}  // namespace dyn
