// Constants, dims as values, tuples, lists, optionals and data constructors. Their evaluation is the
// interpreter's, constants aside.
#include <algorithm>

#include "compiler/loop/builder/lower_context.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"
#include "compiler/ops/rules/type_zip.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

Status inferConstant(InferContext& c) {
  const HostTensor* value = c.attributes().tensor("value");
  if (!value || !value->valid()) return c.error(DiagnosticId::badAttribute, "it has no value");
  c.setResult(0, c.ir().tensorType(value->shape(), value->dtype()));
  if (!isInteger(value->dtype()) && value->dtype() != Dtype::boolean) return {};
  if (value->elementCount() == 0 || value->elementCount() > kMaxContents) return {};
  Contents contents;
  for (int64_t i = 0; i < value->elementCount(); ++i) {
    // Half of u64 does not fit in a dim.
    const bool fits = value->dtype() != Dtype::u64 || value->intAt(i) >= 0;
    contents.push_back(fits ? constantDim(c, value->intAt(i)) : Dim());
  }
  c.setResultContents(0, std::move(contents));
  return {};
}

Status inferDims(InferContext& c, bool isVector) {
  const Shape dims = c.attributes().dims("value");
  if (!isVector && dims.size() != 1) return c.error(DiagnosticId::badAttribute, "value is one dim");
  for (Dim d : dims) {
    if (!control(c).inScope(d)) return c.error(DiagnosticId::textName, d.toString() + " has no value here");
  }
  Shape shape;
  if (isVector) shape.push_back(constantDim(c, static_cast<int64_t>(dims.size())));
  setTensor(c, shape, Dtype::i64);
  c.setResultContents(0, dims);
  return {};
}

Status evaluateDims(EvalContext& c, bool isVector) {
  const Shape dims = c.attributes().dims("value");
  std::vector<int64_t> values;
  for (Dim d : dims) {
    DYN_TRY(int64_t value, c.dimValue(d));
    values.push_back(value);
  }
  HostTensor vector = HostTensor::vectorInt(Dtype::i64, values);
  c.setResult(0, isVector ? vector : vector.reshaped({}));
  return {};
}

Status inferTuple(InferContext& c) {
  std::vector<Type> fields;
  for (int i = 0; i < c.operandCount(); ++i) fields.push_back(c.operandType(i));
  c.setResult(0, c.ir().tupleType(std::move(fields)));
  return {};
}

Status inferTupleGet(InferContext& c) {
  const Type tuple = c.operandType(0);
  const int64_t index = c.attributes().integer("index");
  if (tuple.kind() != TypeKind::tuple)
    return c.error(DiagnosticId::typeMismatch, "it needs a tuple, not " + tuple.toString());
  if (index < 0 || index >= static_cast<int64_t>(tuple.elements().size())) {
    return c.error(DiagnosticId::badAttribute, "the tuple has no field " + std::to_string(index));
  }
  c.setResult(0, tuple.elements()[static_cast<size_t>(index)]);
  return {};
}

// The type of list elements that are sometimes `a`, sometimes `b`.
Result<Type> elementJoin(InferContext& c, Type a, Type b) {
  Result<Type> joined =
      zipTypes(c.ir(), a, b, "elements of a list", [&](Dim x, Dim y, const TypePath&) -> Result<Dim> {
        if (x == y || (x.isSymbol() && !control(c).inScope(x))) return x;
        return c.solver().equal(x, y) == Answer::yes ? x : c.fresh("elements of the list differ in size");
      });
  if (joined.ok()) return joined;
  if (a.isTensor() && b.isTensor() && a.rank() != b.rank())
    return c.error(DiagnosticId::unsupportedFeature, "unsupported: a list whose elements differ in rank: " +
                                                         a.toString() + " and " + b.toString());
  return joined.takeError().at(c.op().place);
}

Result<Type> listOperand(const InferContext& c) {
  const Type list = c.operandType(0);
  if (list.kind() == TypeKind::list) return list;
  return c.error(DiagnosticId::typeMismatch, "it needs a list, not " + list.toString());
}

Status requirePosition(InferContext& c, int i) {
  if (!c.hasOperand(i)) return {};
  DYN_TRY(TensorOperand position, tensorOperand(c, i));
  return requireClass(c, position, {DtypeClass::integer}, "the position");
}

