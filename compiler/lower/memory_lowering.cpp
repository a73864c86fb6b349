// Memory: tensors made, viewed, copied between host and device, given back.
#include <algorithm>

#include "compiler/lower/host_lowering.h"
#include "compiler/lower/shape_program.h"
#include "compiler/ops/device_ops.h"
#include "compiler/ops/op_table.h"
#include "compiler/target/device_kind.h"

namespace dyn {

using vm::Opcode;
using vm::OperandList;

namespace {

const Op* writerOf(const LoweredBody& body, ValueId destination) {
  for (size_t i = body.next; i < body.function->ops.size(); ++i) {
    const Op* op = body.function->ops[i];
    if (op->def == &ops::intoOp &&
        std::find(op->operands.begin(), op->operands.end(), destination) != op->operands.end())
      return op;
  }
  return nullptr;
}

Status lowerAlloc(FunctionLowering& c, const Op& op, LoweredBody& body) {
  const ValueDef& result = op.results[0];
  bool bound = true;
  for (SymbolId s : symbolsOf(result.type)) bound &= c.dims().bound(s);
  if (!bound) {
    // The size depends on values: the rule of the operation that will write here computes it from its
    // operands.
    const Op* into = writerOf(body, result.id);
    if (!into) return makeError(DiagnosticId::internalError, "no operation writes an alloc");
    std::unordered_map<ValueId, ValueId> outer;
    const Function& kernel = *into->regions[0];
    for (size_t i = 0; i < kernel.parameters.size(); ++i) outer[kernel.parameters[i].id] = into->operands[i];
    for (const Op* inner : kernel.ops) {
      c.setTypesOfResults(*inner);
      DYN_CHECK(runShapeProgram(c, *inner, outer));
    }
  }
  DYN_TRY(std::vector<int32_t> shape, c.shapeRegisters(result.type.dims()));
  const int32_t dtype = static_cast<int32_t>(result.type.dtype());
  const bool device = isForDevice(op);
  if (device) c.setOnDevice(result.id);
  if (op.operands.empty()) {
    c.emit(Opcode::newTensor, c.define(result.id), dtype,
           device ? c.program().deviceNumber() : vm::kHostDevice, OperandList(shape));
    return {};
  }
  if (op.attributes.integer("reuse") != 0) {
    DYN_TRY(int32_t old, c.object(op.operands[0]));
    c.emit(Opcode::reuseTensor, c.define(result.id), old, dtype,
           device ? c.program().deviceNumber() : vm::kHostDevice, OperandList(shape));
    return {};
  }
  DYN_TRY(int32_t arena, c.object(op.operands[0]));
  DYN_TRY(int32_t offset, c.dims().emit(op.attributes.dims("offset").at(0)));
  c.emit(Opcode::allocTensor, c.define(result.id), arena, offset, dtype, OperandList(shape));
  return {};
}

Status lowerArena(FunctionLowering& c, const Op& op, LoweredBody&) {
  DYN_TRY(int32_t bytes, c.dims().emit(op.results[0].type.dims()[0]));
  c.emit(Opcode::allocStorage, c.define(op.results[0].id), bytes,
         isForDevice(op) ? c.program().deviceNumber() : vm::kHostDevice);
  return {};
}

Status lowerKill(FunctionLowering& c, const Op& op, LoweredBody&) {
  c.killOwn(op.operands[0]);
  return {};
}

Status lowerView(FunctionLowering& c, const Op& op, LoweredBody&) {
  DYN_CHECK(runShapeProgram(c, op, {}));
  DYN_TRY(int32_t from, c.object(op.operands[0]));
  if (c.isOnDevice(op.operands[0])) c.setOnDevice(op.results[0].id);
  const Type type = op.results[0].type;
  if (!type.isTensor()) {
    c.emit(Opcode::moveObject, c.define(op.results[0].id), from);
    return {};
  }
  DYN_TRY(std::vector<int32_t> shape, c.shapeRegisters(type.dims()));
  c.emit(Opcode::reshapeTensor, c.define(op.results[0].id), from, OperandList(shape));
  return {};
}

Status lowerStrided(FunctionLowering& c, const Op& op, LoweredBody&) {
  DYN_TRY(int32_t from, c.object(op.operands[0]));
  DYN_TRY(int32_t offset, c.dims().emit(op.attributes.dims("offset").at(0)));
  DYN_TRY(std::vector<int32_t> shape, c.shapeRegisters(op.results[0].type.dims()));
  DYN_TRY(std::vector<int32_t> strides, c.shapeRegisters(op.attributes.dims("strides")));
  c.emit(Opcode::stridedView, c.define(op.results[0].id), from, offset, OperandList(shape),
         OperandList(strides));
  return {};
}

Status lowerDeviceCopy(FunctionLowering& c, const Op& op, LoweredBody&) {
  const ValueId from = op.operands[0], to = op.results[0].id;
  const bool toDevice = op.attributes.string("to") != deviceTable().front().name;
  if (toDevice) c.setOnDevice(to);
  if (const FunctionLowering::Lazy* known = c.lazy(from)) {
    // Made where somebody reads its bytes; its contents are known all the same.
    FunctionLowering::Lazy copy = *known;
    if (toDevice) copy.copyOf = from;
    c.setLazy(to, copy);
    return {};
  }
  DYN_TRY(int32_t source, c.object(from));
  c.emit(Opcode::deviceCopy, c.define(to), source, toDevice ? vm::kHostDevice : c.program().deviceNumber(),
         toDevice ? c.program().deviceNumber() : vm::kHostDevice);
  return {};
}

}  // namespace

std::span<const HostRow> memoryRows() {
  static constexpr HostRow kRows[] = {
      {&ops::allocOp, lowerAlloc},     {&ops::arenaOp, lowerArena},
      {&ops::killOp, lowerKill},       {&ops::device_copyOp, lowerDeviceCopy},
      {&ops::reshapeOp, lowerView},    {&ops::squeezeOp, lowerView},
      {&ops::unsqueezeOp, lowerView},  {&ops::identityOp, lowerView},
      {&ops::stridedOp, lowerStrided},
  };
  return kRows;
}

}  // namespace dyn
