// Operators whose results hang on an order of values or on how many elements satisfy something: topk, unique,
// nonzero, compress.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/ops/device_ops.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

namespace {

// What builtins take for "no axis: flat elements".
constexpr int32_t kFlat = DYN_AXIS_FLAT;

// -1, 0, 1; NaN is above all numbers and equal to itself.
int compareElements(const HostTensor& x, int64_t a, int64_t b) {
  if (x.dtype() == Dtype::string) return x.stringValues()[a].compare(x.stringValues()[b]);
  if (isReal(x.dtype())) {
    const double u = x.realAt(a), v = x.realAt(b);
    if (std::isnan(u) || std::isnan(v)) return std::isnan(u) - std::isnan(v);
    return (u > v) - (u < v);
  }
  const int64_t u = x.intAt(a), v = x.intAt(b);
  if (isSigned(x.dtype())) return (u > v) - (u < v);
  return (static_cast<uint64_t>(u) > static_cast<uint64_t>(v)) -
         (static_cast<uint64_t>(u) < static_cast<uint64_t>(v));
}

// --- topk

constexpr AttributeSpec kTopkAttributes[] = {
    {"axis", AttributeKind::integer, false, "default -1", Allowed::axis()},
    {"largest", AttributeKind::integer, false, "1: the largest, 0: the smallest; default 1", Allowed::flag()},
    {"sorted", AttributeKind::integer, false, "0: the order of the results is of no matter; default 1",
     Allowed::flag()},
};

Status inferTopk(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -1), x.rank()));
  DYN_TRY(TensorOperand count, tensorOperand(c, 1));
  DYN_CHECK(requireClass(c, count, {DtypeClass::integer}, "k"));
  if (count.rank() > 1)
    return c.error(DiagnosticId::rankMismatch, "k is one number, not " + count.type.toString());
  if (count.rank() == 1) DYN_CHECK(c.requireEqual(count.dims[0], constantDim(c, 1), "k is one number"));
  std::optional<Contents> known = c.operandContents(1);
  Dim k = known && known->size() == 1 ? (*known)[0] : Dim();
  if (!k) k = c.freshFromOperand(1, 0, "the k of topk");
  DYN_CHECK(c.requireLessEqual(constantDim(c, 0), k, "k is not negative"));
  DYN_CHECK(c.requireLessEqual(k, x.dims[static_cast<size_t>(axis)], "k elements are there"));
  Shape shape = x.dims;
  shape[static_cast<size_t>(axis)] = k;
  setTensor(c, shape, x.dtype);
  setTensor(c, shape, Dtype::i64, 1);
  return {};
}

Status evaluateTopk(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", -1), x.rank()));
  if (c.operand(1).elementCount() != 1) return c.error(DiagnosticId::shapeMismatch, "k is one number");
  const int64_t k = c.operand(1).intAt(0), length = x.shape()[static_cast<size_t>(axis)];
  if (k < 0 || k > length) {
    return c.error(DiagnosticId::shapeCheckFailed,
                   "k is " + std::to_string(k) + ", the axis has " + std::to_string(length) + " elements");
  }
  const bool largest = c.attributes().integer("largest", 1) != 0;
  const int64_t inner = sizeProduct(x.shape(), axis + 1, x.rank()), outer = sizeProduct(x.shape(), 0, axis);
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(axis)] = k;
  DYN_TRY(HostTensor values, newTensor(x.dtype(), shape));
  DYN_TRY(HostTensor places, newTensor(Dtype::i64, shape));
  const ElementCopier copier(values, x);
  std::vector<int64_t> order(static_cast<size_t>(length));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t start = o * length * inner + i;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const int compared = compareElements(x, start + a * inner, start + b * inner);
        return largest ? compared > 0 : compared < 0;
      });
      for (int64_t rank = 0; rank < k; ++rank) {
        const int64_t to = (o * k + rank) * inner + i;
        copier.copy(to, start + order[static_cast<size_t>(rank)] * inner);
        places.setInt(to, order[static_cast<size_t>(rank)]);
      }
    }
  }
  c.setResult(0, std::move(values));
  c.setResult(1, std::move(places));
  return {};
}

