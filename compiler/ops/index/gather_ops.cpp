// Elements picked by indices: gather, gather_nd, gather_elements.
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/need.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// --- gather

// Known elements picked by constant indices: how a dim is taken out of a shape. Out of range: left to the
// run.
std::optional<Contents> gatheredContents(const InferContext& c, const Shape& dims, int axis) {
  std::optional<Contents> from = c.operandContents(0), indices = c.operandContents(1);
  if (!from || !indices) return std::nullopt;
  const std::optional<int64_t> outer = constantElementCount(Shape(dims.begin(), dims.begin() + axis)),
                               size = c.solver().canonical(dims[axis]).constant(),
                               inner = constantElementCount(Shape(dims.begin() + axis + 1, dims.end()));
  if (!outer || !size || !inner) return std::nullopt;
  const int64_t perOuter = static_cast<int64_t>(indices->size()) * *inner;
  if (*outer * perOuter > kMaxContents || *outer * *size * *inner != static_cast<int64_t>(from->size()))
    return std::nullopt;
  Contents result(static_cast<size_t>(*outer * perOuter));
  for (size_t flat = 0; flat < result.size(); ++flat) {
    const int64_t at = static_cast<int64_t>(flat), rest = at % perOuter;
    const Dim index = (*indices)[static_cast<size_t>(rest / *inner)];
    if (!index || !index.isConstant()) continue;
    const int64_t value = *index.constant() + (*index.constant() < 0 ? *size : 0);
    if (value < 0 || value >= *size) continue;
    result[flat] = (*from)[static_cast<size_t>((at / perOuter * *size + value) * *inner + rest % *inner)];
  }
  return result;
}

Status inferGather(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand indices, indexOperand(c, 1, "the indices"));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  Shape dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  setTensor(c, std::move(dims), x.dtype);
  if (std::optional<Contents> contents = gatheredContents(c, x.dims, axis))
    c.setResultContents(0, std::move(*contents));
  return {};
}

Status evaluateGather(EvalContext& c) {
  const HostTensor &x = c.operand(0), &indices = c.operand(1);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  std::vector<int64_t> shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  DYN_TRY(HostTensor result, newTensor(x.dtype(), std::move(shape)));
  const int64_t outer = sizeProduct(x.shape(), 0, axis), size = x.shape()[static_cast<size_t>(axis)],
                inner = sizeProduct(x.shape(), axis + 1, x.rank());
  std::vector<int64_t> from = elementsOf(indices);
  if (result.elementCount() == 0) from.clear();  // nothing is read
  for (int64_t& index : from) {
    DYN_TRY(index, wrapIndex(c, index, size));
  }
  const ElementCopier copier(result, x);
  int64_t to = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : from) {
      for (int64_t k = 0; k < inner; ++k) copier.copy(to++, (o * size + index) * inner + k);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerGather(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0);
  DYN_CHECK(requireCompiled(c, x.dtype()));
  const int64_t axisGiven = c.attributes().integer("axis", 0);
  const size_t axis = static_cast<size_t>(axisGiven < 0 ? axisGiven + x.rank() : axisGiven);
  const size_t indexRank = static_cast<size_t>(c.operandType(1).rank());
  DYN_TRY(Expr value, c.read(1, index.subspan(axis, indexRank)));
  const Expr given = indexExpr(c, value), size = c.dim(x.dims()[axis]), at = wrapIndex(c, given, size);
  std::vector<Expr> from(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(axis));
  from.push_back(at);
  from.insert(from.end(), index.begin() + static_cast<std::ptrdiff_t>(axis + indexRank), index.end());
  DYN_TRY(Expr element, c.read(0, from));
  return c.checked(inRange(c, at, size), element, indexCheck(given, x, axis));
}

constexpr AttributeSpec kGatherAttributes[] = {{"axis", AttributeKind::integer, false,
                                                "the axis picked from, from the end if negative; default 0",
                                                Allowed::axis()}};

// --- gather_nd

Status inferGatherNd(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand indices, indexOperand(c, 1, "the indices"));
  const int64_t batch = c.attributes().integer("batch_dims", 0);
  if (indices.rank() < 1 || batch < 0 || batch >= indices.rank() || batch > x.rank()) {
    return c.error(DiagnosticId::badAttribute, "batch_dims " + std::to_string(batch) + " does not fit " +
                                                   x.type.toString() + " and " + indices.type.toString());
  }
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i)
    DYN_CHECK(
        c.requireEqual(x.dims[i], indices.dims[i], "batch dim " + std::to_string(i) + " of the indices"));
  const std::optional<int64_t> depth = c.solver().canonical(indices.dims.back()).constant();
  if (!depth) {
    return operandNeeded(c, 1, Need::Kind::shape,
                         "the last dim of the indices is not known: it is " + indices.type.toString() +
                             ", so the rank of the result can not be known");
  }
  if (*depth > x.rank() - batch) {
    return c.error(DiagnosticId::rankMismatch,
                   "indices of " + std::to_string(*depth) + " coordinates into " + x.type.toString());
  }
  Shape dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), x.dims.begin() + batch + *depth, x.dims.end());
  setTensor(c, std::move(dims), x.dtype);
  return {};
}

