// What the host program does itself, one function an operator: shapes, dims, memory, tuples, lists, control
// flow, calls.
#include <algorithm>
#include <unordered_map>

#include "compiler/infer/infer.h"
#include "compiler/lower/function_lowering.h"
#include "compiler/ops/device_ops.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using vm::Label;
using vm::Opcode;
using vm::OperandList;

FunctionLowering::HostLowering FunctionLowering::hostLoweringOf(const OpDef& def) {
  using F = FunctionLowering;
  static const std::unordered_map<const OpDef*, HostLowering> kRows = {
      // memory and kernels
      {&ops::allocOp, &F::lowerAlloc},
      {&ops::arenaOp, &F::lowerArena},
      {&ops::killOp, &F::lowerKill},
      {&ops::device_copyOp, &F::lowerDeviceCopy},
      {&ops::intoOp, &F::lowerInto},
      {&ops::reshapeOp, &F::lowerView},
      {&ops::squeezeOp, &F::lowerView},
      {&ops::unsqueezeOp, &F::lowerView},
      {&ops::identityOp, &F::lowerView},
      {&ops::stridedOp, &F::lowerStrided},
      // dims
      {&ops::checkOp, &F::lowerCheck},
      {&ops::bind_dimsOp, &F::lowerBindDims},
      {&ops::shapeOp, &F::lowerShape},
      {&ops::sizeOp, &F::lowerShape},
      // control flow and calls
      {&ops::variantOp, &F::lowerVariant},
      {&ops::ifOp, &F::lowerIf},
      {&ops::loopOp, &F::lowerLoop},
      {&ops::matchOp, &F::lowerMatch},
      {&ops::callOp, &F::lowerCall},
      {&ops::invokeOp, &F::lowerCall},
      {&ops::closureOp, &F::lowerClosure},
      // tuples, data types, optionals
      {&ops::tupleOp, &F::lowerTuple},
      {&ops::tuple_getOp, &F::lowerGet},
      {&ops::constructOp, &F::lowerConstruct},
      {&ops::optional_someOp, &F::lowerOptional},
      {&ops::optional_noneOp, &F::lowerOptional},
      {&ops::optional_getOp, &F::lowerGet},
      {&ops::optional_hasOp, &F::lowerHas},
      // lists
      {&ops::listOp, &F::lowerList},
      {&ops::list_ofOp, &F::lowerList},
      {&ops::list_lengthOp, &F::lowerListLength},
      {&ops::list_atOp, &F::lowerListAt},
      {&ops::list_eraseOp, &F::lowerListAt},
      {&ops::list_insertOp, &F::lowerListInsert},
      {&ops::list_appendOp, &F::lowerListInsert},
  };
  const auto row = kRows.find(&def);
  return row == kRows.end() ? nullptr : row->second;
}

Status FunctionLowering::lowerArena(const Op& op, Body&) {
  DYN_TRY(int32_t bytes, dims_.emit(op.results[0].type.dims()[0]));
  code_.emit(Opcode::allocStorage, define(op.results[0].id), bytes,
             isOnDevice(op) ? vm::kCudaDevice : vm::kHostDevice);
  return {};
}

Status FunctionLowering::lowerKill(const Op& op, Body&) {
  auto it = objects_.find(op.operands[0]);
  if (it == objects_.end() || borrowed_.count(op.operands[0])) return {};
  code_.emit(Opcode::kill, it->second);
  freeObjects_.push_back(it->second);
  objects_.erase(it);
  return {};
}

Status FunctionLowering::lowerView(const Op& op, Body&) {
  DYN_CHECK(ensureBound(op));
  DYN_TRY(int32_t from, object(op.operands[0]));
  if (onDevice_.count(op.operands[0])) onDevice_.insert(op.results[0].id);
  const Type type = op.results[0].type;
  if (!type.isTensor()) {
    code_.emit(Opcode::moveObject, define(op.results[0].id), from);
    return {};
  }
  DYN_TRY(std::vector<int32_t> shape, shapeRegisters(type.dims()));
  code_.emit(Opcode::reshapeTensor, define(op.results[0].id), from, OperandList(shape));
  return {};
}

Status FunctionLowering::lowerStrided(const Op& op, Body&) {
  DYN_TRY(int32_t from, object(op.operands[0]));
  DYN_TRY(int32_t offset, dims_.emit(op.attributes.dims("offset").at(0)));
  DYN_TRY(std::vector<int32_t> shape, shapeRegisters(op.results[0].type.dims()));
  DYN_TRY(std::vector<int32_t> strides, shapeRegisters(op.attributes.dims("strides")));
  code_.emit(Opcode::stridedView, define(op.results[0].id), from, offset, OperandList(shape),
             OperandList(strides));
  return {};
}

