#include "compiler/lower/selection_lowering.h"

#include "compiler/lower/kernel_lowering.h"
#include "compiler/ops/statements/selection_kernel.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

namespace {

// `memories`: the objects of SelectionKernels::memories.
Status launchStep(FunctionLowering& c, SelectionStep step, const Op& op, std::span<const int32_t> memories,
                  std::span<const int32_t> results) {
  StatementKernel& made = step.kernel;
  DYN_TRY(KernelLaunch ready, prepareLaunch(c, made.kernel, {}));
  std::vector<int32_t> buffers;
  size_t next = 0;
  for (int operand : made.operands) {
    if (operand < 0) {
      buffers.push_back(memories[step.reads.at(next++)]);
      continue;
    }
    DYN_TRY(int32_t object, c.objectOn(true, op.operands[static_cast<size_t>(operand)]));
    buffers.push_back(object);
  }
  for (size_t memory : step.writes) buffers.push_back(memories[memory]);
  buffers.insert(buffers.end(), results.begin(), results.end());
  const int32_t kernel = c.program().kernel(std::move(made.kernel));
  c.program().runsOnDevice(kernel);
  emitLaunch(c, kernel, ready, buffers);
  return {};
}

}  // namespace

Status lowerSelection(FunctionLowering& c, const Op& op) {
  StatementRequest request{.op = op,
                           .dims = c.ir().dims(),
                           .facts = c.facts(),
                           .name = std::string(op.def->name),
                           .description = c.program().onDevice("loop") + ", 1 operation"};
  for (ValueId v : op.operands) request.operandTypes.push_back(v == kNoValue ? Type() : c.typeOf(v));
  request.contents = [&](int i) { return c.contents(op.operands[static_cast<size_t>(i)]); };
  DYN_TRY(SelectionKernels kernels, makeSelectionKernels(request));
  const auto made = [&](Dtype dtype, const Shape& shape, int32_t object) -> Status {
    DYN_TRY(std::vector<int32_t> sizes, c.shapeRegisters(shape));
    c.emit(Opcode::newTensor, object, static_cast<int32_t>(dtype), c.program().deviceNumber(),
           OperandList(sizes));
    return {};
  };
  std::vector<int32_t> memories;
  for (const SelectionKernels::Memory& memory : kernels.memories) {
    memories.push_back(c.newObject());
    DYN_CHECK(made(memory.dtype, memory.shape, memories.back()));
  }
  for (SelectionStep& step : kernels.counting) DYN_CHECK(launchStep(c, std::move(step), op, memories, {}));
  const int32_t onHost = c.newObject();
  c.emit(Opcode::deviceCopy, onHost, memories[kernels.total], c.program().deviceNumber(), vm::kHostDevice);
  if (!c.dims().bound(kernels.count.symbol())) {
    const int32_t count = c.dims().newScalar();
    c.emit(Opcode::item, count, onHost, c.dims().emitConstant(0));
    c.dims().bind(kernels.count.symbol(), count);
  }
  std::vector<int32_t> results;
  for (const ValueDef& result : op.results) {
    results.push_back(c.define(result.id));
    c.setOnDevice(result.id);
    DYN_CHECK(made(result.type.dtype(), result.type.dims(), results.back()));
  }
  DYN_CHECK(launchStep(c, std::move(kernels.writing), op, memories, results));
  memories.push_back(onHost);
  for (int32_t object : memories) c.kill(object);
  return {};
}

}  // namespace dyn
