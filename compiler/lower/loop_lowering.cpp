// Loops as jumps in the function around them.
//
//   carried := initial; iteration := 0; condition := first
//   head: jump to end unless iteration < trip and condition
//         the region; the condition, the scanned and the carried values of its results
//         iteration := iteration + 1; jump to head
//   end:  the scanned values are stacked
#include <algorithm>
#include <memory>

#include "compiler/lower/host_lowering.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Immediate;
using vm::Label;
using vm::Opcode;
using vm::OperandList;

namespace {

// Registers and labels that the tasks of one loop share.
struct LoopRegisters {
  explicit LoopRegisters(const Op& loop)
      : op(loop),
        region(*loop.regions[0]),
        carriedCount(static_cast<size_t>(loop.attributes.integer("carried"))) {}

  ValueId initial(size_t k) const { return op.operands[2 + k]; }
  size_t scanCount() const { return op.results.size() - carriedCount; }
  const ValueDef& scanned(size_t k) const { return op.results[carriedCount + k]; }

  const Op& op;
  const Function& region;
  const size_t carriedCount;
  Label head, end;
  int32_t trip = -1, iteration = -1, condition = -1;
  std::vector<int32_t> carried, scans;
};

// Does nobody but the loop's first iteration read that operand? Then the iteration may work in its memory.
bool isHandedOver(FunctionLowering& c, const Op& loop, ValueId operand, const LoweredBody& body) {
  if (c.isBorrowed(operand) || std::count(loop.operands.begin(), loop.operands.end(), operand) != 1)
    return false;
  const std::vector<const Op*>& ops = body.function->ops;
  for (size_t i = body.next; i < ops.size() && ops[i]->def == &ops::killOp; ++i)
    if (ops[i]->operands[0] == operand) return true;
  return false;
}

// --- before the loop

Status startCounting(FunctionLowering& c, LoopRegisters& loop) {
  const ValueId trip = loop.op.operands[0], condition = loop.op.operands[1];
  if (trip != kNoValue) {
    DYN_TRY(loop.trip, c.element(trip, 0));
  }
  if (condition != kNoValue) {
    DYN_TRY(int32_t first, c.element(condition, 0));
    loop.condition = c.dims().newScalar();
    c.emit(Opcode::move, loop.condition, first);
  } else {
    loop.condition = c.dims().emitConstant(1);
  }
  loop.iteration = c.dims().newScalar();
  c.emit(Opcode::constInt, loop.iteration, Immediate{0});
  return {};
}

Status startCarried(FunctionLowering& c, LoopRegisters& loop, const LoweredBody& body) {
  for (size_t k = 0; k < loop.carriedCount; ++k) {
    const ValueId value = loop.initial(k);
    DYN_TRY(int32_t initial, c.object(value));
    loop.carried.push_back(c.define(loop.op.results[k].id));
    c.emit(Opcode::moveObject, loop.carried[k], initial);
    if (c.isOnDevice(value)) {
      c.setOnDevice(loop.op.results[k].id);
      c.setOnDevice(loop.region.parameters[1 + k].id);
    }
    if (isHandedOver(c, loop.op, value, body)) c.killOwn(value);
  }
  return {};
}

void startScans(FunctionLowering& c, LoopRegisters& loop) {
  for (size_t k = 0; k < loop.scanCount(); ++k) {
    loop.scans.push_back(c.newObject());
    c.emit(Opcode::makeList, loop.scans[k], OperandList());
  }
}

// Captured values of known contents are made once, before the loop, not in every iteration.
Status makeCaptured(FunctionLowering& c, const LoopRegisters& loop) {
  for (size_t k = 2 + loop.carriedCount; k < loop.op.operands.size(); ++k) {
    const ValueId captured = loop.op.operands[k];
    if (c.constant(captured) && !c.contents(captured)) DYN_CHECK(c.makeOnce(captured));
  }
  return {};
}

// --- an iteration

// The head and the region's parameters.
Status enterIteration(FunctionLowering& c, const LoopRegisters& loop) {
  c.code().bind(loop.head);
  if (loop.trip >= 0) {
    const int32_t inside = c.dims().newScalar();
    c.emit(Opcode::less, inside, loop.iteration, loop.trip);
    c.emit(Opcode::jumpIfNot, inside, loop.end);
  }
  c.emit(Opcode::jumpIfNot, loop.condition, loop.end);
  c.openScope();
  for (size_t i = 0; i < loop.region.parameters.size(); ++i) {
    const Parameter& p = loop.region.parameters[i];
    c.setType(p.id, p.type);
    if (i == 0) {
      c.setLazy(p.id, {.scalar = loop.iteration});
      continue;
    }
    c.borrow(p.id);
    if (i > loop.carriedCount) {
      DYN_CHECK(c.bindCapture(p, loop.op.operands[i + 1]));
      continue;
    }
    c.alias(p.id, loop.carried[i - 1]);
    c.setCarried(p.id);
    DYN_CHECK(c.bindFromObject(p.type, loop.carried[i - 1]));
  }
  return {};
}

Status takeCondition(FunctionLowering& c, const LoopRegisters& loop) {
  const std::vector<ValueId>& results = loop.region.results;
  DYN_TRY(int32_t next, c.element(results[0], 0));
  c.emit(Opcode::move, loop.condition, next);
  // The condition may be carried or stacked too.
  if (std::count(results.begin() + 1, results.end(), results[0]) == 0) c.killOwn(results[0]);
  return {};
}

Status takeScanned(FunctionLowering& c, const LoopRegisters& loop) {
  for (size_t k = 0; k < loop.scans.size(); ++k) {
    DYN_TRY(int32_t item, c.object(loop.region.results[1 + loop.carriedCount + k]));
    c.emit(Opcode::listInsert, loop.scans[k], loop.scans[k], item, loop.iteration);
  }
  return {};
}

// All new carried values are collected before any is overwritten: the body may have swapped them.
Status takeCarried(FunctionLowering& c, const LoopRegisters& loop) {
  const std::vector<ValueId>& results = loop.region.results;
  std::vector<int32_t> fresh;
  for (size_t k = 0; k < loop.carriedCount; ++k) {
    DYN_TRY(int32_t value, c.object(results[1 + k]));
    fresh.push_back(c.newObject());
    c.emit(Opcode::moveObject, fresh.back(), value);
  }
  for (size_t i = 1; i < results.size(); ++i) c.killOwn(results[i]);
  for (size_t k = 0; k < loop.carriedCount; ++k) {
    c.emit(Opcode::moveObject, loop.carried[k], fresh[k]);
    c.kill(fresh[k]);
  }
  return {};
}

Status finishIteration(FunctionLowering& c, const LoopRegisters& loop) {
  if (c.ended()) return makeError(DiagnosticId::internalError, "a tail call inside a loop");
  DYN_CHECK(takeCondition(c, loop));
  DYN_CHECK(takeScanned(c, loop));
  DYN_CHECK(takeCarried(c, loop));
  c.emit(Opcode::addImmediate, loop.iteration, loop.iteration, Immediate{1});
  c.emit(Opcode::jump, loop.head);
  return {};
}

// --- behind the loop

// The shape of one scanned value. A dim that only an iteration could tell is 0 when there was none.
Result<std::vector<int32_t>> scannedShape(FunctionLowering& c, Type stacked) {
  std::vector<int32_t> shape;
  for (int axis = 1; axis < stacked.rank(); ++axis) {
    const Dim d = stacked.dims()[axis];
    if (!c.dims().computable(d)) {
      shape.push_back(c.dims().emitConstant(0));
      continue;
    }
    DYN_TRY(int32_t scalar, c.dims().emit(d));
    shape.push_back(scalar);
  }
  return shape;
}

Status stackScanned(FunctionLowering& c, const LoopRegisters& loop, size_t k) {
  const ValueDef& result = loop.scanned(k);
  DYN_TRY(const std::vector<int32_t> elementShape, scannedShape(c, result.type));
  const int32_t stacked = c.define(result.id);
  // No iteration: nothing to stack, but the shape is known all the same.
  const Label some = c.code().newLabel(), done = c.code().newLabel();
  c.emit(Opcode::jumpIf, loop.iteration, some);
  std::vector<int32_t> emptyShape{c.dims().emitConstant(0)};
  emptyShape.insert(emptyShape.end(), elementShape.begin(), elementShape.end());
  c.emit(Opcode::newTensor, stacked, static_cast<int32_t>(result.type.dtype()), vm::kHostDevice,
         OperandList(emptyShape));
  c.emit(Opcode::jump, done);
  c.code().bind(some);
  const int32_t axis = c.dims().emitConstant(0);
  c.emit(Opcode::callBuiltin, c.program().builtin(calls::ListStack::kRow), OperandList{stacked},
         OperandList{loop.scans[k]}, OperandList{axis}, OperandList());
  c.code().bind(done);
  c.kill(loop.scans[k]);
  return c.bindFromObject(result.type, stacked);
}

Status leaveLoop(FunctionLowering& c, const LoopRegisters& loop) {
  c.setEnded(false);
  c.code().bind(loop.end);
  for (size_t k = 0; k < loop.carriedCount; ++k)
    DYN_CHECK(c.bindFromObject(loop.op.results[k].type, loop.carried[k]));
  for (size_t k = 0; k < loop.scans.size(); ++k) DYN_CHECK(stackScanned(c, loop, k));
  return {};
}

Status lowerLoop(FunctionLowering& c, const Op& op, LoweredBody& body) {
  auto loop = std::make_shared<LoopRegisters>(op);
  loop->head = c.code().newLabel();
  loop->end = c.code().newLabel();
  DYN_CHECK(startCounting(c, *loop));
  DYN_CHECK(startCarried(c, *loop, body));
  startScans(c, *loop);
  DYN_CHECK(makeCaptured(c, *loop));
  c.push([&c, loop] { return leaveLoop(c, *loop); });
  c.pushRegion(loop->region, false, [&c, loop] { return finishIteration(c, *loop); });
  return enterIteration(c, *loop);
}

}  // namespace

std::span<const HostRow> loopRows() {
  static constexpr HostRow kRows[] = {
      {&ops::loopOp, lowerLoop},
  };
  return kRows;
}

}  // namespace dyn