// --- dims

Status FunctionLowering::lowerBindDims(const Op& op, Body&) {
  const Shape symbols = op.attributes.dims("dims");
  const std::vector<int64_t> elements = op.attributes.integers("elements");
  // A scalar that is known without its bytes, as a loop's number is, costs nothing here.
  int32_t first = -1;
  if (op.operands.size() > 1) {
    DYN_TRY(first, element(op.operands[1], 0));
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!symbols[i].isSymbol() || dims_.bound(symbols[i].symbol())) continue;
    int32_t scalar = -1;
    if (first < 0) {
      DYN_TRY(scalar, element(op.operands[0], elements.at(i)));
    } else {
      DYN_TRY(int32_t from, objectOn(false, op.operands[0]));
      const int32_t at = dims_.newScalar();
      scalar = dims_.newScalar();
      code_.emit(Opcode::addImmediate, at, first, vm::Immediate{elements.at(i)});
      code_.emit(Opcode::item, scalar, from, at);
    }
    dims_.bind(symbols[i].symbol(), scalar);
  }
  return {};
}

Status FunctionLowering::lowerShape(const Op& op, Body&) {
  const Type type = op.results[0].type;
  const Shape& from = typeOf(op.operands[0]).dims();
  const int64_t rank = static_cast<int64_t>(from.size());
  Shape dims;
  if (op.def == &ops::sizeOp) {
    dims = {elementCount(module_.context->dims(), from)};
  } else {
    auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
    const int64_t start = clamp(op.attributes.integer("start", 0));
    const int64_t end = op.attributes.has("end") ? clamp(op.attributes.integer("end")) : rank;
    for (int64_t i = start; i < end; ++i) dims.push_back(from[static_cast<size_t>(i)]);
  }
  DYN_TRY(std::vector<int32_t> scalars, shapeRegisters(dims));
  const int32_t result = define(op.results[0].id);
  if (type.rank() == 0)
    code_.emit(Opcode::fromScalar, result, static_cast<int32_t>(type.dtype()), scalars.at(0));
  else
    code_.emit(Opcode::fromScalars, result, static_cast<int32_t>(type.dtype()), OperandList(scalars));
  return {};
}

// --- tuples, data types, optionals, closures: objects with a tag

Status FunctionLowering::makeTuple(const Op& op, int32_t tag) {
  DYN_TRY(std::vector<int32_t> fields, objectsOf(op.operands));
  code_.emit(Opcode::makeTuple, define(op.results[0].id), tag, OperandList(fields));
  return {};
}

Status FunctionLowering::lowerTuple(const Op& op, Body&) { return makeTuple(op, 0); }

Status FunctionLowering::lowerOptional(const Op& op, Body&) {
  return makeTuple(op, op.def == &ops::optional_someOp ? 1 : 0);
}

Status FunctionLowering::lowerConstruct(const Op& op, Body&) {
  const DataType* data = module_.findData(op.results[0].type.dataName());
  if (!data) return makeError(DiagnosticId::internalError, "undeclared data type");
  const std::string constructor = op.attributes.string("constructor");
  int32_t tag = 0;
  for (size_t i = 0; i < data->constructors.size(); ++i)
    if (data->constructors[i].name == constructor) tag = static_cast<int32_t>(i);
  return makeTuple(op, tag);
}

Status FunctionLowering::lowerGet(const Op& op, Body&) {
  DYN_TRY(int32_t from, object(op.operands[0]));
  const int32_t result = define(op.results[0].id);
  if (op.def == &ops::optional_getOp && typeOf(op.operands[0]).kind() != TypeKind::optional)
    code_.emit(Opcode::moveObject, result, from);  // a value as such
  else
    code_.emit(Opcode::getField, result, from, static_cast<int32_t>(op.attributes.integer("index", 0)));
  return bindFromObject(op.results[0].type, result);
}

Status FunctionLowering::lowerHas(const Op& op, Body&) {
  const Type type = op.operands.empty() || op.operands[0] == kNoValue ? Type() : typeOf(op.operands[0]);
  int32_t tag;
  if (!type || type.kind() != TypeKind::optional) {
    tag = dims_.emitConstant(type ? 1 : 0);  // left out, or a value as such
  } else {
    DYN_TRY(int32_t from, object(op.operands[0]));
    tag = dims_.newScalar();
    code_.emit(Opcode::getTag, tag, from);
  }
  code_.emit(Opcode::fromScalar, define(op.results[0].id), static_cast<int32_t>(Dtype::boolean), tag);
  return {};
}

