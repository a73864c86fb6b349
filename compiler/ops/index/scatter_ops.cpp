// Elements written at indices: scatter_elements, scatter_nd, tensor_scatter. Updates are applied in row-major
// order; without a reduction the last one wins.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/need.h"
#include "vm/include/abi/dyn_builtin_numbers.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

enum class ScatterReduction : int32_t {
  none = DYN_SCATTER_SET,
  add = DYN_SCATTER_ADD,
  mul = DYN_SCATTER_MULTIPLY,
  min = DYN_SCATTER_MINIMUM,
  max = DYN_SCATTER_MAXIMUM
};
constexpr std::string_view kReductionNames[] = {"none", "add", "mul", "min", "max"};

std::optional<ScatterReduction> reductionOf(const Attributes& attributes) {
  const std::string name = attributes.string("reduction", "none");
  for (size_t i = 0; i < std::size(kReductionNames); ++i) {
    if (kReductionNames[i] == name) return static_cast<ScatterReduction>(i);
  }
  return std::nullopt;
}

// Data, indices, updates of the right dtypes and a known reduction.
Status requireScatter(const InferContext& c, const TensorOperand& data, const TensorOperand& updates) {
  DYN_CHECK(requireSameDtype(c, data, updates));
  const std::optional<ScatterReduction> reduction = reductionOf(c.attributes());
  if (!reduction) {
    return c.error(DiagnosticId::badAttribute, "reduction \"" + c.attributes().string("reduction") +
                                                   "\" is unknown; known: none, add, mul, max, min");
  }
  if (*reduction == ScatterReduction::none) return {};
  return requireClass(c, data,
                      {DtypeClass::real, DtypeClass::integer, DtypeClass::natural, DtypeClass::boolean},
                      "data with a reduction");
}

// Of truth values a sum is whether any holds, a product whether all do.
ScatterReduction reductionFor(Dtype dtype, ScatterReduction reduction) {
  if (dtype != Dtype::boolean) return reduction;
  return reduction == ScatterReduction::add   ? ScatterReduction::max
         : reduction == ScatterReduction::mul ? ScatterReduction::min
                                              : reduction;
}

// result[to] = result[to] (reduction) updates[from]
class ScatterWriter {
 public:
  ScatterWriter(HostTensor& result, const HostTensor& updates, ScatterReduction reduction)
      : result_(result),
        updates_(updates),
        reduction_(reductionFor(result.dtype(), reduction)),
        copier_(result, updates) {}

  void write(int64_t to, int64_t from) {
    if (reduction_ == ScatterReduction::none) return copier_.copy(to, from);
    if (isReal(result_.dtype())) {
      result_.setReal(to, combined(result_.realAt(to), updates_.realAt(from)));
    } else {
      result_.setInt(to, combined(result_.intAt(to), updates_.intAt(from)));
    }
  }

 private:
  double combined(double a, double b) const {
    switch (reduction_) {
      case ScatterReduction::none:
        return b;
      case ScatterReduction::add:
        return a + b;
      case ScatterReduction::mul:
        return a * b;
      case ScatterReduction::max:
        return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
      case ScatterReduction::min:
        return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    }
    return b;
  }
  int64_t combined(int64_t a, int64_t b) const {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    const bool isLess = isSigned(result_.dtype()) ? a < b : x < y;
    switch (reduction_) {
      case ScatterReduction::none:
        return b;
      case ScatterReduction::add:
        return static_cast<int64_t>(x + y);
      case ScatterReduction::mul:
        return static_cast<int64_t>(x * y);
      case ScatterReduction::max:
        return isLess ? b : a;
      case ScatterReduction::min:
        return isLess ? a : b;
    }
    return b;
  }

  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  HostTensor& result_;
  const HostTensor& updates_;
  ScatterReduction reduction_;
  ElementCopier copier_;
};

Result<HostTensor> copyOf(const HostTensor& x) {
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  const ElementCopier copier(result, x);
  for (int64_t i = 0; i < x.elementCount(); ++i) copier.copy(i, i);
  return result;
}

