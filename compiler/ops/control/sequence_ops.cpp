// Between tensors and lists of tensors: cutting a tensor into a list, joining the tensors of a list.
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/type_zip.h"

namespace dyn {

namespace {

// --- types

// The size that every piece has, where the sizes say it: all of the vector are one number, or one number
// makes up the axis without a rest. Null: pieces differ, or it is not known.
Dim pieceOf(InferContext& c, Dim axis, int sizesRank) {
  const std::optional<Contents> sizes = c.operandContents(1);
  if (!sizes || sizes->empty()) return Dim();
  const std::optional<int64_t> size = (*sizes)[0].constant();
  for (const Dim& other : *sizes)
    if (!size || other.constant() != size) return Dim();
  if (*size < (sizesRank == 0 ? 1 : 0)) return Dim();
  if (sizesRank == 0 && *size != 1 && axis.constant().value_or(1) % *size != 0) return Dim();
  return constantDim(c, *size);
}

Status inferSequenceSplit(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  const size_t at = static_cast<size_t>(axis);
  Shape shape = x.dims;
  if (c.hasOperand(1)) {
    DYN_TRY(TensorOperand sizes, tensorOperand(c, 1));
    DYN_CHECK(requireClass(c, sizes, {DtypeClass::integer}, "the sizes of the pieces"));
    if (sizes.rank() > 1)
      return c.error(DiagnosticId::rankMismatch, "the sizes of the pieces are a vector or one number");
    const Dim piece = pieceOf(c, shape[at], sizes.rank());
    shape[at] = piece ? piece : c.fresh("pieces of a split differ in size");
  } else if (c.attributes().integer("keepdims", 1) != 0) {
    shape[at] = constantDim(c, 1);
  } else {
    shape.erase(shape.begin() + axis);
  }
  c.setResult(0, c.ir().listType(c.ir().tensorType(std::move(shape), x.dtype)));
  return {};
}

// The tensor type of the list's elements, sizes that differ between them being fresh.
Result<Type> sequenceElementOf(InferContext& c) {
  const Type list = c.operandType(0);
  if (list.kind() != TypeKind::list || !list.element().isTensor())
    return c.error(DiagnosticId::typeMismatch, "it needs a list of tensors, not " + list.toString());
  return mapDims(c.ir(), list.element(), [&](Dim d, const TypePath&) {
    return static_cast<ControlInferContext&>(c).inScope(d) ? d
                                                           : c.fresh("the size of the elements of a list");
  });
}

Status inferSequenceConcat(InferContext& c) {
  DYN_TRY(Type element, sequenceElementOf(c));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), element.rank()));
  Shape shape = element.dims();
  shape[static_cast<size_t>(axis)] = c.fresh("the tensors of a list are joined");
  setTensor(c, shape, element.dtype());
  return {};
}

Status inferStack(InferContext& c) {
  DYN_TRY(Type element, sequenceElementOf(c));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), element.rank() + 1));
  Shape shape = element.dims();
  shape.insert(shape.begin() + axis, c.fresh("the length of a list"));
  setTensor(c, shape, element.dtype());
  return {};
}

// --- builtins

Status fillSplit(const BuiltinRequest& request, CallFields<calls::SplitToList>& call) {
  const Type& x = request.operandTypes[0];
  const int64_t axis = request.op.attributes.integer("axis", 0);
  call.scalars.axis = x.dims()[0].context().constant(axis < 0 ? axis + x.rank() : axis);
  call.numbers.keepAxis = request.op.attributes.integer("keepdims", 1) != 0;
  return {};
}

template <typename Call>
Status fillJoin(const BuiltinRequest& request, CallFields<Call>& call) {
  const Shape& dims = request.op.results[0].type.dims();
  const int64_t axis = request.op.attributes.integer("axis"), rank = static_cast<int64_t>(dims.size());
  call.scalars.axis = dims[0].context().constant(axis < 0 ? axis + rank : axis);
  return {};
}

constexpr AttributeSpec kSequenceSplitAttributes[] = {
    {"axis", AttributeKind::integer, false, "default 0",
     Allowed::byRule("an axis of the elements, or of the result")},
    {"keepdims", AttributeKind::integer, false, "0: without sizes, pieces lose the axis; default 1",
     Allowed::flag()},
};
constexpr AttributeSpec kSequenceConcatAttributes[] = {
    {"axis", AttributeKind::integer, true, "the axis the tensors are joined along",
     Allowed::byRule("an axis of the elements, or of the result")},
};
constexpr AttributeSpec kStackAttributes[] = {
    {"axis", AttributeKind::integer, true, "the place of the new axis in the result",
     Allowed::byRule("an axis of the elements, or of the result")},
};

constexpr OperandRule kSplitToSequenceRules[] = {
    {1, ElementsAre::byKernel, "sizes of at least 0 that make up the axis; one number: at least 1"}};
}  // namespace

namespace ops {

const OpDef split_to_sequenceOp{
    .name = "split_to_sequence",
    .summary = "a tensor cut along an axis into a list",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 2,
    .attributes = kSequenceSplitAttributes,
    .infer = inferSequenceSplit,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::SplitToList, fillSplit>,
    .operandRules = kSplitToSequenceRules,
    .doc =
        "x [..., a, ...], sizes [m] (of each piece) or [] (of all but the last) -> List; without sizes "
        "pieces of 1",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = split_to_sequence(%x) {axis = 0} return %y }",
};

const OpDef concat_from_sequenceOp{
    .name = "concat_from_sequence",
    .summary = "the tensors of a list joined along an axis",
    .cls = OpClass::opaque,
    .traits = {.joinsList = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kSequenceConcatAttributes,
    .infer = inferSequenceConcat,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::ListConcat, fillJoin<calls::ListConcat>>,
    .operandRules = kAnyElements,
    .doc = "List of [..., a, ...] -> [..., ?, ...]; an empty list is an error",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32]) { %l = list(%x, %x) %y = concat_from_sequence(%l) {axis = 0} "
        "return %y }",
};

const OpDef stack_from_sequenceOp{
    .name = "stack_from_sequence",
    .summary = "the tensors of a list stacked along a new axis",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kStackAttributes,
    .infer = inferStack,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::ListStack, fillJoin<calls::ListStack>>,
    .operandRules = kAnyElements,
    .doc = "List of [...] -> [..., ?, ...] with one axis more; an empty list is an error",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32]) { %l = list(%x, %x) %y = stack_from_sequence(%l) {axis = 0} "
        "return %y }",
};

}  // namespace ops
}  // namespace dyn
