// Operations on a device whose results are as long as values decide: count there, take the one number that
// the host needs for the sizes, then write.
#include "compiler/lower/function_lowering.h"
#include "compiler/ops/statements/selection_kernel.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

Status FunctionLowering::launchStep(SelectionStep step, const Op& op, std::span<const int32_t> memories,
                                    std::span<const int32_t> results) {
  StatementKernel& made = step.kernel;
  DYN_TRY(Launch ready, prepare(made.kernel, {}));
  std::vector<int32_t> buffers;
  size_t next = 0;
  for (int operand : made.operands) {
    if (operand < 0) {
      buffers.push_back(memories[step.reads.at(next++)]);
      continue;
    }
    DYN_TRY(int32_t object, objectOn(true, op.operands[static_cast<size_t>(operand)]));
    buffers.push_back(object);
  }
  for (size_t memory : step.writes) buffers.push_back(memories[memory]);
  buffers.insert(buffers.end(), results.begin(), results.end());
  const int32_t kernel = program_.kernel(std::move(made.kernel));
  program_.runsOnDevice(kernel);
  code_.emit(Opcode::launch, kernel, ready.units, ready.steps, OperandList(buffers),
             OperandList(ready.scalars));
  return {};
}

Status FunctionLowering::lowerSelection(const Op& op) {
  StatementRequest request{.op = op,
                           .dims = module_.context->dims(),
                           .facts = facts_,
                           .name = std::string(op.def->name),
                           .description = "loop on cuda, 1 operation"};
  for (ValueId v : op.operands) request.operandTypes.push_back(v == kNoValue ? Type() : typeOf(v));
  request.contents = [&](int i) { return contents(op.operands[static_cast<size_t>(i)]); };
  DYN_TRY(SelectionKernels kernels, makeSelectionKernels(request));
  const auto made = [&](Dtype dtype, const Shape& shape, int32_t object) -> Status {
    DYN_TRY(std::vector<int32_t> sizes, shapeRegisters(shape));
    code_.emit(Opcode::newTensor, object, static_cast<int32_t>(dtype), vm::kCudaDevice, OperandList(sizes));
    return {};
  };
  std::vector<int32_t> memories;
  for (const SelectionKernels::Memory& memory : kernels.memories) {
    memories.push_back(newObject());
    DYN_CHECK(made(memory.dtype, memory.shape, memories.back()));
  }
  for (SelectionStep& step : kernels.counting) DYN_CHECK(launchStep(std::move(step), op, memories, {}));
  const int32_t onHost = newObject();
  code_.emit(Opcode::deviceCopy, onHost, memories[kernels.total], vm::kCudaDevice, vm::kHostDevice);
  if (!dims_.bound(kernels.count.symbol())) {
    const int32_t count = dims_.newScalar();
    code_.emit(Opcode::item, count, onHost, dims_.emitConstant(0));
    dims_.bind(kernels.count.symbol(), count);
  }
  std::vector<int32_t> results;
  for (const ValueDef& result : op.results) {
    results.push_back(define(result.id));
    onDevice_.insert(result.id);
    DYN_CHECK(made(result.type.dtype(), result.type.dims(), results.back()));
  }
  DYN_CHECK(launchStep(std::move(kernels.writing), op, memories, results));
  memories.push_back(onHost);
  for (int32_t object : memories) {
    code_.emit(Opcode::kill, object);
    freeObjects_.push_back(object);
  }
  return {};
}

}  // namespace dyn