Status inferList(InferContext& c) {
  if (c.operandCount() == 0) {
    const Type annotation = c.op().results.empty() ? Type() : c.op().results[0].type;
    if (annotation && annotation.kind() == TypeKind::list) return c.setResult(0, annotation), Status();
    return c.error(DiagnosticId::typeMismatch,
                   "an empty list needs its type written down: list() : List[...]");
  }
  Type element = c.operandType(0);
  for (int i = 1; i < c.operandCount(); ++i) {
    DYN_TRY(element, elementJoin(c, element, c.operandType(i)));
  }
  c.setResult(0, c.ir().listType(element));
  return {};
}

Status inferListOf(InferContext& c) {
  const Type function = c.operandType(0);
  if (function.kind() != TypeKind::function || function.results().size() != 1)
    return c.error(DiagnosticId::typeMismatch,
                   "it needs a function value of one result, not " + function.toString());
  // Sizes that the function's parameters name are known only call by call.
  c.setResult(0, c.ir().listType(mapDims(c.ir(), function.results()[0], [&](Dim d, const TypePath&) {
    return control(c).inScope(d) ? d : c.fresh("the size of a list element");
  })));
  return {};
}

Status inferListInsert(InferContext& c) {
  DYN_TRY(Type list, listOperand(c));
  DYN_CHECK(requirePosition(c, 2));
  DYN_TRY(Type element, elementJoin(c, list.element(), c.operandType(1)));
  c.setResult(0, c.ir().listType(element));
  return {};
}

Status inferListAt(InferContext& c) {
  DYN_TRY(Type list, listOperand(c));
  DYN_CHECK(requirePosition(c, 1));
  c.setResult(0, mapDims(c.ir(), list.element(), [&](Dim d, const TypePath& path) {
                return path.nested || control(c).inScope(d) ? d : c.fresh("the size of a list element");
              }));
  return {};
}

Status inferListLength(InferContext& c) {
  DYN_TRY(Type list, listOperand(c));
  (void)list;
  setTensor(c, {}, Dtype::i64);
  return {};
}

Status inferListErase(InferContext& c) {
  DYN_TRY(Type list, listOperand(c));
  DYN_CHECK(requirePosition(c, 1));
  c.setResult(0, list);
  return {};
}

Status inferOptionalNone(InferContext& c) {
  Type element = c.attributes().type("type");
  const Type annotation = c.op().results.empty() ? Type() : c.op().results[0].type;
  if (element) return c.setResult(0, c.ir().optionalType(element)), Status();
  if (annotation && annotation.kind() == TypeKind::optional) return c.setResult(0, annotation), Status();
  return c.error(DiagnosticId::typeMismatch,
                 "an empty optional needs its type: optional_none() : Optional[...]");
}

Status inferOptionalGet(InferContext& c) {
  const Type type = c.operandType(0);
  if (type.kind() != TypeKind::optional)
    return c.setResult(0, type), Status();  // ONNX: the identity on other values
  c.setResult(0, mapDims(c.ir(), type.element(), [&](Dim d, const TypePath& path) {
                return path.nested || control(c).inScope(d) ? d : c.fresh("the size of the optional's value");
              }));
  return {};
}

Status inferConstruct(InferContext& c) {
  const std::string dataName = c.attributes().string("type");
  const std::string name = c.attributes().string("constructor");
  const DataType* data = c.module().findData(dataName);
  if (!data) return c.error(DiagnosticId::textName, "there is no data type " + dataName);
  const auto found =
      std::find_if(data->constructors.begin(), data->constructors.end(),
                   [&](const DataConstructor& constructor) { return constructor.name == name; });
  if (found == data->constructors.end())
    return c.error(DiagnosticId::textName, dataName + " has no constructor " + name);
  if (static_cast<int>(found->fields.size()) != c.operandCount()) {
    return c.error(DiagnosticId::badOperands, name + " has " + std::to_string(found->fields.size()) +
                                                  " fields, not " + std::to_string(c.operandCount()));
  }
  for (size_t i = 0; i < found->fields.size(); ++i) {
    // Symbols in a declaration stand for any size.
    const Type any = mapDims(c.ir(), found->fields[i], [&](Dim d, const TypePath&) {
      return d.isConstant() ? d : c.fresh("a field of " + name);
    });
    DYN_CHECK(control(c).requireType(any, c.operandType(static_cast<int>(i)),
                                     "field " + std::to_string(i) + " of " + name));
  }
  c.setResult(0, c.ir().dataType(dataName));
  return {};
}

constexpr AttributeSpec kConstantAttributes[] = {
    {"value", AttributeKind::tensor, true, "the tensor", Allowed::any()}};
