// Tensors made from positions: range, constant_of_shape, one_hot, eye_like, trilu.
#include <cmath>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// --- range, range_real

// Start, limit and delta: three scalars of one dtype of that class.
Result<Dtype> rangeDtype(InferContext& c, DtypeClass wanted) {
  DYN_TRY(TensorOperand start, tensorOperand(c, 0, 0));
  for (int i : {1, 2}) {
    DYN_TRY(TensorOperand other, tensorOperand(c, i, 0));
    DYN_CHECK(requireSameDtype(c, start, other));
  }
  DYN_CHECK(requireClass(c, start, {wanted}, "the bounds"));
  return start.dtype;
}

Status inferRange(InferContext& c) {
  DYN_TRY(Dtype dtype, rangeDtype(c, DtypeClass::integer));
  const Dim start = elementDim(c, 0, 0, "start of the range"),
            limit = elementDim(c, 1, 0, "limit of the range"),
            delta = elementDim(c, 2, 0, "delta of the range");
  if (delta.isConstant(0)) return c.error(DiagnosticId::dimDomain, "the delta of a range is 0");
  const Dim zero = constantDim(c, 0), steps = ceilDiv(limit - start, delta);
  const bool isCounted = c.solver().lessEqual(zero, steps) == Answer::yes;
  const Dim count = c.solver().canonical(isCounted ? steps : max(zero, steps));
  setTensor(c, {count}, dtype);
  if (std::optional<int64_t> size = count.constant(); size && *size <= kMaxContents) {
    Contents contents;
    for (int64_t i = 0; i < *size; ++i) contents.push_back(start + delta * i);
    c.setResultContents(0, std::move(contents));
  }
  return {};
}

