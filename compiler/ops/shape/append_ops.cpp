// append: rows put behind those of a cache, or at places that each batch has.
#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"

namespace dyn {
namespace {

bool hasPlaces(const Op& op) { return op.operands.size() > 2 && op.operands[2] != kNoValue; }

Status inferAppend(InferContext& c) {
  DYN_TRY(TensorOperand past, tensorOperand(c, 0));
  DYN_TRY(TensorOperand rows, tensorOperand(c, 1, past.rank()));
  DYN_CHECK(requireSameDtype(c, past, rows));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), past.rank()));
  const auto along = static_cast<size_t>(axis);
  Shape dims = past.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == along) continue;
    DYN_CHECK(c.requireEqual(dims[i], rows.dims[i], "dim " + std::to_string(i) + " of operands 0 and 1"));
    dims[i] = c.solver().canonical(dims[i]);
  }
  const Shape size = c.attributes().dims("size");
  if (hasPlaces(c.op()) != !size.empty())
    return c.error(DiagnosticId::badAttribute, "places and a size are given together");
  if (size.empty()) {
    dims[along] = past.dims[along] + rows.dims[along];
  } else {
    if (axis == 0) return c.error(DiagnosticId::badAttribute, "axis 0 is that of the batches");
    if (size.size() != 1) return c.error(DiagnosticId::badAttribute, "the size is one dim");
    DYN_TRY(TensorOperand places, indexOperand(c, 2, "the places"));
    if (places.rank() != 1) return c.error(DiagnosticId::rankMismatch, "the places are a vector");
    DYN_CHECK(c.requireEqual(places.dims[0], dims[0], "one place for each batch"));
    DYN_CHECK(c.requireLessEqual(past.dims[along], size[0], "the past fits"));
    DYN_CHECK(c.requireLessEqual(rows.dims[along], size[0], "the rows fit"));
    dims[along] = size[0];
  }
  setTensor(c, dims, past.dtype);
  return {};
}

Status evaluateAppend(EvalContext& c) {
  const HostTensor &past = c.operand(0), &rows = c.operand(1);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), past.rank()));
  const auto along = static_cast<size_t>(axis);
  const int64_t before = past.shape()[along], count = rows.shape()[along];
  std::vector<int64_t> shape = past.shape();
  shape[along] = count;
  if (rows.shape() != shape)
    return c.error(DiagnosticId::shapeMismatch, shapeText(past.shape()) + " and " + shapeText(rows.shape()));
  shape[along] = before + count;
  if (const Shape size = c.attributes().dims("size"); !size.empty()) {
    DYN_TRY(shape[along], c.dimValue(size[0]));
    if (shape[along] < std::max(before, count))
      return c.error(DiagnosticId::shapeCheckFailed, "a size of " + std::to_string(shape[along]));
  }
  const int64_t size = shape[along];
  DYN_TRY(HostTensor result, newTensor(past.dtype(), shape));
  const std::vector<int64_t> strides = rowMajorStrides(shape);
  const ElementCopier ofPast(result, past), ofRows(result, rows);
  OffsetWalk walk(past.shape(), {strides});
  for (int64_t k = 0; k < past.elementCount(); ++k, walk.next()) ofPast.copy(walk.offset(0), k);
  const auto placeOf = [&](int64_t batch) { return c.hasOperand(2) ? c.operand(2).intAt(batch) : before; };
  for (int64_t batch = 0; c.hasOperand(2) && batch < shape[0]; ++batch)
    if (placeOf(batch) < 0 || placeOf(batch) > size - count)
      return c.error(DiagnosticId::runtimeError,
                     "place " + std::to_string(placeOf(batch)) + " is out of range");
  OffsetWalk from(rows.shape(), {strides});
  for (int64_t k = 0; k < rows.elementCount(); ++k, from.next()) {
    const int64_t place = placeOf(from.index()[0]);
    ofRows.copy(from.offset(0) + place * strides[along], k);
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillAppend(const BuiltinRequest& request, CallFields<calls::Append>& call) {
  const Op& op = request.op;
  call.numbers.axis = static_cast<int32_t>(op.attributes.integer("axis"));
  if (hasPlaces(op)) call.scalars.size = op.attributes.dims("size")[0];
  return {};
}

constexpr AttributeSpec kAppendAttributes[] = {
    {"axis", AttributeKind::integer, true, "from the end if negative", Allowed::axis()},
    {"size", AttributeKind::dims, false, "of the axis of the result, one dim; given with places",
     Allowed::byRule("one dim, with places")}};

constexpr OperandRule kAppendRules[] = {
    {2, ElementsAre::byKernel, "places of the axis, with room for what is written"}};

}  // namespace

namespace ops {

const OpDef appendOp{
    .name = "append",
    .summary = "appends rows to a tensor along an axis, in place where its memory has room",
    .cls = OpClass::opaque,
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kAppendAttributes,
    .infer = inferAppend,
    .evaluate = evaluateAppend,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Append, fillAppend>,
    .operandRules = kAppendRules,
    .doc =
        "past [b, .., p, ..], rows [b, .., s, ..], places [b] i64 | none -> [b, .., p + s, ..], as concat. "
        "With "
        "places the axis has `size` elements: those of the past, then zeros, and on them row k of batch b at "
        "places[b] + k. In place where all places are p and size is p + s.",
    .example =
        "fn @main(%a: Tensor[(n, 2), f32], %b: Tensor[(m, 2), f32]) { %y = append(%a, %b) {axis = 0} "
        "return %y }",
};

}  // namespace ops
}  // namespace dyn
