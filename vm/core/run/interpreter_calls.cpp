// Interpreter: kernels and builtins are called, and what the profile says of them.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "vm/base/checked.h"
#include "vm/base/clock.h"
#include "vm/core/run/interpreter.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::vm {

namespace {

// Of a dry run: what is there is not what a run would write there.
void forgetElements(const Tensor* tensor) {
  if (tensor->storage) tensor->storage->unknown = true;
}

}  // namespace

bool Interpreter::launch(uint32_t kernelIndex, int64_t extent, int64_t steps, const int32_t* buffers,
                         const int64_t* scalars) {
  const KernelRow& kernel = program_.kernels[kernelIndex];
  version_.clear();
  if (extent < 0)
    return fault(DYN_ARITHMETIC, "kernel " + kernel.name + ": extent " + std::to_string(extent));
  if (extent == 0) return true;
  int32_t device = -1;
  bool wanted = kernel.outputCount == 0;  // an empty result is there already
  for (uint32_t i = 0; i < kernel.bufferCount; ++i) {
    Object* object = V_[buffers[i]];
    if (!object || object->kind != ObjectKind::tensor)
      return fault(DYN_CHECK_FAILED,
                   "kernel " + kernel.name + ": buffer " + std::to_string(i) + " is " + describe(object));
    auto* tensor = static_cast<Tensor*>(object);
    if (!tensor->isDense() && !isDense(tensor, "kernel " + kernel.name)) return false;
    if (i + kernel.outputCount >= kernel.bufferCount && tensor->readOnly && tensor->elementCount > 0)
      return fault(DYN_CHECK_FAILED,
                   "kernel " + kernel.name + ": output buffer " + std::to_string(i) + " is read-only");
    if (!arrived(tensor)) return false;
    const bool written = i + kernel.outputCount >= kernel.bufferCount;
    wanted |= written && tensor->elementCount > 0;
    if (written && options_.dryRun) forgetElements(tensor);
    const int32_t here = tensor->storage && tensor->elementCount > 0 ? tensor->storage->device : device;
    if (device >= 0 && here != device)
      return fault(DYN_CHECK_FAILED, "kernel " + kernel.name + ": buffers are on different devices");
    device = here;
    buffers_[i] = tensor->data;
    bufferBytes_[i] = tensor->sizeBytes();
  }
  // A kernel that replaces a built-in function of the host checks the indices of an empty result as well.
  if (!wanted && !(device > kHostDevice && module_.hasChecks(frames_.back().function, positionOf(at_))))
    return true;
  if (!known_.empty()) dryRunKernel(kernelIndex, extent, steps, buffers, scalars);
  ++launches_;
  if (stage_.isOpen()) {
    if (device <= kHostDevice && !stage_.isFull()) {
      stage_.addLaunch(at_, kernelIndex, extent, steps, objectsAt({buffers, kernel.bufferCount}),
                       {scalars, kernel.scalarCount});
      return true;
    }
    if (!joinStage()) return false;
  }
  if (!runKernel(kernelIndex, extent, steps, device, scalars)) return false;
  if (trapBits_.load(std::memory_order_relaxed) & kCancel)
    return fault(DYN_CANCELLED, "the run was cancelled");
  return true;
}