Status requireCompiledScatter(const Op& op, std::span<const Type> operands) {
  if (op.results[0].type.dtype() == Dtype::string)
    return makeError(DiagnosticId::unsupportedDtype, "strings are not compiled", op.place);
  const Dtype index = operands[1].dtype();
  if (index == Dtype::i64 || index == Dtype::i32) return {};
  return makeError(DiagnosticId::unsupportedDtype,
                   "indices of " + std::string(toString(index)) + " are not compiled", op.place);
}

// --- scatter_elements

// Elements of a small integer vector put elsewhere in it: the dims they are stay known.
void scatterContents(InferContext& c, Dim count) {
  if (c.attributes().string("reduction", "none") != "none" || !count.isConstant()) return;
  std::optional<Contents> contents = c.operandContents(0), updates = c.operandContents(2);
  const std::optional<std::vector<int64_t>> places = constantElements(c, 1);
  if (!contents || !places) return;
  const int64_t size = static_cast<int64_t>(contents->size());
  for (size_t k = 0; k < places->size(); ++k) {
    const int64_t at = (*places)[k] < 0 ? (*places)[k] + size : (*places)[k];
    if (at < 0 || at >= size) return;
    (*contents)[static_cast<size_t>(at)] = updates ? (*updates)[k] : Dim();
  }
  c.setResultContents(0, std::move(*contents));
}

Status inferScatterElements(InferContext& c) {
  DYN_TRY(TensorOperand data, tensorOperand(c, 0));
  DYN_TRY(TensorOperand indices, indexOperand(c, 1, "the indices"));
  DYN_TRY(TensorOperand updates, tensorOperand(c, 2));
  DYN_CHECK(requireScatter(c, data, updates));
  if (indices.rank() != data.rank() || updates.rank() != data.rank())
    return c.error(DiagnosticId::rankMismatch, "data, indices and updates must have the same rank");
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), data.rank()));
  for (int i = 0; i < data.rank(); ++i) {
    const size_t at = static_cast<size_t>(i);
    DYN_CHECK(c.requireEqual(updates.dims[at], indices.dims[at],
                             "dim " + std::to_string(i) + " of updates and indices"));
    if (i == axis) continue;
    DYN_CHECK(c.requireLessEqual(indices.dims[at], data.dims[at],
                                 "dim " + std::to_string(i) + " of the indices fits the data"));
  }
  c.setResult(0, data.type);
  if (data.rank() == 1) scatterContents(c, c.solver().canonical(indices.dims[0]));
  return {};
}