Status evaluateRange(EvalContext& c) {
  const int64_t start = c.operand(0).intAt(0), limit = c.operand(1).intAt(0), delta = c.operand(2).intAt(0);
  if (delta == 0) return c.error(DiagnosticId::dimDomain, "the delta of a range is 0");
  int64_t distance = 0;
  if (__builtin_sub_overflow(limit, start, &distance))
    return c.error(DiagnosticId::dimOverflow, "the number of elements of a range does not fit in 64 bits");
  const std::optional<int64_t> count = checkedCeilDiv(distance, delta);
  if (!count)
    return c.error(DiagnosticId::dimOverflow, "the number of elements of a range does not fit in 64 bits");
  DYN_TRY(HostTensor result, newTensor(c.operand(0).dtype(), {std::max<int64_t>(*count, 0)}));
  for (int64_t i = 0; i < result.elementCount(); ++i) result.setInt(i, start + i * delta);
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerRange(LowerContext& c, int, std::span<const Expr> index) {
  DYN_TRY(Expr start, c.read(0, {}));
  DYN_TRY(Expr delta, c.read(2, {}));
  const Expr step = start.dtype() == Dtype::i64 ? index[0] : c.loops().cast(index[0], start.dtype());
  return start + step * delta;
}

// max(0, ceil((limit - start) / delta)); nullopt when that is no number.
std::optional<int64_t> realCount(const HostTensor& start, const HostTensor& limit, const HostTensor& delta) {
  const double steps = std::ceil((limit.realAt(0) - start.realAt(0)) / delta.realAt(0));
  if (std::isnan(steps) || steps > 9e18) return std::nullopt;
  return steps > 0 ? static_cast<int64_t>(steps) : 0;
}

Status inferRangeReal(InferContext& c) {
  DYN_TRY(Dtype dtype, rangeDtype(c, DtypeClass::real));
  const HostTensor *start = c.operandConstant(0), *limit = c.operandConstant(1),
                   *delta = c.operandConstant(2);
  if (start && limit && delta) {
    const std::optional<int64_t> count = realCount(*start, *limit, *delta);
    if (!count)
      return c.error(DiagnosticId::dimDomain, "the number of elements of the range is not a number");
    setTensor(c, {constantDim(c, *count)}, dtype);
    return {};
  }
  setTensor(c, {c.fresh("the number of elements follows from real bounds")}, dtype);
  return {};
}

Status evaluateRangeReal(EvalContext& c) {
  const HostTensor &start = c.operand(0), &delta = c.operand(2);
  const std::optional<int64_t> count = realCount(start, c.operand(1), delta);
  if (!count) return c.error(DiagnosticId::dimDomain, "the number of elements of the range is not a number");
  DYN_TRY(HostTensor result, newTensor(start.dtype(), {*count}));
  // In f32 (or narrower) each step rounds, as in the kernel.
  const bool isDouble = start.dtype() == Dtype::f64;
  const auto rounded = [&](double value) { return isDouble ? value : static_cast<float>(value); };
  const double from = start.realAt(0), step = delta.realAt(0);
  for (int64_t i = 0; i < *count; ++i) {
    result.setReal(i, from + rounded(rounded(static_cast<double>(i)) * step));
  }
  c.setResult(0, std::move(result));
  return {};
}

Status checkRealRange(const BuiltinRequest& request, CallFields<calls::Range>&) {
  const Op& op = request.op;
  const Dtype dtype = op.results[0].type.dtype();
  if (dtype == Dtype::f32 || dtype == Dtype::f64) return {};
  return makeError(DiagnosticId::unsupportedDtype,
                   "ranges of " + std::string(toString(dtype)) + " are not compiled", op.place);
}

// --- constant_of_shape

HostTensor fillValue(const Attributes& attributes) {
  const HostTensor* value = attributes.tensor("value");
  return value ? *value : HostTensor::scalar(Dtype::f32, 0);
}

Status inferConstantOfShape(InferContext& c) {
  const HostTensor value = fillValue(c.attributes());
  if (value.elementCount() != 1) return c.error(DiagnosticId::badAttribute, "the value must be one element");
  DYN_TRY(Contents contents, vectorContents(c, 0, "the shape"));
  Shape dims;
  for (size_t i = 0; i < contents.size(); ++i) {
    DYN_TRY(Dim size, sizeDim(c, 0, static_cast<int64_t>(i), "dim " + std::to_string(i) + " of the shape"));
    dims.push_back(size);
  }
  setTensor(c, dims, value.dtype());
  const std::optional<int64_t> count = constantElementCount(dims);
  const bool isWhole = isInteger(value.dtype()) || value.dtype() == Dtype::boolean;
  if (count && *count <= kMaxContents && isWhole)
    c.setResultContents(0, Contents(static_cast<size_t>(*count), constantDim(c, value.intAt(0))));
  return {};
}

Status evaluateConstantOfShape(EvalContext& c) {
  const HostTensor value = fillValue(c.attributes());
  const std::vector<int64_t> shape = elementsOf(c.operand(0));
  for (int64_t size : shape) {
    if (size < 0)
      return c.error(DiagnosticId::shapeCheckFailed, "a dim of the shape is negative: " + shapeText(shape));
  }
  DYN_TRY(HostTensor result, newTensor(value.dtype(), shape));
  const ElementCopier copier(result, value);
  for (int64_t i = 0; i < result.elementCount(); ++i) copier.copy(i, 0);
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerConstantOfShape(LowerContext& c, int, std::span<const Expr>) {
  const HostTensor value = fillValue(c.attributes());
  DYN_CHECK(requireCompiled(c, value.dtype()));
  return constantOf(c, value);
}

constexpr AttributeSpec kConstantOfShapeAttributes[] = {{"value", AttributeKind::tensor, false,
                                                         "one element of any dtype; default f32 0",
                                                         Allowed::byRule("one element")}};

// --- one_hot

// The elements where the indices are constants and few: exports of repeat_interleave count repeats so.
std::optional<Contents> oneHotContents(const InferContext& c, int rank, int axis, Dim size) {
  const std::optional<std::vector<int64_t>> indices = constantElements(c, 0),
                                            shape = constantSizes(c.operandType(0).dims());
  const std::optional<Contents> values = c.operandContents(2);
  if (!indices || !shape || !values || values->size() != 2 || !size.isConstant()) return std::nullopt;
  const int64_t depth = *size.constant();
  const auto inner = static_cast<size_t>(sizeProduct(*shape, axis, rank));
  if (inner == 0 || depth < 0 || depth > kMaxContents / static_cast<int64_t>(indices->size()))
    return std::nullopt;
  Contents result;
  for (size_t first = 0; first < indices->size(); first += inner) {
    for (int64_t position = 0; position < depth; ++position) {
      for (size_t k = first; k < first + inner; ++k) {
        const int64_t index = (*indices)[k];
        result.push_back((*values)[position == (index < 0 ? index + depth : index) ? 1 : 0]);
      }
    }
  }
  return result;
}

Status inferOneHot(InferContext& c) {
  DYN_TRY(TensorOperand indices, tensorOperand(c, 0));
  DYN_CHECK(
      requireClass(c, indices, {DtypeClass::integer, DtypeClass::natural, DtypeClass::real}, "the indices"));
  DYN_TRY(TensorOperand depth, indexOperand(c, 1, "the depth"));
  DYN_CHECK(requireSingle(c, depth, "the depth"));
  DYN_TRY(TensorOperand values, tensorOperand(c, 2, 1));
  DYN_CHECK(c.requireEqual(values.dims[0], constantDim(c, 2), "number of values (off, on)"));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -1), indices.rank() + 1));
  DYN_TRY(Dim size, sizeDim(c, 1, 0, "the depth"));
  Shape dims = indices.dims;
  dims.insert(dims.begin() + axis, size);
  setTensor(c, std::move(dims), values.dtype);
  if (!isInteger(values.dtype) && values.dtype != Dtype::boolean) return {};
  if (std::optional<Contents> contents = oneHotContents(c, indices.rank(), axis, size))
    c.setResultContents(0, std::move(*contents));
  return {};
}