Status fillTopk(const BuiltinRequest& request, CallFields<calls::Topk>& call) {
  const Op& op = request.op;
  const int64_t axis = op.attributes.integer("axis", -1), rank = request.operandTypes[0].rank();
  call.numbers.axis = static_cast<int32_t>(axis);
  call.numbers.largest = op.attributes.integer("largest", 1) != 0;
  call.numbers.sorted = op.attributes.integer("sorted", 1) != 0;
  call.scalars.count = op.results[0].type.dims()[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  return {};
}

// --- unique

constexpr AttributeSpec kUniqueAttributes[] = {
    {"axis", AttributeKind::integer, false, "slices along this axis; left out: elements of x seen flat",
     Allowed::axis()},
    {"sorted", AttributeKind::integer, false, "1: ascending; 0: by first appearance; default 1",
     Allowed::flag()},
    kDeviceAttribute,
};

Status inferUnique(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  const size_t results = c.op().results.size();
  if (results < 1 || results > 4)
    return c.error(DiagnosticId::badOperands, "it has 1 to 4 results: values, first places, inverse, counts");
  const Dim count = c.fresh("unique counts distinct values");
  Shape shape{count};
  Dim sources = elementCount(c.ir().dims(), x.dims);
  if (c.attributes().has("axis")) {
    DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), x.rank()));
    shape = x.dims;
    sources = shape[static_cast<size_t>(axis)];
    shape[static_cast<size_t>(axis)] = count;
  }
  setTensor(c, shape, x.dtype);
  if (results > 1) setTensor(c, {count}, Dtype::i64, 1);
  if (results > 2) setTensor(c, {sources}, Dtype::i64, 2);
  if (results > 3) setTensor(c, {count}, Dtype::i64, 3);
  return {};
}

Status evaluateUnique(EvalContext& c) {
  const bool flat = !c.attributes().has("axis");
  const HostTensor x = flat ? c.operand(0).reshaped({c.operand(0).elementCount()}) : c.operand(0);
  DYN_TRY(int axis, axisOf(c, flat ? 0 : c.attributes().integer("axis"), x.rank()));
  const int64_t length = x.shape()[static_cast<size_t>(axis)];
  const int64_t inner = sizeProduct(x.shape(), axis + 1, x.rank()), outer = sizeProduct(x.shape(), 0, axis);
  auto compareSlices = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int compared = compareElements(x, (o * length + a) * inner + i, (o * length + b) * inner + i);
        if (compared != 0) return compared;
      }
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<size_t>(length));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compareSlices(a, b) < 0; });
  std::vector<int64_t> first, counts;           // of each distinct slice, in sorted order
  std::vector<int64_t> group(order.size(), 0);  // of each slice
  for (size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || compareSlices(order[k - 1], order[k]) != 0) {
      first.push_back(order[k]);
      counts.push_back(0);
    }
    ++counts.back();
    group[static_cast<size_t>(order[k])] = static_cast<int64_t>(first.size()) - 1;
  }
  std::vector<size_t> output(first.size());
  std::iota(output.begin(), output.end(), size_t{0});
  if (c.attributes().integer("sorted", 1) == 0)
    std::sort(output.begin(), output.end(), [&](size_t a, size_t b) { return first[a] < first[b]; });
  const int64_t distinct = static_cast<int64_t>(first.size());
  std::vector<int64_t> shape = x.shape(), firstOut, countsOut, rank(first.size()), inverse;
  shape[static_cast<size_t>(axis)] = distinct;
  DYN_TRY(HostTensor values, newTensor(x.dtype(), shape));
  const ElementCopier copier(values, x);
  for (size_t to = 0; to < output.size(); ++to) {
    const size_t from = output[to];
    rank[from] = static_cast<int64_t>(to);
    firstOut.push_back(first[from]);
    countsOut.push_back(counts[from]);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i)
        copier.copy((o * distinct + static_cast<int64_t>(to)) * inner + i,
                    (o * length + first[from]) * inner + i);
    }
  }
  for (int64_t g : group) inverse.push_back(rank[static_cast<size_t>(g)]);
  c.setResult(0, std::move(values));
  const std::vector<int64_t>* others[] = {&firstOut, &inverse, &countsOut};
  for (size_t r = 1; r < c.op().results.size(); ++r)
    c.setResult(static_cast<int>(r), HostTensor::vectorInt(Dtype::i64, *others[r - 1]));
  return {};
}