Status evaluateScatterElements(EvalContext& c) {
  const HostTensor &data = c.operand(0), &indices = c.operand(1), &updates = c.operand(2);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), data.rank()));
  if (indices.shape() != updates.shape())
    return c.error(DiagnosticId::shapeMismatch, "indices and updates differ in shape");
  for (int i = 0; i < data.rank(); ++i) {
    if (i != axis && indices.shape()[static_cast<size_t>(i)] > data.shape()[static_cast<size_t>(i)])
      return c.error(DiagnosticId::shapeMismatch, "the indices do not fit the data");
  }
  DYN_TRY(HostTensor result, copyOf(data));
  ScatterWriter writer(result, updates, *reductionOf(c.attributes()));
  std::vector<int64_t> strides = rowMajorStrides(data.shape());
  const int64_t step = strides[static_cast<size_t>(axis)], size = data.shape()[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] = 0;
  OffsetWalk walk(indices.shape(), {strides});
  for (int64_t i = 0; i < indices.elementCount(); ++i, walk.next()) {
    DYN_TRY(int64_t at, wrapIndex(c, indices.intAt(i), size));
    writer.write(walk.offset(0) + at * step, i);
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillScatterElements(const BuiltinRequest& request, CallFields<calls::ScatterElements>& call) {
  const Op& op = request.op;
  DYN_CHECK(requireCompiledScatter(op, request.operandTypes));
  const int64_t axis = op.attributes.integer("axis", 0), rank = op.results[0].type.rank();
  call.numbers.axis = static_cast<int32_t>(axis < 0 ? axis + rank : axis);
  call.numbers.how = static_cast<int32_t>(*reductionOf(op.attributes));
  return {};
}

// --- scatter_nd

Status inferScatterNd(InferContext& c) {
  DYN_TRY(TensorOperand data, tensorOperand(c, 0));
  DYN_TRY(TensorOperand indices, indexOperand(c, 1, "the indices"));
  DYN_TRY(TensorOperand updates, tensorOperand(c, 2));
  DYN_CHECK(requireScatter(c, data, updates));
  if (indices.rank() < 1) return c.error(DiagnosticId::rankMismatch, "the indices must have an axis");
  const std::optional<int64_t> depth = c.solver().canonical(indices.dims.back()).constant();
  if (!depth) {
    return operandNeeded(c, 1, Need::Kind::shape,
                         "the last dim of the indices is not known: it is " + indices.type.toString());
  }
  if (*depth > data.rank()) {
    return c.error(DiagnosticId::rankMismatch,
                   "indices of " + std::to_string(*depth) + " coordinates into " + data.type.toString());
  }
  Shape expected(indices.dims.begin(), indices.dims.end() - 1);
  expected.insert(expected.end(), data.dims.begin() + *depth, data.dims.end());
  if (updates.rank() != static_cast<int>(expected.size())) {
    return c.error(DiagnosticId::rankMismatch, "the updates must have rank " +
                                                   std::to_string(expected.size()) + ", they are " +
                                                   updates.type.toString());
  }
  for (size_t i = 0; i < expected.size(); ++i)
    DYN_CHECK(c.requireEqual(updates.dims[i], expected[i], "dim " + std::to_string(i) + " of the updates"));
  c.setResult(0, data.type);
  return {};
}

Status evaluateScatterNd(EvalContext& c) {
  const HostTensor &data = c.operand(0), &indices = c.operand(1), &updates = c.operand(2);
  const int64_t depth = indices.shape().back();
  if (depth > data.rank())
    return c.error(DiagnosticId::rankMismatch, "the indices have too many coordinates");
  std::vector<int64_t> expected(indices.shape().begin(), indices.shape().end() - 1);
  expected.insert(expected.end(), data.shape().begin() + depth, data.shape().end());
  if (updates.shape() != expected) {
    return c.error(DiagnosticId::shapeMismatch, "the updates must have shape " + shapeText(expected) +
                                                    ", not " + shapeText(updates.shape()));
  }
  DYN_TRY(HostTensor result, copyOf(data));
  ScatterWriter writer(result, updates, *reductionOf(c.attributes()));
  const int64_t rows = sizeProduct(indices.shape(), 0, indices.rank() - 1),
                slice = sizeProduct(data.shape(), static_cast<int>(depth), data.rank());
  for (int64_t row = 0; row < rows; ++row) {
    int64_t to = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t size = data.shape()[static_cast<size_t>(k)];
      DYN_TRY(int64_t coordinate, wrapIndex(c, indices.intAt(row * depth + k), size));
      to = to * size + coordinate;
    }
    for (int64_t k = 0; k < slice; ++k) writer.write(to * slice + k, row * slice + k);
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillScatterNd(const BuiltinRequest& request, CallFields<calls::ScatterNd>& call) {
  DYN_CHECK(requireCompiledScatter(request.op, request.operandTypes));
  call.numbers.how = static_cast<int32_t>(*reductionOf(request.op.attributes));
  return {};
}

// --- tensor_scatter: each batch's update at its own place of an axis

Status inferTensorScatter(InferContext& c) {
  DYN_TRY(TensorOperand past, tensorOperand(c, 0));
  DYN_TRY(TensorOperand update, tensorOperand(c, 1, past.rank()));
  DYN_CHECK(requireSameDtype(c, past, update));
  const std::string mode = c.attributes().string("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return c.error(DiagnosticId::badAttribute, "mode \"" + mode + "\" is unknown: it is linear or circular");
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -2), past.rank()));
  if (axis == 0) return c.error(DiagnosticId::badAttribute, "axis 0 is that of the batches");
  for (int i = 0; i < past.rank(); ++i) {
    const Dim a = update.dims[static_cast<size_t>(i)], b = past.dims[static_cast<size_t>(i)];
    if (i == axis) {
      DYN_CHECK(c.requireLessEqual(a, b, "the update fits"));
    } else {
      DYN_CHECK(c.requireEqual(a, b, "dim " + std::to_string(i) + " of the update"));
    }
  }
  if (c.hasOperand(2)) {
    DYN_TRY(TensorOperand places, indexOperand(c, 2, "the places"));
    if (places.rank() != 1) return c.error(DiagnosticId::rankMismatch, "the places are a vector");
    DYN_CHECK(c.requireEqual(places.dims[0], past.dims[0], "one place for each batch"));
  }
  c.setResult(0, past.type);
  return {};
}