Status evaluateGatherNd(EvalContext& c) {
  const HostTensor &x = c.operand(0), &indices = c.operand(1);
  const int batch = static_cast<int>(c.attributes().integer("batch_dims", 0));
  const int64_t depth = indices.shape().back();
  if (depth > x.rank() - batch)
    return c.error(DiagnosticId::rankMismatch, "the indices have too many coordinates");
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    if (x.shape()[i] != indices.shape()[i])
      return c.error(DiagnosticId::shapeMismatch, "batch dims of operand and indices differ");
  }
  const int tail = batch + static_cast<int>(depth);
  std::vector<int64_t> shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), x.shape().begin() + tail, x.shape().end());
  DYN_TRY(HostTensor result, newTensor(x.dtype(), std::move(shape)));
  const ElementCopier copier(result, x);
  const int64_t batches = sizeProduct(x.shape(), 0, batch),
                rows = sizeProduct(indices.shape(), batch, indices.rank() - 1),
                slice = sizeProduct(x.shape(), tail, x.rank());
  int64_t to = 0;
  for (int64_t row = 0; slice > 0 && row < batches * rows; ++row) {
    int64_t from = row / rows;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t size = x.shape()[static_cast<size_t>(batch + k)];
      DYN_TRY(int64_t coordinate, wrapIndex(c, indices.intAt(row * depth + k), size));
      from = from * size + coordinate;
    }
    for (int64_t k = 0; k < slice; ++k) copier.copy(to++, from * slice + k);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerGatherNd(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0), indices = c.operandType(1);
  DYN_CHECK(requireCompiled(c, x.dtype()));
  const size_t batch = static_cast<size_t>(c.attributes().integer("batch_dims", 0));
  const std::optional<int64_t> depth = c.solver().canonical(indices.dims().back()).constant();
  if (!depth) return c.error(DiagnosticId::unsupportedFeature, "the last dim of the indices is not known");
  const std::ptrdiff_t rowRank = indices.rank() - 1;
  std::vector<Expr> row(index.begin(), index.begin() + rowRank);
  std::vector<Expr> from(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch));
  Expr allInRange = c.loops().boolean(true);
  for (int64_t k = 0; k < *depth; ++k) {
    row.push_back(c.integer(k));
    DYN_TRY(Expr value, c.read(1, row));
    row.pop_back();
    const Expr size = c.dim(x.dims()[batch + static_cast<size_t>(k)]),
               at = wrapIndex(c, indexExpr(c, value), size);
    allInRange = allInRange && inRange(c, at, size);
    from.push_back(at);
  }
  from.insert(from.end(), index.begin() + rowRank, index.end());
  DYN_TRY(Expr element, c.read(0, from));
  std::string bound;
  for (int64_t k = 0; k < *depth; ++k)
    bound += (k > 0 ? ", " : "") + axisText(x, batch + static_cast<size_t>(k));
  return c.checked(allInRange, element, {DYN_KERNEL_INDEX_OUT_OF_RANGE, {}, "index", bound});
}

constexpr AttributeSpec kGatherNdAttributes[] = {{"batch_dims", AttributeKind::integer, false,
                                                  "leading axes that operand and indices share; default 0",
                                                  Allowed::byRule("leading axes of both operands")}};

// --- gather_elements

Status inferGatherElements(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand indices, indexOperand(c, 1, "the indices"));
  if (indices.rank() != x.rank())
    return c.error(DiagnosticId::rankMismatch, "operand and indices must have the same rank");
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    DYN_CHECK(c.requireLessEqual(indices.dims[static_cast<size_t>(i)], x.dims[static_cast<size_t>(i)],
                                 "dim " + std::to_string(i) + " of the indices fits the operand"));
  }
  setTensor(c, indices.dims, x.dtype);
  return {};
}

