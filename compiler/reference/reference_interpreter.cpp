#include "compiler/reference/reference_interpreter.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/check_text.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/strided_walk.h"
#include "compiler/reference/dim_matching.h"
#include "compiler/reference/node_values.h"
#include "compiler/reference/ragged_values.h"
#include "compiler/reference/structural_values.h"

namespace dyn {

namespace {

struct LoopState {
  std::optional<int64_t> trip;
  int64_t iteration = 0;
  bool condition = true;
  std::vector<Value> carried, captures;
  std::vector<std::vector<HostTensor>> scans;
};

struct Frame {
  const Function* function = nullptr;
  size_t next = 0;
  bool isRegion = false;
  std::unordered_map<ValueId, Value> values;
  std::vector<SymbolId> bound;
  std::unordered_map<ValueId, Type> allocated;  // destinations that nothing wrote yet
  LoopState loop;                               // of the loop operation at `next`, while its body runs
  DimScope callerScope;                         // functions: what the caller's symbols were
};

// For each operation of a function: the values nobody reads after it.
using LastUses = std::vector<std::vector<ValueId>>;

LastUses lastUses(const Function& function) {
  std::unordered_map<ValueId, size_t> last;
  for (size_t i = 0; i < function.ops.size(); ++i) {
    for (ValueId operand : function.ops[i]->operands) last[operand] = i;
    for (const ValueDef& result : function.ops[i]->results) last.emplace(result.id, i);
  }
  for (ValueId result : function.results) last.erase(result);
  LastUses uses(function.ops.size());
  for (const auto& [value, index] : last) uses[index].push_back(value);
  return uses;
}

class Interpreter final : private EvalContext {
 public:
  Interpreter(const Module& module, const InterpreterOptions& options) : module_(module), options_(options) {}

  Result<std::vector<Value>> run(const Function& function, std::vector<Value> inputs);

 private:
  // EvalContext
  const Op& op() const override { return *op_; }
  const HostTensor& operand(int i) const override { return value(i).tensor(); }
  void setResult(int i, HostTensor tensor) override {
    if (results_.size() <= static_cast<size_t>(i)) results_.resize(static_cast<size_t>(i) + 1);
    results_[static_cast<size_t>(i)] = Value(std::move(tensor));
  }
  Type resultType(int i) const override { return op_->results[static_cast<size_t>(i)].type; }
  Result<int64_t> dimValue(Dim dim) const override { return scope_.value(dim); }

  const Value& value(int i) const {
    static const Value kNone;
    auto found = stack_.back().values.find(op_->operands[static_cast<size_t>(i)]);
    return found == stack_.back().values.end() ? kNone : found->second;
  }
  std::vector<Value> operandValues(int first) const;
  Status push(const Function* function, std::vector<Value> arguments, bool isRegion);
  Status step();
  Status finishFrame();
  Status finishOp(std::vector<Value> results);
  Status evaluateTensors();
  Status call(const Function* function, std::vector<Value> arguments);
  Status startLoop();
  Status nextIteration();
  Status finishLoop();
  Result<HostTensor> stacked(size_t scan, const std::vector<HostTensor>& slices);
  Status evaluateCheck();
  Status takeVariant();
  Status bindDims();
  Status runInto();
  Status writeDestinations(std::vector<Value> results);
  Status matchData();
  bool isTail(const Frame& frame) const;
  void unbind(Frame& frame);
  Status assertType(Type type, const Value& value, const std::string& what);