Status evaluateTensorScatter(EvalContext& c) {
  const HostTensor &past = c.operand(0), &update = c.operand(1);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -2), past.rank()));
  const bool circular = c.attributes().string("mode", "linear") == "circular";
  const size_t along = static_cast<size_t>(axis);
  const int64_t size = past.shape()[along], length = update.shape()[along];
  std::vector<int64_t> wanted = past.shape();
  wanted[along] = length;
  if (update.shape() != wanted || length > size)
    return c.error(DiagnosticId::shapeMismatch, "an update of " + shapeText(update.shape()));
  DYN_TRY(HostTensor result, copyOf(past));
  const ElementCopier copier(result, update);
  const int64_t inner = sizeProduct(past.shape(), axis + 1, past.rank());
  const int64_t perBatch = sizeProduct(past.shape(), 1, axis);
  for (int64_t row = 0; row < past.shape()[0] * perBatch; ++row) {
    const int64_t start = c.hasOperand(2) ? c.operand(2).intAt(row / perBatch) : 0;
    if (start < 0 || (!circular && start + length > size))
      return c.error(DiagnosticId::runtimeError, "place " + std::to_string(start) + " is out of range");
    for (int64_t k = 0; k < length; ++k) {
      const int64_t to = circular ? (start + k) % size : start + k;
      for (int64_t i = 0; i < inner; ++i)
        copier.copy((row * size + to) * inner + i, (row * length + k) * inner + i);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerTensorScatter(LowerContext& c, int, std::span<const Expr> index) {
  const Type past = c.operandType(0);
  DYN_CHECK(requireCompiled(c, past.dtype()));
  const int64_t given = c.attributes().integer("axis", -2);
  const size_t axis = static_cast<size_t>(given < 0 ? given + past.rank() : given);
  const Expr size = c.dim(past.dims()[axis]), length = c.dim(c.operandType(1).dims()[axis]);
  Expr start = c.integer(0);
  if (c.hasOperand(2)) {
    DYN_TRY(start, c.read(2, index.first(1)));
    start = indexExpr(c, start);
  }
  const bool circular = c.attributes().string("mode", "linear") == "circular";
  const Expr from = circular ? mod(index[axis] - start, size) : index[axis] - start;
  std::vector<Expr> at(index.begin(), index.end());
  at[axis] = from;
  DYN_TRY(Expr old, c.read(0, index));
  DYN_TRY(Expr fresh, c.read(1, at));
  const Expr value = select(from >= c.integer(0) && from < length, fresh, old);
  const Expr fits = start >= c.integer(0);
  std::string bound = axisText(past, axis);
  if (!circular) bound += ", " + c.operandType(1).dims()[axis].toString() + " are written";
  return c.checked(circular ? fits : fits && start + length <= size, value,
                   {DYN_KERNEL_INDEX_OUT_OF_RANGE, start, "place", bound});
}

constexpr AttributeSpec kTensorScatterAttributes[] = {
    {"axis", AttributeKind::integer, false, "the axis that is written along; default -2", Allowed::axis()},
    {"mode", AttributeKind::string, false,
     "linear, or circular: past the end it goes on at 0; default linear", Allowed::oneOf("linear circular")}};

constexpr std::string_view kReductionDoc =
    "what is written: none (the update), add, mul, max, min (with what is there); default none";
constexpr AttributeSpec kScatterElementsAttributes[] = {
    {"axis", AttributeKind::integer, false,
     "the axis the indices are of, from the end if negative; default 0", Allowed::axis()},
    {"reduction", AttributeKind::string, false, kReductionDoc, Allowed::oneOf("none add mul max min")}};
constexpr AttributeSpec kScatterNdAttributes[] = {
    {"reduction", AttributeKind::string, false, kReductionDoc, Allowed::oneOf("none add mul max min")}};

constexpr OperandRule kScatterElementsRules[] = {
    {1, ElementsAre::byKernel, "places of the axis, from the end if negative"}};
constexpr OperandRule kScatterNdRules[] = {
    {1, ElementsAre::byKernel, "places of operand 0, from the end if negative"}};
constexpr OperandRule kTensorScatterRules[] = {
    {2, ElementsAre::byKernel, "places of the axis, with room for what is written"}};

}  // namespace

namespace ops {

const OpDef scatter_elementsOp{
    .name = "scatter_elements",
    .summary = "data with single elements replaced or combined along an axis",
    .cls = OpClass::opaque,
    .traits = {.keepsRank = true, .updatesFirst = true},
    .minOperands = 3,
    .maxOperands = 3,
    .attributes = kScatterElementsAttributes,
    .infer = inferScatterElements,
    .evaluate = evaluateScatterElements,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::ScatterElements, fillScatterElements>,
    .operandRules = kScatterElementsRules,
    .doc =
        "data [...], indices, updates: both of one shape, of the data's rank, its other dims at most the "
        "data's -> the data's shape; y[indices[i, j], j] = updates[i, j] for axis 0, in row-major order",
    .example =
        "fn @main(%x: Tensor[(n, 4), f32], %i: Tensor[(k, 4), i64], %u: Tensor[(k, 4), f32]) "
        "{ %y = scatter_elements(%x, %i, %u) {axis = 0, reduction = \"add\"} return %y }",
};

const OpDef scatter_ndOp{
    .name = "scatter_nd",
    .summary = "data with slices replaced or combined at rows of coordinates",
    .cls = OpClass::opaque,
    .traits = {.keepsRank = true, .updatesFirst = true},
    .minOperands = 3,
    .maxOperands = 3,
    .attributes = kScatterNdAttributes,
    .infer = inferScatterNd,
    .evaluate = evaluateScatterNd,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::ScatterNd, fillScatterNd>,
    .operandRules = kScatterNdRules,
    .doc =
        "data [k sizes, ...c], indices [...i, k], updates [...i, ...c] -> the data's shape; k is constant; "
        "in row-major order",
    .example =
        "fn @main(%x: Tensor[(n, 4), f32], %i: Tensor[(k, 1), i64], %u: Tensor[(k, 4), f32]) "
        "{ %y = scatter_nd(%x, %i, %u) return %y }",
};

const OpDef tensor_scatterOp{
    .name = "tensor_scatter",
    .summary = "a cache with an update written at a place of each batch's own",
    .cls = OpClass::injective,
    .minOperands = 2,
    .maxOperands = 3,
    .attributes = kTensorScatterAttributes,
    .infer = inferTensorScatter,
    .evaluate = evaluateTensorScatter,
    .lowering = LoweringKind::loops,
    .lower = lowerTensorScatter,
    .operandRules = kTensorScatterRules,
    .doc =
        "past [b, ..., s, ...], update [b, ..., u, ...], places [b] i64 (default 0) -> the shape of past; "
        "update k of "
        "batch b lies at places[b] + k",
    .example =
        "fn @main(%x: Tensor[(b, 8, 4), f32], %u: Tensor[(b, 1, 4), f32], %p: Tensor[(b), i64]) "
        "{ %y = tensor_scatter(%x, %u, %p) return %y }",
};

}  // namespace ops
}  // namespace dyn
