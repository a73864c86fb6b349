// Interpreter: kernels and builtins are called, and what the profile says of them.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "vm/base/checked.h"
#include "vm/base/clock.h"
#include "vm/core/interpreter.h"
#include "vm/isa/instruction_reader.h"

namespace dyn::vm {
namespace {

const char* kernelFaultText(int32_t code) {
  switch (code) {
    case DYN_KERNEL_INDEX_OUT_OF_RANGE:
      return "index out of range";
    case DYN_KERNEL_DIVISION_BY_ZERO:
      return "division by zero";
    case DYN_KERNEL_BAD_VALUE:
      return "bad value";
    default:
      return "fault";
  }
}

struct LaunchWork {
  DynKernelFunction function;
  void* const* buffers;
  const int64_t* scalars;
  int64_t extent, tasks, unitsPerPiece;
  std::byte* scratch;
  uint64_t scratchBytes;
  const std::atomic<uint32_t>* trapBits;
  std::atomic<int32_t> fault{0};

  static void runTask(void* argument, uint32_t task) {
    auto& work = *static_cast<LaunchWork*>(argument);
    const int64_t base = work.extent / work.tasks, more = work.extent % work.tasks;
    int64_t begin = base * task + std::min<int64_t>(task, more);
    const int64_t end = begin + base + (task < more ? 1 : 0);
    void* scratch = work.scratchBytes ? work.scratch + work.scratchBytes * task : nullptr;
    while (begin < end) {
      const int64_t pieceEnd = end - begin > work.unitsPerPiece ? begin + work.unitsPerPiece : end;
      const int32_t result = work.function(work.buffers, work.scalars, begin, pieceEnd, scratch);
      if (result != DYN_KERNEL_OK) {
        work.fault.store(result, std::memory_order_relaxed);
        return;
      }
      begin = pieceEnd;
      // A cancelled run ends at the next trap point; what this kernel leaves undone is never seen.
      if (begin < end && (work.trapBits->load(std::memory_order_relaxed) & 1)) return;
    }
  }
};

}  // namespace

bool Interpreter::launch(uint32_t kernelIndex, int64_t extent, int64_t steps, const int32_t* buffers,
                         const int64_t* scalars) {
  const KernelRow& kernel = program_.kernels[kernelIndex];
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
    wanted |= i + kernel.outputCount >= kernel.bufferCount && tensor->elementCount > 0;
    const int32_t here = tensor->storage && tensor->elementCount > 0 ? tensor->storage->device : device;
    if (device >= 0 && here != device)
      return fault(DYN_CHECK_FAILED, "kernel " + kernel.name + ": buffers are on different devices");
    device = here;
    buffers_[i] = tensor->data;
  }
  if (!wanted) return true;
  ++launches_;

  int64_t tasks = options_.threads ? options_.threads->threadCount() : 1;
  tasks = std::max<int64_t>(1, std::min({tasks, extent, steps / kMinimumStepsPerTask}));
  LaunchWork work{};
  work.function = module_.kernels()[kernelIndex];
  work.buffers = buffers_.data();
  work.scalars = scalars;
  work.extent = extent;
  work.tasks = tasks;
  const int64_t stepsPerUnit = std::max<int64_t>(1, steps / extent);
  work.unitsPerPiece = std::max<int64_t>(1, kStepsPerPiece / stepsPerUnit);
  work.trapBits = &trapBits_;
  work.scratchBytes = (kernel.scratchBytes + 63) / 64 * 64;
  if (work.scratchBytes > 0) {
    dyn_status why = DYN_OK;
    int64_t total = 0;
    if (work.scratchBytes <= INT64_MAX && checkedMul(static_cast<int64_t>(work.scratchBytes), tasks, total))
      work.scratch = static_cast<std::byte*>(
          options_.pool->allocate(static_cast<uint64_t>(total), why, MemoryUse::data));
    if (!work.scratch) return memoryFault(why == DYN_OK ? DYN_OUT_OF_MEMORY : why, work.scratchBytes);
  }
  if (options_.rehearsal) {
    options_.pool->deallocate(work.scratch);
    return true;
  }
  if (tasks == 1)
    LaunchWork::runTask(&work, 0);
  else
    options_.threads->run(static_cast<uint32_t>(tasks), LaunchWork::runTask, &work);
  options_.pool->deallocate(work.scratch);
  if (const int32_t code = work.fault.load(); code != DYN_KERNEL_OK)
    return fault(DYN_KERNEL_FAULT, "kernel " + kernel.name + ": " + kernelFaultText(code));
  if (trapBits_.load(std::memory_order_relaxed) & kCancel)
    return fault(DYN_CANCELLED, "the run was cancelled");
  return true;
}

bool Interpreter::callBuiltin(uint32_t index, bool into, WordList results, WordList arguments,
                              std::span<const int64_t> scalars, WordList numbers) {
  const BuiltinRow& builtin = *module_.builtins()[index];
  builtinArguments_.clear();
  for (uint32_t i = 0; i < arguments.count; ++i) {
    Object* object = V_[arguments.items[i]];
    if (object && object->kind == ObjectKind::tensor) {
      const auto* tensor = static_cast<Tensor*>(object);
      if (tensor->storage && tensor->storage->device != 0)
        return fault(DYN_CHECK_FAILED,
                     std::string(builtin.name) + ": argument " + std::to_string(i) + " is not on the cpu");
      if (!tensor->isDense() && i >= builtin.stridedArguments() && !isDense(tensor, builtin.name))
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
          !static_cast<Tensor*>(object)->isDense())
        return fault(DYN_CHECK_FAILED, std::string(builtin.name) + ": result " + std::to_string(i) +
                                           " must be a writable dense tensor, it is " +
                                           (object && object->readOnly ? "read-only " : "") +
                                           describe(object));
    }
    builtinResults_.push_back(object);
  }

  const bool asked = (trapBits_.load(std::memory_order_relaxed) & kProfile) != 0;
  if (asked) version_.clear();
  host_.setVersion(asked ? &version_ : nullptr);
  BuiltinCall call(host_);
  call.pool = options_.pool;
  if (builtin.is(BuiltinRow::kGemmFamily)) call.gemmFamily = module_.gemmFamily();
  call.arguments = builtinArguments_;
  call.results = builtinResults_;
  call.into = into;
  call.scalars = scalars;
  call.numbers = {numbers.items, numbers.count};
  call.rehearsal = options_.rehearsal;
  if (bindActive_ && !into)
    call.bound = [this](DataType dtype, std::span<const int64_t> shape, int64_t count, dyn_status& why) {
      return inBoundMemory(dtype, shape, count, why);
    };
  ++launches_;
  if (options_.rehearsal && !builtin.isFlat() && !builtin.is(BuiltinRow::kRehearsed))
    return rehearsalEnds(std::string(builtin.name));
  Status status = runBuiltin(builtin, call);
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
  const uint64_t endNs = nowNs();
  uint64_t bytes = 0;
  const ProfileOperands operands = operandsOf(at, bytes);
  if (kind == ProfileKind::allocation && static_cast<Opcode>(*at) == Opcode::allocStorage)
    bytes = static_cast<Storage*>(V_[at[1]])->sizeBytes;
  profile_.record({kind, frames_.back().function, positionOf(at), index, beginNs - profile_.startNs(),
                   endNs - beginNs, bytes},
                  operands);
  if (kind == ProfileKind::builtin && !version_.empty()) profile_.nameVersion(version_);
}

}  // namespace dyn::vm