constexpr AttributeSpec kDimsAttributes[] = {
    {"value", AttributeKind::dims, true, "the dims", Allowed::any()}};
constexpr AttributeSpec kDimAttributes[] = {{"value", AttributeKind::dims, true, "one dim", Allowed::any()}};
constexpr AttributeSpec kIndexAttributes[] = {
    {"index", AttributeKind::integer, true, "the field, from 0", Allowed::byRule("a field of the tuple")}};
constexpr AttributeSpec kNoneAttributes[] = {
    {"type", AttributeKind::type, false,
     "type of the value that is not there; default: from the annotation of the result",
     Allowed::byRule("a type")}};
constexpr AttributeSpec kConstructAttributes[] = {
    {"type", AttributeKind::string, true, "the data type", Allowed::byRule("a type")},
    {"constructor", AttributeKind::string, true, "its constructor",
     Allowed::byRule("a constructor of the type")}};

Result<Expr> lowerDims(LowerContext& c, int, std::span<const Expr> index) {
  const Shape dims = c.attributes().dims("value");
  if (index.empty()) return c.dim(dims.at(0));
  if (dims.empty()) return c.integer(0);
  Expr value = c.dim(dims.back());
  for (size_t k = dims.size() - 1; k-- > 0;) {
    value = select(index[0] == c.integer(static_cast<int64_t>(k)), c.dim(dims[k]), value);
  }
  return value;
}

constexpr OperandRule kListInsertRules[] = {
    {2, ElementsAre::byKernel, "a place of the list or its end, from the end if negative"}};
constexpr OperandRule kListAtRules[] = {
    {1, ElementsAre::byKernel, "a place of the list, from the end if negative"}};
constexpr OperandRule kListEraseRules[] = {
    {1, ElementsAre::byKernel, "a place of the list, from the end if negative"}};

}  // namespace

namespace ops {

const OpDef constantOp{
    .name = "constant",
    .summary = "a tensor of the program",
    .cls = OpClass::structural,
    .traits = {.contentsKnown = true},
    .attributes = kConstantAttributes,
    .infer = inferConstant,
    .evaluate = [](EvalContext& c) -> Status {
      const HostTensor* value = c.attributes().tensor("value");
      if (!value) return c.error(DiagnosticId::badAttribute, "it has no value");
      c.setResult(0, *value);
      return {};
    },
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "() -> shape of the value",
    .example = "fn @main() { %y = constant() {value = f32[2] [1.0, 2.0]} return %y }",
};

const OpDef dims_valueOp{
    .name = "dims_value",
    .summary = "dims as an i64 vector",
    .cls = OpClass::structural,
    .traits = {.contentsKnown = true},
    .attributes = kDimsAttributes,
    .infer = [](InferContext& c) { return inferDims(c, true); },
    .evaluate = [](EvalContext& c) { return evaluateDims(c, true); },
    .lowering = LoweringKind::loops,
    .lower = lowerDims,
    .operandRules = kAnyElements,
    .doc = "() -> [number of dims]",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = dims_value() {value = dims(n, 2*n)} return %y }",
};

const OpDef dim_valueOp{
    .name = "dim_value",
    .summary = "a dim as an i64 scalar",
    .cls = OpClass::structural,
    .traits = {.contentsKnown = true},
    .attributes = kDimAttributes,
    .infer = [](InferContext& c) { return inferDims(c, false); },
    .evaluate = [](EvalContext& c) { return evaluateDims(c, false); },
    .lowering = LoweringKind::loops,
    .lower = lowerDims,
    .operandRules = kAnyElements,
    .doc = "() -> []",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = dim_value() {value = dims(n + 1)} return %y }",
};

const OpDef tupleOp{
    .name = "tuple",
    .summary = "a tuple of its operands",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = -1,
    .infer = inferTuple,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(values...) -> (values...)",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = tuple(%x, %x) return %y }",
};

const OpDef tuple_getOp{
    .name = "tuple_get",
    .summary = "one field of a tuple",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kIndexAttributes,
    .infer = inferTupleGet,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(T0, T1, ...) -> Tindex",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { %t = tuple(%x, %x) %y = tuple_get(%t) {index = 1} return %y }",
};

const OpDef listOp{
    .name = "list",
    .summary = "a list of its operands",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = -1,
    .infer = inferList,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(values...) -> List; sizes that differ become `?`; an empty list needs its type as annotation",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = list(%x, %x) return %y }",
};