int32_t axisNumber(const Op& op) {
  return op.attributes.has("axis") ? static_cast<int32_t>(op.attributes.integer("axis")) : kFlat;
}

Status fillUnique(const BuiltinRequest& request, CallFields<calls::Unique>& call) {
  call.numbers.axis = axisNumber(request.op);
  call.numbers.sorted = request.op.attributes.integer("sorted", 1) != 0;
  return {};
}

// --- nonzero

constexpr AttributeSpec kNonzeroAttributes[] = {
    {"of_positions", AttributeKind::integer, false,
     "1: of a mask of positions, so that the memory of a run can be told from how many are kept; default 0",
     Allowed::flag()},
    kDeviceAttribute,
};

Status fillNonzero(const BuiltinRequest& request, CallFields<calls::Nonzero>& call) {
  call.numbers.ofPositions = request.op.attributes.integer("of_positions", 0) != 0;
  return {};
}

Status inferNonzero(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x,
                         {DtypeClass::real, DtypeClass::integer, DtypeClass::natural, DtypeClass::boolean},
                         "the operand"));
  setTensor(c, {constantDim(c, x.rank()), c.fresh("nonzero counts the elements that are not 0")}, Dtype::i64);
  return {};
}

Status evaluateNonzero(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    if (isReal(x.dtype()) ? x.realAt(i) != 0 : x.intAt(i) != 0) found.push_back(i);
  }
  const int64_t count = static_cast<int64_t>(found.size());
  DYN_TRY(HostTensor result, newTensor(Dtype::i64, {x.rank(), count}));
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  for (int axis = 0; axis < x.rank(); ++axis) {
    const size_t a = static_cast<size_t>(axis);
    for (int64_t k = 0; k < count; ++k)
      result.setInt(axis * count + k, found[static_cast<size_t>(k)] / strides[a] % x.shape()[a]);
  }
  c.setResult(0, std::move(result));
  return {};
}

// --- compress

constexpr AttributeSpec kCompressAttributes[] = {
    {"axis", AttributeKind::integer, false, "slices along this axis; left out: elements of x seen flat",
     Allowed::axis()},
    kDeviceAttribute,
};

Status inferCompress(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand condition, tensorOperand(c, 1, 1));
  DYN_CHECK(requireDtype(c, condition, Dtype::boolean, "the condition"));
  Shape shape{c.fresh("compress counts the conditions that hold")};
  Dim sources = elementCount(c.ir().dims(), x.dims);
  if (c.attributes().has("axis")) {
    DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), x.rank()));
    const Dim count = shape[0];
    shape = x.dims;
    sources = shape[static_cast<size_t>(axis)];
    shape[static_cast<size_t>(axis)] = count;
  }
  DYN_CHECK(c.requireLessEqual(condition.dims[0], sources, "no more conditions than slices"));
  setTensor(c, shape, x.dtype);
  return {};
}

