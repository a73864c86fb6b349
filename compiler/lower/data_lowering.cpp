// Tuples, values of data types, optionals and lists.
#include <algorithm>

#include "compiler/lower/host_lowering.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Label;
using vm::Opcode;
using vm::OperandList;

namespace {

// --- tuples, data types, optionals: objects with a tag

Status makeTuple(FunctionLowering& c, const Op& op, int32_t tag) {
  DYN_TRY(std::vector<int32_t> fields, c.objectsOf(op.operands));
  c.emit(Opcode::makeTuple, c.define(op.results[0].id), tag, OperandList(fields));
  return {};
}

Status lowerTuple(FunctionLowering& c, const Op& op, LoweredBody&) { return makeTuple(c, op, 0); }

Status lowerOptional(FunctionLowering& c, const Op& op, LoweredBody&) {
  return makeTuple(c, op, op.def == &ops::optional_someOp ? 1 : 0);
}

Status lowerConstruct(FunctionLowering& c, const Op& op, LoweredBody&) {
  const DataType* data = c.module().findData(op.results[0].type.dataName());
  if (!data) return makeError(DiagnosticId::internalError, "undeclared data type");
  const std::string constructor = op.attributes.string("constructor");
  int32_t tag = 0;
  for (size_t i = 0; i < data->constructors.size(); ++i)
    if (data->constructors[i].name == constructor) tag = static_cast<int32_t>(i);
  return makeTuple(c, op, tag);
}

Status lowerGet(FunctionLowering& c, const Op& op, LoweredBody&) {
  DYN_TRY(int32_t from, c.object(op.operands[0]));
  const int32_t result = c.define(op.results[0].id);
  if (op.def == &ops::optional_getOp && c.typeOf(op.operands[0]).kind() != TypeKind::optional)
    c.emit(Opcode::moveObject, result, from);  // a value as such
  else
    c.emit(Opcode::getField, result, from, static_cast<int32_t>(op.attributes.integer("index", 0)));
  return c.bindFromObject(op.results[0].type, result);
}

Status lowerHas(FunctionLowering& c, const Op& op, LoweredBody&) {
  const Type type = op.operands.empty() || op.operands[0] == kNoValue ? Type() : c.typeOf(op.operands[0]);
  int32_t tag;
  if (!type || type.kind() != TypeKind::optional) {
    tag = c.dims().emitConstant(type ? 1 : 0);  // left out, or a value as such
  } else {
    DYN_TRY(int32_t from, c.object(op.operands[0]));
    tag = c.dims().newScalar();
    c.emit(Opcode::getTag, tag, from);
  }
  c.emit(Opcode::fromScalar, c.define(op.results[0].id), static_cast<int32_t>(Dtype::boolean), tag);
  return {};
}

// --- lists

Status lowerList(FunctionLowering& c, const Op& op, LoweredBody&) {
  std::vector<int32_t> items;
  if (op.def == &ops::listOp) {
    DYN_TRY(items, c.objectsOf(op.operands));
  }
  c.emit(Opcode::makeList, c.define(op.results[0].id), OperandList(items));
  return {};
}

Status lowerListLength(FunctionLowering& c, const Op& op, LoweredBody&) {
  DYN_TRY(int32_t from, c.object(op.operands[0]));
  const int32_t length = c.dims().newScalar();
  c.emit(Opcode::listLength, length, from);
  c.emit(Opcode::fromScalar, c.define(op.results[0].id), static_cast<int32_t>(Dtype::i64), length);
  return {};
}

bool isReadLater(const Function& body, size_t next, ValueId value) {
  const auto reads = [value](const auto& values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (size_t i = next; i < body.ops.size(); ++i)
    if (body.ops[i]->def != &ops::killOp && reads(body.ops[i]->operands)) return true;
  return reads(body.results);
}

// The register of a list that is made from operand 0, which is in `from`. One that is not needed afterwards
// gives its own: the VM then changes it in place, unless somebody else holds it. Ten thousand insertions in a
// row copy nothing. Nor do a loop's: what it carries from iteration to iteration is overwritten at the end of
// the iteration, so that the last reader may take it away (`from` is the new register then).
int32_t defineChangedList(FunctionLowering& c, const Op& op, const LoweredBody& body, int32_t& from) {
  const ValueId list = op.operands[0];
  if (c.isCarried(list) && !isReadLater(*body.function, body.next, list)) {
    const int32_t to = c.define(op.results[0].id);
    c.emit(Opcode::moveObject, to, from);
    c.emit(Opcode::kill, from);
    return from = to;
  }
  const std::vector<const Op*>& ops = body.function->ops;
  bool last = false;
  for (size_t i = body.next; i < ops.size() && ops[i]->def == &ops::killOp; ++i)
    last |= ops[i]->operands[0] == list;
  if (!last || c.isBorrowed(list) || c.registerOf(list) != from) return c.define(op.results[0].id);
  c.handOver(list);
  c.alias(op.results[0].id, from);
  return from;
}

Status lowerListAt(FunctionLowering& c, const Op& op, LoweredBody& body) {
  DYN_TRY(int32_t from, c.object(op.operands[0]));
  int32_t position;
  if (op.operands.size() > 1 && op.operands[1] != kNoValue) {
    DYN_TRY(position, c.element(op.operands[1], 0));
  } else {
    position = c.dims().emitConstant(-1);
  }
  const bool reads = op.def == &ops::list_atOp;
  const int32_t result = reads ? c.define(op.results[0].id) : defineChangedList(c, op, body, from);
  c.emit(reads ? Opcode::listAt : Opcode::listErase, result, from, position);
  return c.bindFromObject(op.results[0].type, result);
}

Status lowerListInsert(FunctionLowering& c, const Op& op, LoweredBody& body) {
  DYN_TRY(int32_t from, c.object(op.operands[0]));
  DYN_TRY(int32_t item, c.object(op.operands[1]));
  const int32_t length = c.dims().newScalar();
  c.emit(Opcode::listLength, length, from);
  int32_t position = length;
  if (op.operands.size() > 2 && op.operands[2] != kNoValue) {
    DYN_TRY(int32_t wanted, c.element(op.operands[2], 0));
    // Negative positions count from the end.
    position = c.dims().newScalar();
    const int32_t negative = c.dims().newScalar(), zero = c.dims().emitConstant(0);
    c.emit(Opcode::move, position, wanted);
    c.emit(Opcode::less, negative, wanted, zero);
    const Label positive = c.code().newLabel();
    c.emit(Opcode::jumpIfNot, negative, positive);
    c.emit(Opcode::add, position, wanted, length);
    c.code().bind(positive);
  }
  const int32_t result = from == item ? c.define(op.results[0].id) : defineChangedList(c, op, body, from);
  c.emit(Opcode::listInsert, result, from, item, position);
  return {};
}

}  // namespace

std::span<const HostRow> dataRows() {
  static constexpr HostRow kRows[] = {
      {&ops::tupleOp, lowerTuple},
      {&ops::tuple_getOp, lowerGet},
      {&ops::constructOp, lowerConstruct},
      {&ops::optional_someOp, lowerOptional},
      {&ops::optional_noneOp, lowerOptional},
      {&ops::optional_getOp, lowerGet},
      {&ops::optional_hasOp, lowerHas},
      {&ops::listOp, lowerList},
      {&ops::list_ofOp, lowerList},
      {&ops::list_lengthOp, lowerListLength},
      {&ops::list_atOp, lowerListAt},
      {&ops::list_eraseOp, lowerListAt},
      {&ops::list_insertOp, lowerListInsert},
      {&ops::list_appendOp, lowerListInsert},
  };
  return kRows;
}

}  // namespace dyn
