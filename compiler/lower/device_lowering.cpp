// Values in the memory of the target's device: copies where the pass `devices` put them, and of small values
// that a kernel turns out to read.
#include "compiler/lower/function_lowering.h"
#include "compiler/ops/device_ops.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

bool FunctionLowering::isOnDevice(const Op& op) { return op.attributes.has("device"); }

Status FunctionLowering::lowerDeviceCopy(const Op& op, Body&) {
  const ValueId from = op.operands[0], to = op.results[0].id;
  const bool toDevice = op.attributes.string("to") != "cpu";
  if (const auto known = lazy_.find(from); known != lazy_.end()) {
    // Made where somebody reads its bytes; its contents are known all the same.
    lazy_[to] = known->second;
    if (toDevice) lazy_[to].copyOf = from;
    if (toDevice) onDevice_.insert(to);
    return {};
  }
  DYN_TRY(int32_t source, object(from));
  code_.emit(Opcode::deviceCopy, define(to), source, toDevice ? vm::kHostDevice : vm::kCudaDevice,
             toDevice ? vm::kCudaDevice : vm::kHostDevice);
  if (toDevice) onDevice_.insert(to);
  return {};
}

Result<int32_t> FunctionLowering::objectOn(bool device, ValueId value) {
  if (const auto known = lazy_.find(value); known != lazy_.end() && known->second.copyOf != kNoValue)
    value = known->second.copyOf;
  else if (onDevice_.count(value) == (device ? 1u : 0u))
    return object(value);
  const bool isLazy = lazy_.count(value) > 0 && lazy_.at(value).copyOf == kNoValue;
  if (isLazy && !device) return object(value);
  const int32_t made = nextObject_++;  // lives as long as the function: never among the freed ones
  if (const HostTensor* tensor = isLazy ? constant(value) : nullptr) {
    code_.emit(Opcode::loadGlobal, made, program_.deviceGlobal(*tensor, module_.context->valueName(value)));
    return made;
  }
  DYN_TRY(int32_t source, object(value));
  code_.emit(Opcode::deviceCopy, made, source, device ? vm::kHostDevice : vm::kCudaDevice,
             device ? vm::kCudaDevice : vm::kHostDevice);
  return made;
}

}  // namespace dyn