bool Interpreter::callBuiltin(uint32_t index, bool into, WordList results, WordList arguments,
                              std::span<const int64_t> scalars, WordList numbers) {
  const BuiltinRow& builtin = *module_.builtins()[index];
  const bool waits =
      stage_.isOpen() && !stage_.isFull() && into && builtin.isFlat() && !builtin.is(calls::SETTINGS);
  if (!waits && !joinStage()) return false;
  builtinArguments_.clear();
  for (uint32_t i = 0; i < arguments.count; ++i) {
    Object* object = V_[arguments.items[i]];
    if (!arrived(object)) return false;
    if (object && !isOnHost(object))
      return fault(DYN_CHECK_FAILED,
                   std::string(builtin.name) + ": argument " + std::to_string(i) + " is not on the cpu");
    if (object && object->kind == ObjectKind::tensor) {
      const auto* tensor = static_cast<Tensor*>(object);
      if (!tensor->isDense() && i >= builtin.traits.stridedArguments() && !isDense(tensor, builtin.name))
        return false;
    }
    builtinArguments_.push_back(object);
  }
  builtinResults_.clear();
  for (uint32_t i = 0; i < results.count; ++i) {
    Object* object = into ? V_[results.items[i]] : nullptr;
    if (into) {
      if (!object || object->kind != ObjectKind::tensor ||
          (object->readOnly && static_cast<Tensor*>(object)->elementCount > 0) ||
          !static_cast<Tensor*>(object)->isDense() || !isOnHost(object))
        return fault(DYN_CHECK_FAILED, std::string(builtin.name) + ": result " + std::to_string(i) +
                                           " must be a writable dense tensor on the cpu, it is " +
                                           (object && object->readOnly ? "read-only " : "") +
                                           describe(object));
      if (options_.dryRun) forgetElements(static_cast<Tensor*>(object));
    }
    builtinResults_.push_back(object);
  }

  const bool asked = (trapBits_.load(std::memory_order_relaxed) & kProfile) != 0;
  if (asked) version_.clear();
  host_.setVersion(asked ? &version_ : nullptr);
  BuiltinCall call(host_);
  call.pool = options_.pool;
  if (builtin.is(calls::GEMM)) call.gemmFamily = module_.gemmFamily();
  call.panels = module_.packs();
  call.arguments = builtinArguments_;
  call.results = builtinResults_;
  call.into = into;
  call.scalars = scalars;
  call.numbers = {numbers.items, numbers.count};
  call.dryRun = options_.dryRun;
  call.keptPositions = options_.keptPositions;
  if (bindActive_ && !into)
    call.bound = [this](DataType dtype, std::span<const int64_t> shape, int64_t count, dyn_status& why) {
      return inBoundMemory(dtype, shape, count, why);
    };
  ++launches_;
  if (waits) return addToStage(builtin, call);
  if (options_.dryRun && !builtin.isFlat() && !builtin.is(calls::DRY_RUN))
    return dryRunEnds(std::string(builtin.name));
  Status status = runBuiltin(builtin, call);
  if (status.ok() && !known_.empty()) dryRunBuiltin(builtin, call);
  if (status.ok() && (trapBits_.load(std::memory_order_relaxed) & kCancel))
    status = failure(DYN_CANCELLED, "the run was cancelled");
  if (!into) {
    if (status.ok() && !bound_.empty() && results.count == 1) noteOriginOf(builtinResults_[0]);
    for (uint32_t i = 0; i < results.count; ++i) {
      if (status.ok())
        setObject(results.items[i], builtinResults_[i]);
      else
        release(builtinResults_[i]);
    }
  }
  if (!status.ok())
    return fault(status.code, status.code == DYN_CANCELLED
                                  ? status.message
                                  : std::string(builtin.name) + ": " + status.message);
  return true;
}

// --- a stage

void Interpreter::branch(const int32_t* at, int32_t branches, const stage::Call& call) {
  // Who looks at single calls sees them one after the other. A stage that is open knows of each call whose it
  // is.
  if (stage_.isOpen() ||
      (stage_.isPossible() && trapBits_.load(std::memory_order_relaxed) == 0 && known_.empty()))
    stage_.setBranch(at, branches, call);
}

std::span<Object* const> Interpreter::objectsAt(std::span<const int32_t> registers) {
  stageObjects_.clear();
  for (const int32_t index : registers) stageObjects_.push_back(V_[index]);
  return stageObjects_;
}

bool Interpreter::addToStage(const BuiltinRow& builtin, const BuiltinCall& call) {
  DynBuiltinCall flat;
  if (const Status status = host_.describeCall(builtin.name, call, flat); !status.ok())
    return fault(status.code, std::string(builtin.name) + ": " + status.message);
  stageObjects_.assign(call.arguments.begin(), call.arguments.end());
  stageObjects_.insert(stageObjects_.end(), call.results.begin(), call.results.end());
  stage_.addBuiltin(at_, builtin, flat, stageObjects_);
  return true;
}

bool Interpreter::runStage() {
  Stage::Fault failed;
  if (!stage_.run(options_.dryRun, failed)) {
    at_ = failed.at;
    if (failed.isKernel) return kernelFault(failed.text);
    if (failed.wantedBytes > 0) return memoryFault(failed.status.code, failed.wantedBytes);
    return fault(failed.status.code, failed.status.message);
  }
  return (trapBits_.load(std::memory_order_relaxed) & kCancel) == 0 ||
         fault(DYN_CANCELLED, "the run was cancelled");
}

// --- profile

ProfileOperands Interpreter::operandsOf(const int32_t* at, uint64_t& bytes) const {
  ProfileOperands result;
  const InstructionRow& instruction = row(static_cast<Opcode>(*at));
  const int32_t* w = at + 1;
  for (uint32_t i = 0; i < instruction.operandCount; ++i) {
    const Operand operand = instruction.operands[i];
    const bool object = operand.kind == OperandKind::objectRead || operand.kind == OperandKind::objectWrite;
    const uint32_t count = operand.list                             ? static_cast<uint32_t>(*w++)
                           : operand.kind == OperandKind::immediate ? 2
                                                                    : 1;
    if (i == 1) result.resultsCount = object ? count : 0;  // behind the builtin's own number
    for (uint32_t item = 0; item < count; ++item, ++w) {
      if (operand.kind == OperandKind::scalarRead) result.scalars.push_back(R_[*w]);
      if (operand.kind == OperandKind::number && result.numbers.size() < ProfileOperands::kMaximumNumbers)
        result.numbers.push_back(*w);
      if (!object || !V_[*w]) continue;
      result.shapes += (result.shapes.empty() ? "" : " ") + describe(V_[*w]);
      if (V_[*w]->kind == ObjectKind::tensor) bytes += static_cast<Tensor*>(V_[*w])->sizeBytes();
    }
  }
  return result;
}

