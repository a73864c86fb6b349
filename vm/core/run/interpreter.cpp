#include "vm/core/run/interpreter.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "vm/base/checked.h"
#include "vm/base/clock.h"
#include "vm/device/cpu_device.h"
#include "vm/isa/assembler.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::vm {
namespace {

// Launches of fewer steps are one task in one piece.
int64_t directSteps(const InterpreterOptions& options) {
  return options.threads && options.threads->threadCount() > 1 ? 2 * kHostStepsPerTask : kHostStepsPerPiece;
}

}  // namespace

Interpreter::Interpreter(const Module& module, const InterpreterOptions& options)
    : module_(module),
      program_(module.program()),
      options_(options),
      host_(options.threads, &trapBits_, module.kernelEntries()),
      stage_(module, options.pool, options.threads, &trapBits_, host_) {
  size_t buffers = 0, scalars = 0;
  for (const KernelRow& kernel : program_.kernels) {
    buffers = std::max<size_t>(buffers, kernel.bufferCount);
    scalars = std::max<size_t>(scalars, kernel.scalarCount);
  }
  buffers_.resize(buffers);
  bufferBytes_.resize(buffers);
  scalars_.resize(scalars);
  flow_.interpreter = this;
  flow_.table = &flowTable();
  flow_.kernels = module.kernels().data();
  flow_.constants = reinterpret_cast<void* const*>(module.constants().data());
  flow_.globals = reinterpret_cast<void* const*>(module.globals().data());
  // The word changes under the code's eyes, which reads it as often as it jumps.
  static_assert(sizeof trapBits_ == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  flow_.trap = reinterpret_cast<const volatile uint32_t*>(&trapBits_);
  flow_.directSteps = directSteps(options);
}

Interpreter::~Interpreter() {
  clear();
  options_.pool->deallocate(scalarStack_);
  options_.pool->deallocate(objectStack_);
}

void Interpreter::clear() {
  unwind();
  for (Object* object : results_) release(object);
  results_.clear();
}

void Interpreter::replaceResult(size_t index, Object* owned) {
  release(results_[index]);
  results_[index] = owned;
}

Status Interpreter::run(uint32_t function, std::span<Object* const> arguments,
                        std::vector<Object*>* globals) {
  clear();
  trapBits_.fetch_and(~uint32_t{kCancel}, std::memory_order_relaxed);
  globals_ = globals;
  status_ = okStatus();
  launches_ = instructions_ = 0;
  if (options_.dryRun) known_ = std::exchange(nextKnown_, KnownElements());
  bindActive_ = false;
  for (BoundOutput& bound : bound_) {
    bound.used = false;
    bindActive_ = bindActive_ || (bound.memory && bound.originFunction >= 0);
  }
  for (Object* argument : arguments) {
    gathered_.push_back(argument);
    retain(argument);
  }
  Outcome outcome = Outcome::fault;
  try {
    const bool native = options_.hostCode == HostCodeForm::native && module_.flow().present() && !globals &&
                        (trapBits_.load() & (kStep | kBreakpoints)) == 0;
    if (pushFrame(function, nullptr, nullptr) && enter(function)) {
      if (native)
        outcome = runNative();
      else
        do {
          outcome = trapBits_.load(std::memory_order_relaxed) != 0 ? loop<true>() : loop<false>();
        } while (outcome == Outcome::switchLoop);
    }
  } catch (const std::bad_alloc&) {  // of the interpreter's own tables and messages
    outcome = Outcome::fault;
    status_.code = DYN_OUT_OF_MEMORY;
  }
  stage_.drop();  // after a fault
  finishDevices();
  if (outcome != Outcome::done || !status_.ok()) clear();
  return std::move(status_);
}

// --- calls

void Interpreter::gather(WordList registers) {
  for (uint32_t i = 0; i < registers.count; ++i) {
    Object* object = V_[registers.items[i]];
    gathered_.push_back(object);  // may throw: counted only when it is there
    retain(object);
  }
}

void Interpreter::dropGathered() {
  for (Object* object : gathered_) release(object);
  gathered_.clear();
}

bool Interpreter::growStack(size_t scalars, size_t objects) {
  auto grow = [&](auto*& stack, size_t& capacity, size_t needed) {
    if (needed <= capacity) return true;
    const size_t wanted = std::max({needed, capacity * 2, size_t{512}});
    dyn_status why = DYN_OK;
    void* memory = options_.pool->allocate(wanted * sizeof(*stack), why);
    if (!memory) {
      memoryFault(why, wanted * sizeof(*stack));
      return false;
    }
    if (stack) memcpy(memory, static_cast<void*>(stack), capacity * sizeof(*stack));
    options_.pool->deallocate(stack);
    stack = static_cast<std::remove_reference_t<decltype(stack)>>(memory);
    capacity = wanted;
    return true;
  };
  return grow(scalarStack_, scalarCapacity_, scalars) && grow(objectStack_, objectCapacity_, objects);
}

bool Interpreter::pushFrame(uint32_t function, const int32_t* resume, const int32_t* results) {
  if (!joinStage()) {
    dropGathered();
    return false;
  }
  size_t scalarBase = 0, objectBase = 0;
  if (!frames_.empty()) {
    if (frames_.size() >= options_.depthLimit) {
      fault(DYN_DEPTH_LIMIT, "calls nested deeper than " + std::to_string(options_.depthLimit) +
                                 " while calling " + program_.functions[function].name);
      dropGathered();
      return false;
    }
    const Frame& top = frames_.back();
    scalarBase = top.scalarBase + program_.functions[top.function].scalarCount;
    objectBase = top.objectBase + program_.functions[top.function].objectCount;
  }
  const Function& callee = program_.functions[function];
  if (!growStack(scalarBase + callee.scalarCount, objectBase + callee.objectCount)) {
    dropGathered();
    return false;
  }
  frames_.push_back({function, resume, results, scalarBase, objectBase, 0, nullptr, {}});
  return true;
}

bool Interpreter::enter(uint32_t function) {
  Frame& frame = frames_.back();
  frame.views = nullptr;  // a tail call has given the old ones back
  const Function& callee = program_.functions[function];
  // A tail call may go to a function with more registers.
  if (frame.function != function || scalarCapacity_ == 0) {
    frame.function = function;
    if (!growStack(frame.scalarBase + callee.scalarCount, frame.objectBase + callee.objectCount)) {
      frames_.pop_back();
      dropGathered();
      return false;
    }
  }
  R_ = scalarStack_ + frame.scalarBase;
  V_ = objectStack_ + frame.objectBase;
  std::fill_n(R_, callee.scalarCount, 0);
  std::copy(gathered_.begin(), gathered_.end(), V_);
  std::fill(V_ + gathered_.size(), V_ + callee.objectCount, nullptr);
  gathered_.clear();
  code_ = at_ = callee.code.data();
  if (trapBits_.load(std::memory_order_relaxed) & kProfile) frame.enterNs = clockNs();
  return true;
}

void Interpreter::releaseRegisters(const Frame& frame) {
  Object** registers = objectStack_ + frame.objectBase;
  const uint32_t count = program_.functions[frame.function].objectCount;
  for (uint32_t i = 0; i < count; ++i) release(std::exchange(registers[i], nullptr));
  if (frame.views) views_.giveBack(frame.viewsBefore);
  if (frame.enterNs != 0 && (trapBits_.load(std::memory_order_relaxed) & kProfile)) {
    profile_.levels().leaveCall(frames_.size());
    profile_.record(
        {ProfileKind::function, frame.function, 0, -1,
         frame.enterNs - std::min(frame.enterNs, profile_.startNs()), clockNs() - frame.enterNs, 0},
        {});
  }
}

bool Interpreter::popFrame(WordList results) {
  gather(results);
  const Frame frame = frames_.back();
  releaseRegisters(frame);
  frames_.pop_back();
  if (frames_.empty()) {
    results_.swap(gathered_);
    return true;
  }
  const Frame& caller = frames_.back();
  R_ = scalarStack_ + caller.scalarBase;
  V_ = objectStack_ + caller.objectBase;
  code_ = program_.functions[caller.function].code.data();
  at_ = frame.resume;
  for (size_t i = 0; i < gathered_.size(); ++i) setObject(frame.results[1 + i], gathered_[i]);
  gathered_.clear();
  return false;
}

void Interpreter::unwind() {
  dropGathered();
  while (!frames_.empty()) {
    releaseRegisters(frames_.back());
    frames_.pop_back();
  }
}

bool Interpreter::invoke(uint32_t function, WordList arguments, const int32_t* resume,
                         const int32_t* results) {
  gather(arguments);
  return pushFrame(function, resume, results) && enter(function);
}

bool Interpreter::tailInvoke(uint32_t function, WordList arguments) {
  if (!joinStage()) return false;
  gather(arguments);
  releaseRegisters(frames_.back());
  return enter(function);
}

bool Interpreter::invokeClosure(int32_t source, WordList arguments, const int32_t* resume,
                                const int32_t* results) {
  Object* object = V_[source];
  if (!object || object->kind != ObjectKind::closure)
    return fault(DYN_CHECK_FAILED, "a closure is called, but the register holds " + describe(object));
  auto* closure = static_cast<Closure*>(object);
  const Function& callee = program_.functions[closure->function];
  if (closure->count + arguments.count != callee.parameterCount ||
      static_cast<uint32_t>(results[0]) != callee.resultCount)
    return fault(DYN_CHECK_FAILED, "closure of " + callee.name + " with " + std::to_string(closure->count) +
                                       " captures called with " + std::to_string(arguments.count) +
                                       " arguments for " + std::to_string(results[0]) +
                                       " results; it takes " + std::to_string(callee.parameterCount) +
                                       " in all and gives " + std::to_string(callee.resultCount));
  for (uint32_t i = 0; i < closure->count; ++i) {
    gathered_.push_back(closure->captures()[i]);
    retain(closure->captures()[i]);
  }
  gather(arguments);
  const uint32_t function = closure->function;
  return pushFrame(function, resume, results) && enter(function);
}

void Interpreter::loadConstant(int32_t target, uint32_t constant) {
  if (globals_) loadedConstants_.push_back(static_cast<int32_t>(constant));
  setObject(target, module_.constants()[constant]);  // immortal
}

void Interpreter::loadGlobal(int32_t target, uint32_t global) {
  Object* object = (globals_ ? *globals_ : module_.globals())[global];
  retain(object);
  setObject(target, object);
}

// --- traps

void Interpreter::setTrap(dyn_trap_callback callback, void* user, bool stepping) {
  trapCallback_ = callback;
  trapUser_ = user;
  if (callback && stepping)
    trapBits_.fetch_or(kStep);
  else
    trapBits_.fetch_and(~uint32_t{kStep});
}

bool Interpreter::setBreakpoint(uint32_t function, uint32_t position, bool enabled) {
  if (function >= program_.functions.size()) return false;
  InstructionReader reader(program_.functions[function].code);
  bool found = false;
  while (!reader.atEnd() && !found) {
    found = reader.position() == position;
    if (!reader.next()) return false;
  }
  if (!found) return false;
  const std::pair<uint32_t, uint32_t> key{function, position};
  auto at = std::lower_bound(breakpoints_.begin(), breakpoints_.end(), key);
  const bool present = at != breakpoints_.end() && *at == key;
  if (enabled && !present) breakpoints_.insert(at, key);
  if (!enabled && present) breakpoints_.erase(at);
  if (breakpoints_.empty())
    trapBits_.fetch_and(~uint32_t{kBreakpoints});
  else
    trapBits_.fetch_or(kBreakpoints);
  return true;
}

void Interpreter::clearBreakpoints() {
  breakpoints_.clear();
  trapBits_.fetch_and(~uint32_t{kBreakpoints});
}

std::span<const int64_t> Interpreter::scalarRegisters() const {
  if (frames_.empty()) return {};
  return {R_, program_.functions[frames_.back().function].scalarCount};
}

std::span<Object* const> Interpreter::objectRegisters() const {
  if (frames_.empty()) return {};
  return {V_, program_.functions[frames_.back().function].objectCount};
}

uint64_t Interpreter::clockNs() const { return options_.threads ? options_.threads->clockNs() : nowNs(); }

std::vector<std::vector<TaskSpan>> Interpreter::workerSpans() const {
  return options_.threads ? options_.threads->spans() : std::vector<std::vector<TaskSpan>>();
}

void Interpreter::setProfiling(bool enabled) {
  if (options_.threads) options_.threads->watch(enabled);
  if (enabled) {
    profile_.begin(program_, clockNs());
    live_.prepare(program_);
    trapBits_.fetch_or(kProfile);
  } else {
    trapBits_.fetch_and(~uint32_t{kProfile});
  }
}

Interpreter::Outcome Interpreter::trace() {
  const uint32_t bits = trapBits_.load(std::memory_order_relaxed);
  if (bits == 0) return Outcome::switchLoop;
  if (cancelled()) return Outcome::fault;
  ++instructions_;
  if (!trapCallback_ || !(bits & (kStep | kBreakpoints))) return Outcome::proceed;
  const uint32_t function = frames_.back().function, position = positionOf(at_);
  if (!(bits & kStep) &&
      !std::binary_search(breakpoints_.begin(), breakpoints_.end(), std::pair{function, position}))
    return Outcome::proceed;
  if (!joinStage() || !settle()) return Outcome::fault;  // who is called may look at any tensor
  const std::string text = printInstruction(program_, function, position);
  const dyn_trap trap{static_cast<int32_t>(function),
                      position,
                      static_cast<uint32_t>(frames_.size() - 1),
                      program_.functions[function].name.c_str(),
                      module_.placeOf(function, position).c_str(),
                      text.c_str()};
  switch (trapCallback_(trapUser_, &trap)) {
    case DYN_TRAP_CONTINUE:
      trapBits_.fetch_and(~uint32_t{kStep});
      return Outcome::proceed;
    case DYN_TRAP_STEP:
      trapBits_.fetch_or(kStep);
      return Outcome::proceed;
    case DYN_TRAP_STOP:
      break;
  }
  fault(DYN_CANCELLED, "the run was stopped at a trap");
  return Outcome::fault;
}

bool Interpreter::fault(dyn_status code, std::string message, const std::string& user) {
  std::string place;
  if (!frames_.empty() && code_) {
    const uint32_t function = frames_.back().function, position = positionOf(at_);
    place = module_.positionText(function, position);
    const std::string& shown = user.empty() ? module_.placeOf(function, position) : user;
    if (!shown.empty()) place += ", " + shown;
  }
  status_ = failure(code, std::move(message), std::move(place));
  return false;
}

bool Interpreter::scalarFault(std::string_view instruction, std::span<const int64_t> values) {
  std::string text;
  for (int64_t value : values) text += " " + std::to_string(value);
  return fault(DYN_ARITHMETIC, "overflow or division by zero in: " + std::string(instruction) + text);
}

Interpreter::Outcome Interpreter::scalarFault(const int32_t* at) {
  at_ = at;
  const InstructionRow& instruction = row(static_cast<Opcode>(*at));
  std::vector<int64_t> values;
  const int32_t* w = at + 1;
  for (uint32_t i = 0; i < instruction.operandCount; ++i, ++w) {
    if (instruction.operands[i].kind == OperandKind::scalarRead) values.push_back(R_[*w]);
    if (instruction.operands[i].kind == OperandKind::immediate)
      values.push_back(DecodedOperand{w, 2}.immediate());
  }
  scalarFault(instruction.text, values);
  return Outcome::fault;
}

// --- native code

// Each iteration is a frame, or a piece of a long function.
Interpreter::Outcome Interpreter::runNative() {
  flow_.launches = 0;
  Outcome outcome = Outcome::proceed;
  while (outcome == Outcome::proceed) {
    flow_.position = positionOf(at_);
    flow_.scalars = R_;
    flow_.objects = reinterpret_cast<void**>(V_);
    switch (module_.flow().find(frames_.back().function, flow_.position)(&flow_, flow_.position)) {
      case DYN_FLOW_MOVED:
        at_ = code_ + flow_.position;
        break;
      case DYN_FLOW_GO:
        break;
      case DYN_FLOW_DONE:
        outcome = Outcome::done;
        break;
      default:
        outcome = Outcome::fault;
    }
  }
  launches_ += flow_.launches;
  return outcome;
}

bool Interpreter::cancelled() {
  if ((trapBits_.load(std::memory_order_relaxed) & kCancel) == 0) return false;
  fault(DYN_CANCELLED, "the run was cancelled");
  return true;
}

// --- the loop

namespace {

DataType type(int32_t word) { return static_cast<DataType>(word); }

}  // namespace

// Scalar registers that a list names (its length, then its words), copied; until the next call.
std::span<const int64_t> Interpreter::scalarsAt(const int32_t* list) {
  const auto count = static_cast<size_t>(list[0]);
  if (scalars_.size() < count) scalars_.resize(count);
  for (size_t i = 0; i < count; ++i) scalars_[i] = R_[list[1 + i]];
  return {scalars_.data(), count};
}

std::span<const int64_t> Interpreter::shapeAt(const int32_t* list) {
  const auto rank = static_cast<size_t>(list[0]);
  for (size_t axis = 0; axis < rank; ++axis) shape_[axis] = R_[list[1 + axis]];
  return {shape_, rank};
}

// Reads of registers and tables need no checks here: the verifier has made them.
template <bool kTraced>
Interpreter::Outcome Interpreter::loop() {
  const int32_t* at = at_;
  int64_t* R = R_;
  Object** V = V_;
  const int32_t* code = code_;

#define DYN_RELOAD() (at = at_, R = R_, V = V_, code = code_)
#define DYN_TRAP_POINT()                                                       \
  if constexpr (!kTraced) {                                                    \
    if (__builtin_expect(trapBits_.load(std::memory_order_relaxed) != 0, 0)) { \
      at_ = at;                                                                \
      return Outcome::switchLoop;                                              \
    }                                                                          \
  }
#define DYN_OPERATION(words, expression)      \
  {                                           \
    at_ = at;                                 \
    if (!(expression)) return Outcome::fault; \
    at += 1 + (words);                        \
    break;                                    \
  }
#define DYN_BINARY(operation)                                        \
  if (!operation(R[w[1]], R[w[2]], R[w[0]])) return scalarFault(at); \
  at += 4;                                                           \
  break
#define DYN_SCALAR(expression) \
  R[w[0]] = (expression);      \
  at += 4;                     \
  break

  for (;;) {
    [[maybe_unused]] const int32_t* began = at;
    [[maybe_unused]] uint64_t beginNs = 0;
    if constexpr (kTraced) {
      at_ = at;
      if (Outcome outcome = trace(); outcome != Outcome::proceed) return outcome;
      if (trapBits_.load(std::memory_order_relaxed) & kProfile) beginNs = beginNote(at);
    }
    const int32_t* w = at + 1;
    switch (static_cast<Opcode>(*at)) {
      case Opcode::constInt:
        R[w[0]] = DecodedOperand{w + 1, 2}.immediate();
        at += 4;
        break;
      case Opcode::move:
        R[w[0]] = R[w[1]];
        at += 3;
        break;
      case Opcode::add:
        DYN_BINARY(checkedAdd);
      case Opcode::sub:
        DYN_BINARY(checkedSub);
      case Opcode::mul:
        DYN_BINARY(checkedMul);
      case Opcode::floorDiv:
        DYN_BINARY(checkedFloorDiv);
      case Opcode::ceilDiv:
        DYN_BINARY(checkedCeilDiv);
      case Opcode::mod:
        DYN_BINARY(checkedMod);
      case Opcode::minimum:
        DYN_SCALAR(std::min(R[w[1]], R[w[2]]));
      case Opcode::maximum:
        DYN_SCALAR(std::max(R[w[1]], R[w[2]]));
      case Opcode::addImmediate:
        if (!checkedAdd(R[w[1]], DecodedOperand{w + 2, 2}.immediate(), R[w[0]])) return scalarFault(at);
        at += 5;
        break;
      case Opcode::mulImmediate:
        if (!checkedMul(R[w[1]], DecodedOperand{w + 2, 2}.immediate(), R[w[0]])) return scalarFault(at);
        at += 5;
        break;
      case Opcode::equal:
        DYN_SCALAR(R[w[1]] == R[w[2]]);
      case Opcode::less:
        DYN_SCALAR(R[w[1]] < R[w[2]]);
      case Opcode::lessEqual:
        DYN_SCALAR(R[w[1]] <= R[w[2]]);
      case Opcode::logicalAnd:
        DYN_SCALAR(R[w[1]] != 0 && R[w[2]] != 0);
      case Opcode::logicalNot:
        R[w[0]] = R[w[1]] == 0;
        at += 3;
        break;

      case Opcode::dim:
        DYN_OPERATION(3, dim(w[1], w[2], R[w[0]]));
      case Opcode::item:
        DYN_OPERATION(3, item(w[1], R[w[2]], R[w[0]]));
      case Opcode::fromScalars:
        DYN_OPERATION(3 + w[2], fromScalars(w[0], type(w[1]), scalarsAt(w + 2), 1));
      case Opcode::fromScalar:
        DYN_OPERATION(3, fromScalars(w[0], type(w[1]), {&R[w[2]], 1}, 0));

      case Opcode::checkTensor:
        DYN_OPERATION(4, checkTensor(w[0], type(w[1]), w[2], w[3]));
      case Opcode::checkEqual:
        DYN_OPERATION(3, R[w[0]] == R[w[1]] || checkFails(CheckKind::equality, R[w[0]], R[w[1]], w[2]));
      case Opcode::checkLessEqual:
        DYN_OPERATION(3, R[w[0]] <= R[w[1]] || checkFails(CheckKind::lessEqual, R[w[0]], R[w[1]], w[2]));
      case Opcode::check:
        DYN_OPERATION(2, R[w[0]] != 0 || checkFails(CheckKind::truth, 0, 0, w[1]));
      case Opcode::fatal:
        DYN_OPERATION(1, checkFails(CheckKind::truth, 0, 0, w[0]));

      case Opcode::allocStorage:
        DYN_OPERATION(3, allocateStorage(w[0], R[w[1]], w[2]));
      case Opcode::allocTensor:
        DYN_OPERATION(5 + w[4], allocateTensor(w[0], w[1], R[w[2]], type(w[3]), shapeAt(w + 4)));
      case Opcode::newTensor:
        DYN_OPERATION(4 + w[3], makeTensor(w[0], type(w[1]), w[2], shapeAt(w + 3)));
      case Opcode::reuseTensor:
        DYN_OPERATION(5 + w[4], reuseTensor(w[0], w[1], type(w[2]), w[3], shapeAt(w + 4)));
      case Opcode::stridedView: {
        const int32_t* strides = w + 4 + w[3];
        DYN_OPERATION(5 + w[3] + strides[0],
                      stridedView(w[0], w[1], R[w[2]], shapeAt(w + 3), scalarsAt(strides)));
      }
      case Opcode::reshapeTensor:
        DYN_OPERATION(3 + w[2], reshape(w[0], w[1], shapeAt(w + 2)));
      case Opcode::deviceCopy:
        DYN_OPERATION(4, deviceCopy(w[0], w[1], w[2], w[3]));
      case Opcode::moveObject:
        retain(V[w[1]]);
        setObject(w[0], V[w[1]]);
        at += 3;
        break;
      case Opcode::kill:
        setObject(w[0], nullptr);
        at += 2;
        break;
      case Opcode::loadConstant:
        loadConstant(w[0], static_cast<uint32_t>(w[1]));
        at += 3;
        break;
      case Opcode::loadGlobal:
        loadGlobal(w[0], static_cast<uint32_t>(w[1]));
        at += 3;
        break;
      case Opcode::storeGlobal: {
        if (!globals_) {
          at_ = at;
          fault(DYN_CHECK_FAILED, "storeglobal after load");  // init called as an ordinary function
          return Outcome::fault;
        }
        Object*& global = (*globals_)[static_cast<size_t>(w[1])];
        retain(V[w[0]]);
        release(global);
        global = V[w[0]];
        if (options_.globalStored) options_.globalStored(loadedConstants_);
        loadedConstants_.clear();
        at += 3;
        break;
      }

      case Opcode::makeTuple:
        DYN_OPERATION(3 + w[2], makeTuple(w[0], w[1], wordsAt(w + 2)));
      case Opcode::getField:
        DYN_OPERATION(3, getField(w[0], w[1], w[2]));
      case Opcode::getTag:
        DYN_OPERATION(2, getTag(w[1], R[w[0]]));
      case Opcode::makeList:
        DYN_OPERATION(2 + w[1], makeList(w[0], wordsAt(w + 1)));
      case Opcode::listLength:
        DYN_OPERATION(2, listLength(w[1], R[w[0]]));
      case Opcode::listAt:
        DYN_OPERATION(3, listAt(w[0], w[1], R[w[2]]));
      case Opcode::listInsert:
        DYN_OPERATION(4, listInsert(w[0], w[1], w[2], R[w[3]]));
      case Opcode::listErase:
        DYN_OPERATION(3, listErase(w[0], w[1], R[w[2]]));
      case Opcode::makeClosure:
        DYN_OPERATION(3 + w[2], makeClosure(w[0], static_cast<uint32_t>(w[1]), wordsAt(w + 2)));

      case Opcode::jump:
        DYN_TRAP_POINT();
        at = code + w[0];
        break;
      case Opcode::jumpIf:
        DYN_TRAP_POINT();
        at = R[w[0]] != 0 ? code + w[1] : at + 3;
        break;
      case Opcode::jumpIfNot:
        DYN_TRAP_POINT();
        at = R[w[0]] == 0 ? code + w[1] : at + 3;
        break;
      case Opcode::invoke: {
        DYN_TRAP_POINT();
        at_ = at;
        const int32_t* call = w + 1 + w[0];
        const WordList arguments = wordsAt(call + 1);
        if (!invoke(static_cast<uint32_t>(call[0]), arguments, arguments.items + arguments.count, w))
          return Outcome::fault;
        DYN_RELOAD();
        break;
      }
      case Opcode::tailInvoke:
        DYN_TRAP_POINT();
        at_ = at;
        if (!tailInvoke(static_cast<uint32_t>(w[0]), wordsAt(w + 1))) return Outcome::fault;
        DYN_RELOAD();
        break;
      case Opcode::invokeClosure: {
        DYN_TRAP_POINT();
        at_ = at;
        const int32_t* call = w + 1 + w[0];
        const WordList arguments = wordsAt(call + 1);
        if (!invokeClosure(call[0], arguments, arguments.items + arguments.count, w)) return Outcome::fault;
        DYN_RELOAD();
        break;
      }
      case Opcode::ret:
        at_ = at;
        if (!joinStage()) return Outcome::fault;
        if (popFrame(wordsAt(w))) return Outcome::done;
        DYN_RELOAD();
        break;

      case Opcode::branch:
        branch(at, w[0], {R[w[2]], R[w[3]], w[1]});
        at += 5;
        break;
      case Opcode::join:
        stage_.passJoin();
        DYN_OPERATION(0, joinStage());

      case Opcode::launch: {
        DYN_TRAP_POINT();
        const int32_t* scalars = w + 4 + w[3];
        DYN_OPERATION(5 + w[3] + scalars[0], launch(static_cast<uint32_t>(w[0]), R[w[1]], R[w[2]], w + 4,
                                                    scalarsAt(scalars).data()));
      }
      case Opcode::callBuiltin:
      case Opcode::callBuiltinInto: {
        DYN_TRAP_POINT();
        const WordList results = wordsAt(w + 1), arguments = wordsAfter(results),
                       scalars = wordsAfter(arguments), numbers = wordsAfter(scalars);
        DYN_OPERATION(
            numbers.items + numbers.count - w,
            callBuiltin(static_cast<uint32_t>(w[0]), static_cast<Opcode>(*at) == Opcode::callBuiltinInto,
                        results, arguments, scalarsAt(scalars.items - 1), numbers));
      }
    }
    if constexpr (kTraced) {
      if (beginNs != 0) note(began, beginNs);
    }
  }
#undef DYN_RELOAD
#undef DYN_TRAP_POINT
#undef DYN_OPERATION
#undef DYN_BINARY
#undef DYN_SCALAR
}

}  // namespace dyn::vm