Status evaluateOneHot(EvalContext& c) {
  const HostTensor &indices = c.operand(0), &values = c.operand(2);
  const int64_t depth = c.operand(1).intAt(0);
  if (depth < 0) return c.error(DiagnosticId::shapeCheckFailed, "the depth is negative");
  if (values.elementCount() != 2) return c.error(DiagnosticId::shapeMismatch, "there must be two values");
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -1), indices.rank() + 1));
  std::vector<int64_t> shape = indices.shape();
  shape.insert(shape.begin() + axis, depth);
  DYN_TRY(HostTensor result, newTensor(values.dtype(), std::move(shape)));
  const ElementCopier copier(result, values);
  const int64_t outer = sizeProduct(indices.shape(), 0, axis),
                inner = sizeProduct(indices.shape(), axis, indices.rank());
  int64_t to = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t position = 0; position < depth; ++position) {
      for (int64_t k = 0; k < inner; ++k, ++to) {
        const int64_t index = indices.intAt(o * inner + k);
        copier.copy(to, position == (index < 0 ? index + depth : index) ? 1 : 0);
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerOneHot(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.resultType(0);
  DYN_CHECK(requireCompiled(c, type.dtype()));
  const int64_t given = c.attributes().integer("axis", -1);
  const std::ptrdiff_t axis = static_cast<std::ptrdiff_t>(given < 0 ? given + type.rank() : given);
  std::vector<Expr> at(index.begin(), index.end());
  at.erase(at.begin() + axis);
  DYN_TRY(Expr hot, c.read(0, at));
  hot = wrapIndex(c, indexExpr(c, hot), c.dim(type.dims()[static_cast<size_t>(axis)]));
  DYN_TRY(Expr off, c.read(2, std::vector<Expr>{c.integer(0)}));
  DYN_TRY(Expr on, c.read(2, std::vector<Expr>{c.integer(1)}));
  return select(hot == index[static_cast<size_t>(axis)], on, off);
}

constexpr AttributeSpec kOneHotAttributes[] = {
    {"axis", AttributeKind::integer, false,
     "the new axis in the result, from the end if negative; default -1", Allowed::newAxis()}};

// --- eye_like

Status inferEyeLike(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0, 2));
  const Dtype dtype = c.attributes().dtype("dtype", x.dtype);
  if (dtype == Dtype::string || dtypeClass(dtype) == DtypeClass::complex)
    return c.error(DiagnosticId::dtypeMismatch,
                   "an identity matrix cannot have element type " + std::string(toString(dtype)));
  setTensor(c, x.dims, dtype);
  return {};
}