Status evaluateGatherElements(EvalContext& c) {
  const HostTensor &x = c.operand(0), &indices = c.operand(1);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && indices.shape()[static_cast<size_t>(i)] > x.shape()[static_cast<size_t>(i)])
      return c.error(DiagnosticId::shapeMismatch, "the indices do not fit the operand");
  }
  DYN_TRY(HostTensor result, newTensor(x.dtype(), indices.shape()));
  const ElementCopier copier(result, x);
  std::vector<int64_t> strides = rowMajorStrides(x.shape());
  const int64_t step = strides[static_cast<size_t>(axis)], size = x.shape()[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] = 0;
  OffsetWalk walk(indices.shape(), {strides});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    DYN_TRY(int64_t at, wrapIndex(c, indices.intAt(i), size));
    copier.copy(i, walk.offset(0) + at * step);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerGatherElements(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0);
  DYN_CHECK(requireCompiled(c, x.dtype()));
  const int64_t axisGiven = c.attributes().integer("axis", 0);
  const size_t axis = static_cast<size_t>(axisGiven < 0 ? axisGiven + x.rank() : axisGiven);
  DYN_TRY(Expr value, c.read(1, index));
  const Expr given = indexExpr(c, value), size = c.dim(x.dims()[axis]), at = wrapIndex(c, given, size);
  std::vector<Expr> from(index.begin(), index.end());
  from[axis] = at;
  DYN_TRY(Expr element, c.read(0, from));
  return c.checked(inRange(c, at, size), element, indexCheck(given, x, axis));
}

// One slice, of a place that is known to be there.
std::optional<StridedPlace> viewOfGather(const ViewContext& c, int) {
  const std::optional<Contents> index = c.operandTypes[1].rank() == 0 ? c.contents(1) : std::nullopt;
  if (!index || index->size() != 1 || !index->front() || !index->front().isConstant()) return std::nullopt;
  int64_t axis = c.op.attributes.integer("axis", 0);
  if (axis < 0) axis += c.operandTypes[0].rank();
  const Dim n = c.operandTypes[0].dims()[static_cast<size_t>(axis)];
  const int64_t at = *index->front().constant();
  if (at == INT64_MIN || at == INT64_MAX || !c.lessEqual(c.constant(at < 0 ? -at : at + 1), n))
    return std::nullopt;
  StridedPlace place = c.operand;
  const Dim first = at < 0 ? n + at : c.constant(at);
  place.offset = place.offset + first * place.strides[static_cast<size_t>(axis)];
  place.strides.erase(place.strides.begin() + axis);
  return place;
}

constexpr OperandRule kGatherRules[] = {
    {1, ElementsAre::byKernel, "places of the axis, from the end if negative"}};
constexpr OperandRule kGatherNdRules[] = {
    {1, ElementsAre::byKernel, "places of operand 0, from the end if negative"}};
constexpr OperandRule kGatherElementsRules[] = {
    {1, ElementsAre::byKernel, "places of the axis, from the end if negative"}};

}  // namespace

namespace ops {

const OpDef gatherOp{
    .name = "gather",
    .summary = "slices of x along an axis, picked by indices",
    .cls = OpClass::injective,
    .traits = {.gathers = true},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kGatherAttributes,
    .infer = inferGather,
    .evaluate = evaluateGather,
    .lowering = LoweringKind::loops,
    .lower = lowerGather,
    .viewRule = viewOfGather,
    .operandRules = kGatherRules,
    .doc =
        "x [...a, n, ...b], indices [...i] -> [...a, ...i, ...b]; an index counts from the end if negative, "
        "outside [-n, n) it is a run-time error where the result has elements",
    .example =
        "fn @main(%table: Tensor[(1000, 8), f32], %ids: Tensor[(batch, seq), i64]) "
        "{ %y = gather(%table, %ids) {axis = 0} return %y }",
};

const OpDef gather_ndOp{
    .name = "gather_nd",
    .summary = "slices of x, picked by rows of coordinates",
    .cls = OpClass::injective,
    .traits = {.gathers = true},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kGatherNdAttributes,
    .infer = inferGatherNd,
    .evaluate = evaluateGatherNd,
    .lowering = LoweringKind::loops,
    .lower = lowerGatherNd,
    .operandRules = kGatherNdRules,
    .doc =
        "x [...b, k sizes, ...c], indices [...b, ...i, k] -> [...b, ...i, ...c]; k is constant; coordinates "
        "count from the end if negative",
    .example =
        "fn @main(%x: Tensor[(n, m, 4), f32], %i: Tensor[(k, 2), i64]) { %y = gather_nd(%x, %i) return %y }",
};

const OpDef gather_elementsOp{
    .name = "gather_elements",
    .summary = "elements of x along an axis, picked one by one",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true, .gathers = true},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kGatherAttributes,
    .infer = inferGatherElements,
    .evaluate = evaluateGatherElements,
    .lowering = LoweringKind::loops,
    .lower = lowerGatherElements,
    .operandRules = kGatherElementsRules,
    .doc =
        "x [...], indices of the same rank, its other dims at most those of x -> the indices' shape; "
        "y[i, j] = x[indices[i, j], j] for axis 0",
    .example =
        "fn @main(%x: Tensor[(n, 4), f32], %i: Tensor[(k, 4), i64]) "
        "{ %y = gather_elements(%x, %i) {axis = 0} return %y }",
};

}  // namespace ops
}  // namespace dyn