Status FunctionLowering::lowerClosure(const Op& op, Body&) {
  DYN_TRY(std::vector<int32_t> captures, objectsOf(op.operands));
  const int32_t callee = program_.functionIndex(op.attributes.string("callee"));
  code_.emit(Opcode::makeClosure, define(op.results[0].id), callee, OperandList(captures));
  return {};
}

// --- lists

Status FunctionLowering::lowerList(const Op& op, Body&) {
  std::vector<int32_t> items;
  if (op.def == &ops::listOp) {
    DYN_TRY(items, objectsOf(op.operands));
  }
  code_.emit(Opcode::makeList, define(op.results[0].id), OperandList(items));
  return {};
}

Status FunctionLowering::lowerListLength(const Op& op, Body&) {
  DYN_TRY(int32_t from, object(op.operands[0]));
  const int32_t length = dims_.newScalar();
  code_.emit(Opcode::listLength, length, from);
  code_.emit(Opcode::fromScalar, define(op.results[0].id), static_cast<int32_t>(Dtype::i64), length);
  return {};
}

static bool isReadLater(const Function& body, size_t next, ValueId value) {
  const auto reads = [value](const auto& values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (size_t i = next; i < body.ops.size(); ++i)
    if (body.ops[i]->def != &ops::killOp && reads(body.ops[i]->operands)) return true;
  return reads(body.results);
}

// The register of a list that is made from operand 0, which is in `from`. One that is not needed afterwards
// gives its own: the VM then changes it in place, unless somebody else holds it. Ten thousand insertions in a
// row copy nothing. Nor do a loop's: what it carries from turn to turn is overwritten at the end of the turn,
// so that the last reader may take it away (`from` is the new register then).
int32_t FunctionLowering::defineChangedList(const Op& op, const Body& body, int32_t& from) {
  const ValueId list = op.operands[0];
  if (carried_.count(list) && !isReadLater(*body.function, body.next, list)) {
    const int32_t to = define(op.results[0].id);
    code_.emit(Opcode::moveObject, to, from);
    code_.emit(Opcode::kill, from);
    return from = to;
  }
  const auto held = objects_.find(list);
  const std::vector<const Op*>& ops = body.function->ops;
  bool last = false;
  for (size_t i = body.next; i < ops.size() && ops[i]->def == &ops::killOp; ++i)
    last |= ops[i]->operands[0] == list;
  if (!last || borrowed_.count(list) || held == objects_.end() || held->second != from)
    return define(op.results[0].id);
  objects_.erase(held);
  alias(op.results[0].id, from);
  return from;
}

Status FunctionLowering::lowerListAt(const Op& op, Body& body) {
  DYN_TRY(int32_t from, object(op.operands[0]));
  int32_t position;
  if (op.operands.size() > 1 && op.operands[1] != kNoValue) {
    DYN_TRY(position, element(op.operands[1], 0));
  } else {
    position = dims_.emitConstant(-1);
  }
  const bool reads = op.def == &ops::list_atOp;
  const int32_t result = reads ? define(op.results[0].id) : defineChangedList(op, body, from);
  code_.emit(reads ? Opcode::listAt : Opcode::listErase, result, from, position);
  return bindFromObject(op.results[0].type, result);
}

Status FunctionLowering::lowerListInsert(const Op& op, Body& body) {
  DYN_TRY(int32_t from, object(op.operands[0]));
  DYN_TRY(int32_t item, object(op.operands[1]));
  const int32_t length = dims_.newScalar();
  code_.emit(Opcode::listLength, length, from);
  int32_t position = length;
  if (op.operands.size() > 2 && op.operands[2] != kNoValue) {
    DYN_TRY(int32_t wanted, element(op.operands[2], 0));
    // Negative positions count from the end.
    position = dims_.newScalar();
    const int32_t negative = dims_.newScalar(), zero = dims_.emitConstant(0);
    code_.emit(Opcode::move, position, wanted);
    code_.emit(Opcode::less, negative, wanted, zero);
    const Label positive = code_.newLabel();
    code_.emit(Opcode::jumpIfNot, negative, positive);
    code_.emit(Opcode::add, position, wanted, length);
    code_.bind(positive);
  }
  const int32_t result = from == item ? define(op.results[0].id) : defineChangedList(op, body, from);
  code_.emit(Opcode::listInsert, result, from, item, position);
  return {};
}

}  // namespace dyn