const OpDef list_ofOp{
    .name = "list_of",
    .summary = "an empty list for results of a function value",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferListOf,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(fn(...) -> (T)) -> List[T]; what map begins with",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { %f = closure(%x) {callee = \"f\"} %l = list_of(%f) "
        "%y = list_length(%l) return %y }\n"
        "fn @f(%v: Tensor[(k), f32], %w: Tensor[(k), f32]) { %r = add(%v, %w) return %r }",
};

const OpDef list_appendOp{
    .name = "list_append",
    .summary = "the list with a value added at its end",
    .cls = OpClass::structural,
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferListInsert,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(List[T], T) -> List[T]",
    .example = "fn @main(%x: Tensor[(n), f32]) { %l = list(%x) %y = list_append(%l, %x) return %y }",
};

const OpDef list_insertOp{
    .name = "list_insert",
    .summary = "the list with a value put before a position",
    .cls = OpClass::structural,
    .minOperands = 2,
    .maxOperands = 3,
    .infer = inferListInsert,
    .lowering = LoweringKind::structural,
    .operandRules = kListInsertRules,
    .doc = "(List[T], T, position []) -> List[T]; without a position at the end; negative: from the end",
    .example =
        "fn @main(%x: Tensor[(n), f32], %i: Tensor[(), i64]) { %l = list(%x) %y = list_insert(%l, %x, %i) "
        "return %y }",
};

const OpDef list_atOp{
    .name = "list_at",
    .summary = "one element of a list",
    .cls = OpClass::structural,
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferListAt,
    .lowering = LoweringKind::structural,
    .operandRules = kListAtRules,
    .doc = "(List[T], position []) -> T; negative: from the end",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { %l = list(%x) %i = dim_value() {value = dims(0)} %y = list_at(%l, "
        "%i) return %y }",
};

const OpDef list_lengthOp{
    .name = "list_length",
    .summary = "how many elements a list has",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferListLength,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "List[T] -> [] i64",
    .example = "fn @main(%x: Tensor[(n), f32]) { %l = list(%x) %y = list_length(%l) return %y }",
};

const OpDef list_eraseOp{
    .name = "list_erase",
    .summary = "the list without one element",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = 2,
    .infer = inferListErase,
    .lowering = LoweringKind::structural,
    .operandRules = kListEraseRules,
    .doc = "(List[T], position []) -> List[T]; without a position the last; negative: from the end",
    .example = "fn @main(%x: Tensor[(n), f32]) { %l = list(%x, %x) %y = list_erase(%l) return %y }",
};

const OpDef optional_someOp{
    .name = "optional_some",
    .summary = "an optional that holds the value",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = [](InferContext& c) -> Status {
      c.setResult(0, c.ir().optionalType(c.operandType(0)));
      return {};
    },
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "T -> Optional[T]",
    .example = "fn @main(%x: Tensor[(n), f32]) { %y = optional_some(%x) return %y }",
};

const OpDef optional_noneOp{
    .name = "optional_none",
    .summary = "an optional that holds nothing",
    .cls = OpClass::structural,
    .attributes = kNoneAttributes,
    .infer = inferOptionalNone,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "() -> Optional[T]",
    .example = "fn @main() { %y = optional_none() {type = Tensor[(3), f32]} return %y }",
};

const OpDef optional_getOp{
    .name = "optional_get",
    .summary = "the value of an optional; a run fails if it is empty",
    .cls = OpClass::structural,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferOptionalGet,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "Optional[T] -> T; any other value is returned as it is",
    .example = "fn @main(%x: Tensor[(n), f32]) { %o = optional_some(%x) %y = optional_get(%o) return %y }",
};

const OpDef optional_hasOp{
    .name = "optional_has",
    .summary = "whether an optional holds a value",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = 1,
    .infer = [](InferContext& c) -> Status {
      setTensor(c, {}, Dtype::boolean);
      return {};
    },
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "Optional[T] -> [] bool; true for any other value, false without operand",
    .example = "fn @main(%x: Tensor[(n), f32]) { %o = optional_some(%x) %y = optional_has(%o) return %y }",
};

const OpDef constructOp{
    .name = "construct",
    .summary = "a value of an algebraic data type",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = -1,
    .attributes = kConstructAttributes,
    .infer = inferConstruct,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(fields...) -> the data type",
    .example =
        "type Item { Dot(Tensor[(2), f32]) }\n"
        "fn @main(%x: Tensor[(2), f32]) { %y = construct(%x) {type = \"Item\", constructor = \"Dot\"} return "
        "%y }",
};

}  // namespace ops
}  // namespace dyn