Status evaluateCompress(EvalContext& c) {
  const bool flat = !c.attributes().has("axis");
  const HostTensor x = flat ? c.operand(0).reshaped({c.operand(0).elementCount()}) : c.operand(0);
  const HostTensor& condition = c.operand(1);
  DYN_TRY(int axis, axisOf(c, flat ? 0 : c.attributes().integer("axis"), x.rank()));
  const int64_t length = x.shape()[static_cast<size_t>(axis)];
  if (condition.elementCount() > length)
    return c.error(DiagnosticId::shapeCheckFailed, "there are more conditions than slices");
  std::vector<int64_t> kept;
  for (int64_t k = 0; k < condition.elementCount(); ++k) {
    if (condition.intAt(k) != 0) kept.push_back(k);
  }
  std::vector<int64_t> shape = x.shape();
  const int64_t count = static_cast<int64_t>(kept.size());
  shape[static_cast<size_t>(axis)] = count;
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const ElementCopier copier(result, x);
  const int64_t inner = sizeProduct(x.shape(), axis + 1, x.rank()), outer = sizeProduct(x.shape(), 0, axis);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t i = 0; i < inner; ++i)
        copier.copy((o * count + k) * inner + i, (o * length + kept[static_cast<size_t>(k)]) * inner + i);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillCompress(const BuiltinRequest& request, CallFields<calls::Compress>& call) {
  call.numbers.axis = axisNumber(request.op);
  return {};
}

constexpr OperandRule kTopkRules[] = {{1, ElementsAre::byRule, "0 to the size of the axis"}};

}  // namespace

namespace ops {

const OpDef topkOp{
    .name = "topk",
    .summary = "the k largest (smallest) elements along an axis and their places",
    .cls = OpClass::opaque,
    .traits = {.keepsRank = true, .firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 2,
    .results = 2,
    .attributes = kTopkAttributes,
    .infer = inferTopk,
    .evaluate = evaluateTopk,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Topk, fillTopk>,
    .operandRules = kTopkRules,
    .doc =
        "x [..., a, ...], k [] or [1] i64 -> values [..., k, ...], places of the same shape, i64. Of equal "
        "elements the first "
        "comes first; NaN is above all numbers.",
    .example =
        "fn @main(%x: Tensor[(n, 5), f32], %k: Tensor[(1), i64]) { %v, %i = topk(%x, %k) return %v, %i }",
};

const OpDef uniqueOp{
    .name = "unique",
    .summary = "the distinct elements, or slices along an axis",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .results = -1,
    .attributes = kUniqueAttributes,
    .infer = inferUnique,
    .evaluate = evaluateUnique,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Unique, fillUnique>,
    .operandRules = kAnyElements,
    .doc =
        "[...] -> values [?] (or [..., ?, ...] with an axis); on request the first place of each [?], for "
        "each source its value's "
        "number, counts [?]; all i64. NaN equals itself.",
    .example = "fn @main(%x: Tensor[(n), f32]) { %v, %f, %i, %c = unique(%x) return %v, %f, %i, %c }",
};

const OpDef nonzeroOp{
    .name = "nonzero",
    .summary = "the indices of the elements that are not 0",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kNonzeroAttributes,
    .infer = inferNonzero,
    .evaluate = evaluateNonzero,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Nonzero, fillNonzero>,
    .operandRules = kAnyElements,
    .doc = "[...] of rank r -> [r, ?] i64, one column per element, row-major order",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = nonzero(%x) return %y }",
};

const OpDef compressOp{
    .name = "compress",
    .summary = "the elements, or slices along an axis, whose condition holds",
    .cls = OpClass::opaque,
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kCompressAttributes,
    .infer = inferCompress,
    .evaluate = evaluateCompress,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Compress, fillCompress>,
    .operandRules = kAnyElements,
    .doc =
        "x [..., a, ...], condition [m] bool, m <= a -> [..., ?, ...]; without an axis x is seen flat and "
        "the result is [?]",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32], %c: Tensor[(n), bool]) { %y = compress(%x, %c) {axis = 0} return "
        "%y }",
};

}  // namespace ops
}  // namespace dyn