Status evaluateEyeLike(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(c.attributes().dtype("dtype", x.dtype()), x.shape()));
  const int64_t columns = x.shape()[1], k = c.attributes().integer("k", 0);
  for (int64_t i = 0; i < result.elementCount(); ++i) {
    const bool isOne = i % columns - i / columns == k;
    if (isReal(result.dtype())) {
      result.setReal(i, isOne ? 1 : 0);
    } else {
      result.setInt(i, isOne ? 1 : 0);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerEyeLike(LowerContext& c, int, std::span<const Expr> index) {
  const Dtype dtype = c.resultType(0).dtype();
  const Expr isOne = index[1] - index[0] == c.integer(c.attributes().integer("k", 0));
  return dtype == Dtype::boolean ? isOne : select(isOne, c.number(1, dtype), c.number(0, dtype));
}

constexpr AttributeSpec kEyeLikeAttributes[] = {
    {"k", AttributeKind::integer, false, "the diagonal of ones: above the main one if positive; default 0",
     Allowed::any()},
    {"dtype", AttributeKind::dtype, false, "element type of the result; default that of x", Allowed::any()}};

// --- trilu

Status inferTrilu(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  if (x.rank() < 2)
    return c.error(DiagnosticId::rankMismatch, "operand 0 must be matrices, it is " + x.type.toString());
  if (c.hasOperand(1)) {
    DYN_TRY(TensorOperand k, indexOperand(c, 1, "the diagonal"));
    DYN_CHECK(requireSingle(c, k, "the diagonal"));
  }
  c.setResult(0, x.type);
  return {};
}

Status evaluateTrilu(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const bool isUpper = c.attributes().integer("upper", 1) != 0;
  const int64_t k = c.hasOperand(1) ? c.operand(1).intAt(0) : 0;
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  const ElementCopier copier(result, x);
  const int64_t columns = x.shape()[x.shape().size() - 1], rows = x.shape()[x.shape().size() - 2];
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const int64_t diagonal = i % columns - i / columns % rows;
    if (isUpper ? diagonal >= k : diagonal <= k) copier.copy(i, i);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerTrilu(LowerContext& c, int, std::span<const Expr> index) {
  const Dtype dtype = c.resultType(0).dtype();
  DYN_CHECK(requireCompiled(c, dtype));
  Expr k = c.integer(0);
  if (c.hasOperand(1)) {
    DYN_TRY(k, c.contents(1, 0));
  }
  DYN_TRY(Expr x, c.read(0, index));
  const Expr diagonal = index[index.size() - 1] - index[index.size() - 2];
  const bool isUpper = c.attributes().integer("upper", 1) != 0;
  return select(isUpper ? diagonal >= k : diagonal <= k, x, zeroOf(c, dtype));
}

constexpr AttributeSpec kTriluAttributes[] = {
    {"upper", AttributeKind::integer, false,
     "1: what is on and above the diagonal stays, 0: on and below; default 1", Allowed::flag()}};

constexpr OperandRule kRangeRules[] = {{2, ElementsAre::byKernel, "not 0"}};
constexpr OperandRule kRangeRealRules[] = {{2, ElementsAre::byRule, "not 0"}};
constexpr OperandRule kConstantOfShapeRules[] = {{0, ElementsAre::byRule, "at least 0"}};
constexpr OperandRule kOneHotRules[] = {{1, ElementsAre::byRule, "at least 0"}};

}  // namespace

namespace ops {

const OpDef rangeOp{
    .name = "range",
    .summary = "start, start + delta, ... before the limit, in integers",
    .cls = OpClass::injective,
    .traits = {.firstSizes = 0},
    .minOperands = 3,
    .maxOperands = 3,
    .infer = inferRange,
    .evaluate = evaluateRange,
    .lowering = LoweringKind::loops,
    .lower = lowerRange,
    .operandRules = kRangeRules,
    .doc = "start [], limit [], delta [] of one integer dtype -> [max(0, ceil((limit - start) / delta))]",
    .example =
        "fn @main(%a: Tensor[(), i64], %b: Tensor[(), i64], %d: Tensor[(), i64]) "
        "{ %y = range(%a, %b, %d) return %y }",
};

const OpDef range_realOp{
    .name = "range_real",
    .summary = "start, start + delta, ... before the limit, in reals",
    .cls = OpClass::opaque,
    .traits = {.firstSizes = 0},
    .minOperands = 3,
    .maxOperands = 3,
    .infer = inferRangeReal,
    .evaluate = evaluateRangeReal,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Range, checkRealRange>,
    .operandRules = kRangeRealRules,
    .doc =
        "start [], limit [], delta [] of one real dtype -> [max(0, ceil((limit - start) / delta))]; a row of "
        "its own because the number of elements is not a dim expression",
    .example =
        "fn @main(%a: Tensor[(), f32], %b: Tensor[(), f32], %d: Tensor[(), f32]) "
        "{ %y = range_real(%a, %b, %d) return %y }",
};

const OpDef constant_of_shapeOp{
    .name = "constant_of_shape",
    .summary = "a tensor of that shape, filled with one value",
    .cls = OpClass::injective,
    .traits = {.firstSizes = 0},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kConstantOfShapeAttributes,
    .infer = inferConstantOfShape,
    .evaluate = evaluateConstantOfShape,
    .lowering = LoweringKind::loops,
    .lower = lowerConstantOfShape,
    .operandRules = kConstantOfShapeRules,
    .doc = "shape [r] integers -> [shape[0], ..., shape[r - 1]]",
    .example = "fn @main(%s: Tensor[(2), i64]) { %y = constant_of_shape(%s) return %y }",
};

const OpDef one_hotOp{
    .name = "one_hot",
    .summary = "on at the index, off elsewhere along a new axis",
    .cls = OpClass::injective,
    .traits = {.firstSizes = 1},
    .minOperands = 3,
    .maxOperands = 3,
    .attributes = kOneHotAttributes,
    .infer = inferOneHot,
    .evaluate = evaluateOneHot,
    .lowering = LoweringKind::loops,
    .lower = lowerOneHot,
    .operandRules = kOneHotRules,
    .doc =
        "indices [...a, ...b], depth one integer, values [2] = (off, on) -> [...a, depth, ...b]; an index "
        "counts from the end if negative; outside [-depth, depth) all are off",
    .example =
        "fn @main(%i: Tensor[(n), i64], %d: Tensor[(), i64], %v: Tensor[(2), f32]) "
        "{ %y = one_hot(%i, %d, %v) {axis = -1} return %y }",
};

const OpDef eye_likeOp{
    .name = "eye_like",
    .summary = "ones on a diagonal, in the shape of x",
    .cls = OpClass::injective,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kEyeLikeAttributes,
    .infer = inferEyeLike,
    .evaluate = evaluateEyeLike,
    .lowering = LoweringKind::loops,
    .lower = lowerEyeLike,
    .operandRules = kAnyElements,
    .doc = "x [n, m] -> [n, m]; y[i, j] = 1 where j - i == k",
    .example = "fn @main(%x: Tensor[(n, m), f32]) { %y = eye_like(%x) {k = 1} return %y }",
};

const OpDef triluOp{
    .name = "trilu",
    .summary = "the upper or lower triangle of matrices, zero elsewhere",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 2,
    .attributes = kTriluAttributes,
    .infer = inferTrilu,
    .evaluate = evaluateTrilu,
    .lowering = LoweringKind::loops,
    .lower = lowerTrilu,
    .operandRules = kAnyElements,
    .doc = "x [..., n, m], k one integer | none (0) -> [..., n, m]; upper keeps j - i >= k, lower j - i <= k",
    .example =
        "fn @main(%x: Tensor[(b, n, n), f32], %k: Tensor[(), i64]) { %y = trilu(%x, %k) {upper = 0} return "
        "%y }",
};

}  // namespace ops
}  // namespace dyn
