// Calls of functions and closures, and of the variants of a function.
#include "compiler/lower/host_lowering.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Label;
using vm::Opcode;
using vm::OperandList;

namespace {

Result<int32_t> calleeOf(FunctionLowering& c, const Op& op) {
  const std::string name = op.attributes.string("callee");
  const int32_t callee = c.program().functionIndex(name);
  if (callee < 0) return makeError(DiagnosticId::textName, "unknown function @" + name);
  return callee;
}

Status lowerCall(FunctionLowering& c, const Op& op, LoweredBody& body) {
  const bool direct = op.def == &ops::callOp;
  std::span<const ValueId> arguments(op.operands);
  int32_t closure = -1;
  if (!direct) {
    DYN_TRY(closure, c.object(op.operands[0]));
    arguments = arguments.subspan(1);
  }
  DYN_TRY(std::vector<int32_t> objects, c.objectsOf(arguments));
  int32_t callee = -1;
  if (direct) {
    DYN_TRY(callee, calleeOf(c, op));
    if (isTail(op, body)) {
      c.emit(Opcode::tailInvoke, callee, OperandList(objects));
      c.setEnded(true);
      return {};
    }
  }
  std::vector<int32_t> results;
  for (const ValueDef& r : op.results) results.push_back(c.define(r.id));
  if (direct)
    c.emit(Opcode::invoke, OperandList(results), callee, OperandList(objects));
  else
    c.emit(Opcode::invokeClosure, OperandList(results), closure, OperandList(objects));
  for (size_t i = 0; i < results.size(); ++i) DYN_CHECK(c.bindFromObject(op.results[i].type, results[i]));
  return {};
}

Status lowerVariant(FunctionLowering& c, const Op& op, LoweredBody&) {
  const Shape lhs = op.attributes.dims("lhs"), rhs = op.attributes.dims("rhs");
  const bool equal = op.attributes.string("relation") == "eq";
  DYN_TRY(int32_t callee, calleeOf(c, op));
  DYN_TRY(std::vector<int32_t> objects, c.objectsOf(op.operands));
  // Registers are filled ahead of the jumps: what is behind them finds them, too.
  std::vector<std::pair<int32_t, int32_t>> compared;
  for (size_t i = 0; i < lhs.size(); ++i) {
    DYN_TRY(int32_t a, c.dims().emit(lhs[i]));
    DYN_TRY(int32_t b, c.dims().emit(rhs.at(i)));
    compared.emplace_back(a, b);
  }
  const Label otherwise = c.code().newLabel();
  for (const auto& [a, b] : compared) {
    const int32_t holds = c.dims().newScalar();
    c.emit(equal ? Opcode::equal : Opcode::lessEqual, holds, a, b);
    c.emit(Opcode::jumpIfNot, holds, otherwise);
  }
  c.emit(Opcode::tailInvoke, callee, OperandList(objects));
  c.code().bind(otherwise);
  return {};
}

Status lowerClosure(FunctionLowering& c, const Op& op, LoweredBody&) {
  DYN_TRY(std::vector<int32_t> captures, c.objectsOf(op.operands));
  const int32_t callee = c.program().functionIndex(op.attributes.string("callee"));
  c.emit(Opcode::makeClosure, c.define(op.results[0].id), callee, OperandList(captures));
  return {};
}

}  // namespace

std::span<const HostRow> callRows() {
  static constexpr HostRow kRows[] = {
      {&ops::callOp, lowerCall},
      {&ops::invokeOp, lowerCall},
      {&ops::closureOp, lowerClosure},
      {&ops::variantOp, lowerVariant},
  };
  return kRows;
}

}  // namespace dyn