  const Module& module_;
  const InterpreterOptions& options_;
  std::vector<Frame> stack_;
  std::unordered_map<const Function*, LastUses> lastUses_;
  DimScope scope_;
  const Op* op_ = nullptr;
  std::vector<Value> results_;
  std::vector<Value> final_;
  int64_t steps_ = 0;
};

std::vector<Value> Interpreter::operandValues(int first) const {
  std::vector<Value> values;
  for (int i = first; i < operandCount(); ++i) values.push_back(value(i));
  return values;
}

void Interpreter::unbind(Frame& frame) {
  for (SymbolId symbol : frame.bound) scope_.unbind(symbol);
  frame.bound.clear();
}

Status Interpreter::assertType(Type type, const Value& value, const std::string& what) {
  if (!type) return {};
  std::optional<DimMismatch> mismatch = matchValue(type, value, &scope_, &stack_.back().bound);
  if (!mismatch || options_.shapes == ShapeAssertion::off) return {};
  return error(DiagnosticId::internalError, "the shape rule is wrong: " + what + " " + mismatch->place +
                                                " is " + mismatch->actual + ", its type " + type.toString() +
                                                " says " + mismatch->expected);
}

Status Interpreter::push(const Function* function, std::vector<Value> arguments, bool isRegion) {
  if (static_cast<int64_t>(stack_.size()) >= options_.maxFrames) {
    return makeError(DiagnosticId::memoryLimit,
                     "calls are nested deeper than " + std::to_string(options_.maxFrames),
                     op_ ? op_->place : SourceLocation{});
  }
  if (arguments.size() != function->parameters.size()) {
    return makeError(DiagnosticId::badOperands,
                     "@" + function->name + " takes " + std::to_string(function->parameters.size()) +
                         " arguments, not " + std::to_string(arguments.size()),
                     function->place);
  }
  Frame& frame = stack_.emplace_back();
  frame.function = function;
  frame.isRegion = isRegion;
  if (options_.entered) options_.entered({*function, op_, stack_.size(), arguments});
  if (!isRegion) {
    frame.callerScope = std::move(scope_);
    scope_ = DimScope();
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Parameter& parameter = function->parameters[i];
    const bool isMemory = op_ && arguments[i].kind() == ValueKind::none;  // an arena: no contents
    if (parameter.type && !isMemory) {
      std::optional<DimMismatch> mismatch = matchValue(parameter.type, arguments[i], &scope_, &frame.bound);
      if (mismatch) {
        const bool isInput = op_ == nullptr;
        const std::string name = module_.context->valueName(parameter.id);
        return makeError(isInput ? DiagnosticId::inputMismatch : DiagnosticId::shapeCheckFailed,
                         (isInput ? "input %" : "parameter %") + name + " " + mismatch->place + " is " +
                             mismatch->actual + ", @" + function->name + " demands " + mismatch->expected,
                         function->place);
      }
    }
    frame.values[parameter.id] = std::move(arguments[i]);
  }
  if (!lastUses_.count(function)) lastUses_.emplace(function, lastUses(*function));
  return {};
}

Result<std::vector<Value>> Interpreter::run(const Function& function, std::vector<Value> inputs) {
  if (inputs.size() != function.parameters.size()) {
    return makeError(DiagnosticId::inputMissing,
                     "@" + function.name + " takes " + std::to_string(function.parameters.size()) +
                         " inputs, not " + std::to_string(inputs.size()),
                     function.place);
  }
  DYN_CHECK(push(&function, std::move(inputs), false));
  while (!stack_.empty()) {
    const Frame& frame = stack_.back();
    if (frame.next == frame.function->ops.size()) {
      DYN_CHECK(finishFrame());
      continue;
    }
    op_ = frame.function->ops[frame.next];
    if (options_.cancelled && options_.cancelled->load(std::memory_order_relaxed)) {
      return makeError(DiagnosticId::cancelled, "interrupted", op_->place);
    }
    if (options_.maxSteps > 0 && ++steps_ > options_.maxSteps) {
      return makeError(DiagnosticId::timeLimit,
                       "more than " + std::to_string(options_.maxSteps) + " operations", op_->place);
    }
    Status done = step();
    if (done.ok()) continue;
    Error wrong = done.takeError();
    if (wrong.diagnostic().op.empty() && op_->def) wrong.diagnostic().op = op_->def->name;
    return std::move(wrong).at(op_->place);
  }
  return std::move(final_);
}

bool Interpreter::isTail(const Frame& frame) const {
  if (frame.next + 1 != frame.function->ops.size()) return false;
  const Op& last = *frame.function->ops[frame.next];
  if (last.def == &ops::loopOp) return false;
  return std::equal(last.results.begin(), last.results.end(), frame.function->results.begin(),
                    frame.function->results.end(), [](const ValueDef& a, ValueId b) { return a.id == b; });
}

// A call in tail position: the frames that only wait to hand its results on go first.
Status Interpreter::call(const Function* function, std::vector<Value> arguments) {
  size_t keep = stack_.size();
  while (keep > 0 && isTail(stack_[keep - 1])) {
    --keep;
    if (!stack_[keep].isRegion) break;
  }
  const bool reachesFunction = keep < stack_.size() && !stack_[keep].isRegion;
  if (reachesFunction && keep > 0) {
    scope_ = std::move(stack_[keep].callerScope);
    stack_.resize(keep);
    return push(function, std::move(arguments), false);
  }
  if (reachesFunction) {
    // The outermost function: its own frame is replaced too.
    stack_.clear();
    scope_ = DimScope();
    DYN_CHECK(push(function, std::move(arguments), false));
    return {};
  }
  return push(function, std::move(arguments), false);
}

Status Interpreter::finishFrame() {
  Frame frame = std::move(stack_.back());
  std::vector<Value> results;
  for (ValueId id : frame.function->results) {
    auto found = frame.values.find(id);
    if (found == frame.values.end()) {
      return makeError(DiagnosticId::invalidIr, "a result of @" + frame.function->name + " is not defined",
                       frame.function->place);
    }
    results.push_back(found->second);
  }
  unbind(frame);
  stack_.pop_back();
  if (options_.left) options_.left();
  if (!frame.isRegion) scope_ = std::move(frame.callerScope);
  if (stack_.empty()) {
    final_ = std::move(results);
    return {};
  }
  Frame& outer = stack_.back();
  op_ = outer.function->ops[outer.next];
  if (op_->def == &ops::intoOp) return writeDestinations(std::move(results));
  if (op_->def != &ops::loopOp) return finishOp(std::move(results));
  LoopState& loop = outer.loop;
  if (results.empty() || !results[0].isTensor() || results[0].tensor().elementCount() != 1) {
    return error(DiagnosticId::invalidIr, "the body of the loop gives no condition");
  }
  loop.condition = results[0].tensor().intAt(0) != 0;
  ++loop.iteration;
  const size_t carried = loop.carried.size();
  for (size_t k = 0; k < carried; ++k) loop.carried[k] = std::move(results[1 + k]);
  for (size_t k = 0; k < loop.scans.size(); ++k) {
    if (!results[1 + carried + k].isTensor())
      return error(DiagnosticId::typeMismatch, "a stacked result is not a tensor");
    loop.scans[k].push_back(results[1 + carried + k].tensor());
  }
  return nextIteration();
}

Status Interpreter::finishOp(std::vector<Value> results) {
  Frame& frame = stack_.back();
  if (results.size() != op_->results.size()) {
    return error(DiagnosticId::internalError, "it gave " + std::to_string(results.size()) + " results, not " +
                                                  std::to_string(op_->results.size()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (op_->results[i].id == kNoValue) continue;
    const std::string name = "%" + module_.context->valueName(op_->results[i].id);
    DYN_CHECK(assertType(op_->results[i].type, results[i], name));
  }
  if (options_.observer) options_.observer(*frame.function, *op_, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (op_->results[i].id != kNoValue) frame.values[op_->results[i].id] = std::move(results[i]);
  }
  for (ValueId dead : lastUses_.at(frame.function)[frame.next]) frame.values.erase(dead);
  ++frame.next;
  return {};
}

Status Interpreter::step() {
  const Frame& frame = stack_.back();
  for (ValueId operand : op_->operands) {
    if (operand != kNoValue && !frame.values.count(operand)) {
      return error(DiagnosticId::invalidIr,
                   "%" + module_.context->valueName(operand) + " is used before it is defined");
    }
  }
  const OpDef* def = op_->def;
  if (def == &ops::ifOp) {
    const HostTensor& condition = operand(0);
    if (condition.elementCount() != 1)
      return error(DiagnosticId::shapeCheckFailed, "the condition must have one element");
    const bool taken = condition.realAt(0) != 0;
    return push(op_->regions.at(taken ? 0 : 1), operandValues(1), true);
  }
  if (def == &ops::loopOp) return startLoop();
  if (def == &ops::matchOp) return matchData();
  if (def == &ops::callOp) {
    const Function* callee = module_.find(op_->attributes.string("callee"));
    if (!callee)
      return error(DiagnosticId::textName, "there is no function @" + op_->attributes.string("callee"));
    return call(callee, operandValues(0));
  }
  if (def == &ops::invokeOp) {
    const Value function = value(0);
    if (function.kind() != ValueKind::closure)
      return error(DiagnosticId::typeMismatch, "it needs a function value");
    std::vector<Value> arguments(function.parts().begin(), function.parts().end());
    for (Value& argument : operandValues(1)) arguments.push_back(std::move(argument));
    return call(function.function(), std::move(arguments));
  }
  if (def == &ops::closureOp) {
    const Function* callee = module_.find(op_->attributes.string("callee"));
    if (!callee)
      return error(DiagnosticId::textName, "there is no function @" + op_->attributes.string("callee"));
    return finishOp({Value::closure(callee, operandValues(0))});
  }
  if (def == &ops::checkOp) return evaluateCheck();
  if (def == &ops::variantOp) return takeVariant();
  if (def == &ops::bind_dimsOp) return bindDims();
  if (def == &ops::fusedOp) return push(op_->regions.at(0), operandValues(0), true);
  if (def == &ops::intoOp) return runInto();
  if (def == &ops::killOp) return finishOp({});
  if (def == &ops::allocOp || def == &ops::arenaOp) {
    // Memory has no contents until an `into` writes it.
    Frame& outer = stack_.back();
    outer.allocated[op_->results[0].id] = op_->results[0].type;
    outer.values[op_->results[0].id] = Value();
    ++outer.next;
    return {};
  }
  if (def == &ops::node_tablesOp) {
    DYN_TRY(std::vector<Value> tables, evaluateNodeTables(*this, module_, value(0)));
    return finishOp(std::move(tables));
  }
  if (def && def->evaluate) return evaluateTensors();
  DYN_TRY(Value result, evaluateStructural(*this, operandValues(0)));
  std::vector<Value> results;
  results.push_back(std::move(result));
  return finishOp(std::move(results));
}

Status Interpreter::evaluateTensors() {
  for (int i = 0; i < operandCount(); ++i) {
    if (hasOperand(i) && !value(i).isTensor()) {
      return error(DiagnosticId::typeMismatch, "operand " + std::to_string(i) + " is not a tensor");
    }
  }
  results_.assign(op_->results.size(), Value());
  DYN_CHECK(op_->def->evaluate(*this));
  return finishOp(std::move(results_));
}

Status Interpreter::matchData() {
  const Value data = value(0);
  if (data.kind() != ValueKind::data) return error(DiagnosticId::typeMismatch, "it needs a data value");
  const std::vector<std::string> names = op_->attributes.strings("constructors");
  for (size_t i = 0; i < names.size() && i < op_->regions.size(); ++i) {
    if (names[i] != data.constructor()) continue;
    std::vector<Value> arguments(data.parts().begin(), data.parts().end());
    for (Value& capture : operandValues(1)) arguments.push_back(std::move(capture));
    return push(op_->regions[i], std::move(arguments), true);
  }
  return error(DiagnosticId::runtimeError, "no body for constructor " + data.constructor());
}

Status Interpreter::startLoop() {
  LoopState loop;
  if (hasOperand(0)) loop.trip = operand(0).intAt(0);
  if (hasOperand(1)) loop.condition = operand(1).intAt(0) != 0;
  const size_t carried = static_cast<size_t>(op_->attributes.integer("carried"));
  std::vector<Value> rest = operandValues(2);
  if (op_->regions.size() != 1 || rest.size() < carried || op_->results.size() < carried) {
    return error(DiagnosticId::invalidIr, "its operands, results and body do not fit together");
  }
  if (op_->regions[0]->results.size() != op_->results.size() + 1) {
    return error(DiagnosticId::invalidIr, "its body gives " +
                                              std::to_string(op_->regions[0]->results.size()) +
                                              " results, not " + std::to_string(op_->results.size() + 1));
  }
  const auto middle = rest.begin() + static_cast<std::ptrdiff_t>(carried);
  loop.carried.assign(rest.begin(), middle);
  loop.captures.assign(middle, rest.end());
  loop.scans.resize(op_->results.size() - carried);
  stack_.back().loop = std::move(loop);
  return nextIteration();
}

Status Interpreter::nextIteration() {
  LoopState& loop = stack_.back().loop;
  if (!loop.condition || (loop.trip && loop.iteration >= *loop.trip)) return finishLoop();
  std::vector<Value> arguments{Value(HostTensor::scalarInt(Dtype::i64, loop.iteration))};
  arguments.insert(arguments.end(), loop.carried.begin(), loop.carried.end());
  arguments.insert(arguments.end(), loop.captures.begin(), loop.captures.end());
  return push(op_->regions[0], std::move(arguments), true);
}

Status Interpreter::finishLoop() {
  LoopState loop = std::move(stack_.back().loop);
  stack_.back().loop = LoopState();
  std::vector<Value> results = std::move(loop.carried);
  for (size_t k = 0; k < loop.scans.size(); ++k) {
    DYN_TRY(HostTensor scan, stacked(results.size(), loop.scans[k]));
    results.push_back(Value(std::move(scan)));
  }
  return finishOp(std::move(results));
}

// Slices of equal shape as one tensor with a new leading axis; without slices the shape comes from the type
// (unknown sizes: 0).
Result<HostTensor> Interpreter::stacked(size_t index, const std::vector<HostTensor>& slices) {
  std::vector<int64_t> shape{static_cast<int64_t>(slices.size())};
  if (slices.empty()) {
    Type type = op_->results[index].type;
    if (!type)
      return error(DiagnosticId::unsupportedFeature, "a stacked result without iterations has no known type");
    for (size_t i = 1; i < type.dims().size(); ++i) {
      Result<int64_t> size = scope_.value(type.dims()[i]);
      shape.push_back(size.ok() ? *size : 0);
    }
    return newTensor(type.dtype(), shape);
  }
  shape.insert(shape.end(), slices[0].shape().begin(), slices[0].shape().end());
  DYN_TRY(HostTensor result, newTensor(slices[0].dtype(), shape));
  int64_t at = 0;
  for (const HostTensor& slice : slices) {
    if (slice.shape() != slices[0].shape() || slice.dtype() != slices[0].dtype()) {
      return error(DiagnosticId::runtimeError, "slices to stack differ: " + shapeText(slices[0].shape()) +
                                                   " and " + shapeText(slice.shape()));
    }
    const ElementCopier copier(result, slice);
    for (int64_t i = 0; i < slice.elementCount(); ++i) copier.copy(at++, i);
  }
  return result;
}

Status Interpreter::runInto() {
  const int64_t outputs = op_->attributes.integer("outputs");
  if (outputs < 0 || outputs > operandCount() || op_->regions.size() != 1) {
    return error(DiagnosticId::invalidIr, "its destinations do not fit its operands");
  }
  std::vector<Value> arguments = operandValues(0);
  arguments.resize(arguments.size() - static_cast<size_t>(outputs));
  return push(op_->regions[0], std::move(arguments), true);
}

Status Interpreter::writeDestinations(std::vector<Value> results) {
  const size_t outputs = static_cast<size_t>(op_->attributes.integer("outputs"));
  if (results.size() != outputs)
    return error(DiagnosticId::invalidIr, "its body gives another number of results");
  Frame& frame = stack_.back();
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId destination = op_->operands[op_->operands.size() - outputs + i];
    if (auto type = frame.allocated.find(destination); type != frame.allocated.end()) {
      DYN_CHECK(assertType(type->second, results[i], "%" + module_.context->valueName(destination)));
    }
    frame.values[destination] = std::move(results[i]);
  }
  return finishOp({});
}

Status Interpreter::evaluateCheck() {
  const Dim lhs = op_->attributes.dims("lhs").at(0), rhs = op_->attributes.dims("rhs").at(0);
  DYN_TRY(int64_t a, scope_.value(lhs));
  DYN_TRY(int64_t b, scope_.value(rhs));
  const std::string relation = op_->attributes.string("relation");
  bool holds = false;
  if (relation == "eq") holds = a == b;
  if (relation == "le") holds = a <= b;
  if (relation == "broadcast") holds = a == b || a == 1 || b == 1;
  if (holds) return finishOp({});
  auto side = [](Dim d, int64_t value) {
    return d.isConstant() ? std::to_string(value) : d.toString() + " = " + std::to_string(value);
  };
  const auto shown = [&](Dim d) { return d == lhs ? side(lhs, a) : d == rhs ? side(rhs, b) : d.toString(); };
  return error(DiagnosticId::shapeCheckFailed,
               op_->attributes.string("what") + ": " + checkText(relation, lhs, rhs, shown));
}

Status Interpreter::takeVariant() {
  const Shape lhs = op_->attributes.dims("lhs"), rhs = op_->attributes.dims("rhs");
  const bool equal = op_->attributes.string("relation") == "eq";
  for (size_t i = 0; i < lhs.size() && i < rhs.size(); ++i) {
    DYN_TRY(int64_t a, scope_.value(lhs[i]));
    DYN_TRY(int64_t b, scope_.value(rhs[i]));
    if (equal ? a != b : a > b) return finishOp({});
  }
  const Function* callee = module_.find(op_->attributes.string("callee"));
  if (!callee)
    return error(DiagnosticId::textName, "there is no function @" + op_->attributes.string("callee"));
  if (stack_.back().isRegion) return error(DiagnosticId::invalidIr, "it stands in a body");
  std::vector<Value> arguments = operandValues(0);
  scope_ = std::move(stack_.back().callerScope);
  stack_.pop_back();
  return push(callee, std::move(arguments), false);
}

Status Interpreter::bindDims() {
  const Shape dims = op_->attributes.dims("dims");
  const std::vector<int64_t> elements = op_->attributes.integers("elements");
  const HostTensor& tensor = operand(0);
  for (size_t i = 0; i < dims.size() && i < elements.size(); ++i) {
    const int64_t at = elements[i] + (operandCount() > 1 ? operand(1).intAt(0) : 0);
    if (at < 0 || at >= tensor.elementCount())
      return error(DiagnosticId::shapeCheckFailed, "the tensor has no element " + std::to_string(at));
    scope_.bind(dims[i].symbol(), tensor.intAt(at));
    stack_.back().bound.push_back(dims[i].symbol());
  }
  return finishOp({});
}

}  // namespace

Result<std::vector<Value>> interpret(const Module& module, std::vector<Value> inputs,
                                     const InterpreterOptions& options) {
  const Function* main = module.main();
  if (!main) return makeError(DiagnosticId::textName, "the module has no function @main");
  return interpret(module, *main, std::move(inputs), options);
}

Result<std::vector<Value>> interpret(const Module& module, const Function& function,
                                     std::vector<Value> inputs, const InterpreterOptions& options) {
  if (hasRaggedParameters(function)) return interpretRagged(module, function, std::move(inputs), options);
  return interpretOnce(module, function, std::move(inputs), options);
}

Result<std::vector<Value>> interpretOnce(const Module& module, const Function& function,
                                         std::vector<Value> inputs, const InterpreterOptions& options) {
  return Interpreter(module, options).run(function, std::move(inputs));
}

Result<std::vector<Value>> interpretOp(const Module& module, const Op& op, std::span<const Value> operands,
                                       const InterpreterOptions& options) {
  Function single;
  single.name = "one_operation";
  std::vector<Value> inputs;
  std::unordered_set<ValueId> given;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i] == kNoValue || !given.insert(op.operands[i]).second) continue;
    single.parameters.push_back({op.operands[i], Type()});
    inputs.push_back(operands[i]);
  }
  single.ops = {&op};
  for (const ValueDef& result : op.results) {
    single.results.push_back(result.id);
    single.resultTypes.push_back(result.type);
  }
  return interpret(module, single, std::move(inputs), options);
}

}  // namespace dyn
