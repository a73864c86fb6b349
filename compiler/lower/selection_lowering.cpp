// Operations on a device whose result is as long as values decide: count there, take the one number that the
// host needs for the size, then write.
#include "compiler/lower/function_lowering.h"
#include "compiler/ops/statements/selection_kernel.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

Status FunctionLowering::launchStatements(StatementKernel made, const Op& op,
                                          const std::vector<int32_t>& memories,
                                          std::span<const int32_t> outputs) {
  DYN_TRY(Launch ready, prepare(made.kernel, {}));
  std::vector<int32_t> buffers;
  size_t next = 0;
  for (int operand : made.operands) {
    if (operand < 0) {
      buffers.push_back(memories.at(next++));
      continue;
    }
    DYN_TRY(int32_t object, objectOn(true, op.operands[static_cast<size_t>(operand)]));
    buffers.push_back(object);
  }
  buffers.insert(buffers.end(), outputs.begin(), outputs.end());
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
  for (ValueId v : op.operands) request.operandTypes.push_back(typeOf(v));
  request.contents = [&](int i) { return contents(op.operands[static_cast<size_t>(i)]); };
  DYN_TRY(SelectionKernels kernels, makeSelectionKernels(request));
  const auto made = [&](Dtype dtype, const Shape& shape, int32_t object) -> Status {
    DYN_TRY(std::vector<int32_t> sizes, shapeRegisters(shape));
    code_.emit(Opcode::newTensor, object, static_cast<int32_t>(dtype), vm::kCudaDevice, OperandList(sizes));
    return {};
  };
  const int32_t counts = newObject(), total = newObject(), onHost = newObject();
  DYN_CHECK(made(Dtype::i64, {kernels.length}, counts));
  DYN_CHECK(made(Dtype::i64, {module_.context->dims().constant(1)}, total));
  const int32_t outputs[] = {counts, total};
  DYN_CHECK(launchStatements(std::move(kernels.counts), op, {}, outputs));
  code_.emit(Opcode::deviceCopy, onHost, total, vm::kCudaDevice, vm::kHostDevice);
  if (!dims_.bound(kernels.count.symbol())) {
    const int32_t count = dims_.newScalar();
    code_.emit(Opcode::item, count, onHost, dims_.emitConstant(0));
    dims_.bind(kernels.count.symbol(), count);
  }
  const int32_t result = define(op.results[0].id);
  onDevice_.insert(op.results[0].id);
  DYN_CHECK(made(op.results[0].type.dtype(), op.results[0].type.dims(), result));
  DYN_CHECK(launchStatements(std::move(kernels.chosen), op, {counts}, std::span(&result, 1)));
  for (int32_t object : {counts, total, onHost}) {
    code_.emit(Opcode::kill, object);
    freeObjects_.push_back(object);
  }
  return {};
}

}  // namespace dyn