void Interpreter::putScalars(const int32_t* at, std::span<const int64_t> values) {
  const InstructionRow& instruction = row(static_cast<Opcode>(*at));
  const int32_t* w = at + 1;
  size_t next = 0;
  for (uint32_t i = 0; i < instruction.operandCount; ++i) {
    const Operand operand = instruction.operands[i];
    const uint32_t count = operand.list ? static_cast<uint32_t>(*w++) : 1;
    for (uint32_t item = 0; item < count; ++item, ++w)
      if (operand.kind == OperandKind::scalarRead && next < values.size()) R_[*w] = values[next++];
  }
}

uint64_t Interpreter::beginNote(const int32_t* at) {
  live_.begin(frames_.back().function, positionOf(at));
  return clockNs();
}

void Interpreter::note(const int32_t* at, uint64_t beginNs) {
  ProfileKind kind;
  int32_t index = -1;
  switch (static_cast<Opcode>(*at)) {
    case Opcode::launch:
      kind = ProfileKind::kernel;
      index = at[1];
      break;
    case Opcode::callBuiltin:
    case Opcode::callBuiltinInto:
      kind = ProfileKind::builtin;
      index = at[1];
      break;
    case Opcode::allocStorage:
    case Opcode::newTensor:
      kind = ProfileKind::allocation;
      break;
    case Opcode::deviceCopy:
      kind = ProfileKind::copy;
      break;
    case Opcode::loadConstant:
      kind = ProfileKind::constant;
      index = at[2];
      break;
    default:
      return;
  }
  const uint64_t endNs = clockNs();
  live_.end(frames_.back().function, positionOf(at), endNs - beginNs);
  uint64_t bytes = 0;
  const ProfileOperands operands = operandsOf(at, bytes);
  if (kind == ProfileKind::allocation && static_cast<Opcode>(*at) == Opcode::allocStorage)
    bytes = static_cast<Storage*>(V_[at[1]])->sizeBytes;
  const uint32_t function = frames_.back().function, position = positionOf(at);
  beginNs -= profile_.startNs();
  const uint64_t timeNs = endNs - profile_.startNs() - beginNs;
  profile_.record({kind, function, position, index, beginNs, timeNs, bytes}, operands);
  const bool hasVersions = kind == ProfileKind::builtin || kind == ProfileKind::kernel;
  if (hasVersions && !version_.empty()) profile_.nameVersion(version_);
  NodeLevels& levels = profile_.levels();
  levels.addEvent(frames_.size(), function, position,
                  {beginNs, beginNs + timeNs, kind == ProfileKind::allocation ? bytes : 0});
  if (hasVersions && levels.isWalking()) noteOperands(at, kind == ProfileKind::builtin);
  if (kind == ProfileKind::builtin && levels.makesTables(index)) noteTables(at);
}

// Of a call or launch in a loop over levels: the tensors that it wrote and read.
void Interpreter::noteOperands(const int32_t* at, bool isBuiltin) {
  const InstructionRow& instruction = row(static_cast<Opcode>(*at));
  std::vector<Object*> written, read;
  const int32_t* w = at + 1;
  for (uint32_t i = 0; i < instruction.operandCount; ++i) {
    const Operand operand = instruction.operands[i];
    const uint32_t count = operand.list                             ? static_cast<uint32_t>(*w++)
                           : operand.kind == OperandKind::immediate ? 2
                                                                    : 1;
    for (uint32_t item = 0; item < count; ++item, ++w) {
      // What a builtin writes into is the first list.
      const bool result = operand.kind == OperandKind::objectWrite || (isBuiltin && i == 1);
      if (result || operand.kind == OperandKind::objectRead) (result ? written : read).push_back(V_[*w]);
    }
  }
  const Program& program = module_.program();
  const auto index = static_cast<size_t>(at[1]);
  // A kernel writes the last of its buffers.
  const size_t outputs = isBuiltin ? 0 : std::min<size_t>(program.kernels[index].outputCount, read.size());
  written.insert(written.end(), read.end() - static_cast<ptrdiff_t>(outputs), read.end());
  read.resize(read.size() - outputs);
  const bool multiplies = isBuiltin && multipliesByWeights(program.builtins[index]);
  profile_.levels().addOperands(written, read, multiplies ? 1 : read.size());
}

// The words of a call: the builtin, then its lists: results, arguments, scalars, numbers.
void Interpreter::noteTables(const int32_t* at) {
  const int32_t *results = at + 2, *numbers = results;
  for (int skipped = 0; skipped < 3; ++skipped) numbers += 1 + *numbers;
  std::vector<Object*> made;
  for (int32_t i = 0; i < *results; ++i) made.push_back(V_[results[1 + i]]);
  profile_.levels().addTables({frames_.size(), frames_.back().function, positionOf(at), at[1]}, made,
                              {numbers + 1, static_cast<size_t>(*numbers)}, version_);
}

}  // namespace dyn::vm
