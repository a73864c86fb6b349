// Taking parts of tensors and putting tensors together: slice, concat, split.
#include <algorithm>

#include "compiler/dims/dim_compact.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/shape_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// ---- slice ----

// What is taken along one axis: elements start, start + step, ... ; `count` of them.
struct AxisRange {
  Dim start, count;
};

// s + n where s is negative, as a dim.
Dim fromEnd(const InferContext& c, Dim s, Dim n) {
  const Dim zero = constantDim(c, 0), one = constantDim(c, 1);
  if (provenLessEqual(c, zero, s)) return s;
  if (provenLessEqual(c, s, constantDim(c, -1))) return s + n;
  // A value may be the smallest number there is, which has no opposite.
  return s.isSymbol() ? s - n * max(min(s, zero), zero - one) : s + n * min(max(zero - s, zero), one);
}

Dim clamped(const InferContext& c, Dim value, Dim low, Dim high) {
  return leastOf(c, greatestOf(c, value, low), high);
}

// A constant beyond every possible size: INT64_MAX and its like mean "to the end".
constexpr int64_t kBeyond = int64_t{1} << 62;

Dim boundOf(const InferContext& c, Dim given, Dim n, Dim low, Dim high) {
  if (given.isConstant()) {
    if (*given.constant() >= kBeyond) return high;
    if (*given.constant() <= -kBeyond) return leastOf(c, low, high);  // of an axis without elements
  }
  return clamped(c, fromEnd(c, given, n), low, high);
}

// ONNX: forward, both bounds are clamped to [0, n]; backward, the start to [0, n-1] and the end to [-1, n-1].
AxisRange axisRange(const InferContext& c, Dim n, Dim start, Dim end, int64_t step) {
  const Dim zero = constantDim(c, 0);
  if (step > 0) {
    const Dim first = boundOf(c, start, n, zero, n), last = boundOf(c, end, n, zero, n);
    // n - max(n - k, 0) is min(n, k): the form people expect.
    if (step == 1 && last == n && start.isConstant()) {
      const int64_t k = *start.constant();
      if (k < 0 && k > -kBeyond) return {first, leastOf(c, n, constantDim(c, -k))};
      if (k >= 0) return {first, greatestOf(c, n - k, zero)};
    }
    const Dim length = last - first;
    return {first, greatestOf(c, step == 1 ? length : ceilDiv(length, constantDim(c, step)), zero)};
  }
  const Dim top = n - 1, bottom = constantDim(c, -1);
  const Dim first = boundOf(c, start, n, zero, top);
  const Dim last = boundOf(c, end, n, bottom, top);
  const Dim length = first - last;
  const int64_t size = step == INT64_MIN ? INT64_MAX : -step;
  return {first, greatestOf(c, size == 1 ? length : ceilDiv(length, constantDim(c, size)), zero)};
}

// How many elements a step takes that is a value, of either sign, in [-n - 1, n + 1]. The bounds are brought
// near the axis as well, so that no sum overflows.
Dim countByStep(InferContext& c, Dim n, Dim start, Dim end, Dim step) {
  const Dim zero = constantDim(c, 0), one = constantDim(c, 1);
  const Dim isForward = min(max(step, zero), one);
  const auto bound = [&](Dim given, Dim low) {
    const Dim near = clamped(c, given, zero - n - 1, n + 1);
    return clamped(c, fromEnd(c, near, n), low, n - one + isForward);
  };
  const Dim length = bound(end, isForward - 1) - bound(start, zero);
  return max(ceilDiv(length, step), zero);
}

// The axis of each start, normalised.
Result<std::vector<int>> sliceAxes(InferContext& c, size_t count, int rank) {
  std::vector<int> axes;
  if (!c.hasOperand(3)) {
    if (static_cast<int>(count) > rank) return c.error(DiagnosticId::rankMismatch, "more starts than axes");
    for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int>(i));
    return axes;
  }
  DYN_TRY(std::vector<int64_t> given, constantAxes(c, 3, "the axes"));
  for (int64_t axis : given) {
    DYN_TRY(int at, axisOf(c, axis, rank));
    if (std::find(axes.begin(), axes.end(), at) != axes.end()) {
      return c.error(DiagnosticId::badAttribute, "axis " + std::to_string(at) + " is sliced twice");
    }
    axes.push_back(at);
  }
  if (axes.size() != count) return c.error(DiagnosticId::rankMismatch, "starts and axes differ in length");
  return axes;
}

// How many axes are sliced. The starts, ends, axes and steps are equally many, so the first vector whose
// length is known tells. One that was cut from another vector, at a place that is a value, has a length that
// only the run knows.
template <typename LengthOf>
std::optional<int64_t> slicedAxes(const LengthOf& lengthOf) {
  for (int i = 1; i <= 4; ++i) {
    if (const std::optional<int64_t> length = lengthOf(i)) return length;
  }
  return std::nullopt;
}

Status inferSlice(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  const std::optional<int64_t> count =
      slicedAxes([&](int i) { return c.hasOperand(i) ? vectorLength(c, i) : std::nullopt; });
  const auto given = [&](int i, std::string_view what) {
    return count ? vectorContents(c, i, *count, what) : vectorContents(c, i, what);
  };
  DYN_TRY(Contents starts, given(1, "the starts"));
  DYN_TRY(Contents ends, given(2, "the ends"));
  Contents steps(starts.size(), constantDim(c, 1));
  if (c.hasOperand(4)) {
    DYN_TRY(steps, given(4, "the steps"));
  }
  if (starts.size() != ends.size() || starts.size() != steps.size()) {
    return c.error(DiagnosticId::rankMismatch, "starts, ends and steps differ in length");
  }
  DYN_TRY(std::vector<int> axes, sliceAxes(c, starts.size(), x.rank()));
  Shape dims = x.dims;
  // Where the part's elements lie among the operand's, as long as these are known.
  const std::optional<std::vector<int64_t>> whole = constantSizes(dims);
  std::optional<Contents> contents = whole ? c.operandContents(0) : std::nullopt;
  std::vector<int64_t> strides = whole ? rowMajorStrides(*whole) : std::vector<int64_t>();
  int64_t first = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim n = x.dims[axes[i]];
    if (!steps[i] || !steps[i].isConstant()) {
      const int64_t at = static_cast<int64_t>(i);
      const Dim zero = constantDim(c, 0);
      const Dim step = clamped(c, elementOf(c, 4, at, steps, "step of a slice"), zero - n - 1, n + 1);
      DYN_CHECK(c.requireLessEqual(constantDim(c, 1), max(step, zero - step), "a step is not 0"));
      dims[axes[i]] = countByStep(c, n, elementOf(c, 1, at, starts, "start of a slice"),
                                  elementOf(c, 2, at, ends, "end of a slice"), step);
      contents.reset();
      continue;
    }
    const int64_t step = *steps[i].constant();
    if (step == 0) return c.error(DiagnosticId::badAttribute, "a step cannot be 0");
    const int64_t at = static_cast<int64_t>(i);
    const Dim start = elementOf(c, 1, at, starts, "start of a slice");
    const Dim end = elementOf(c, 2, at, ends, "end of a slice");
    const AxisRange range = axisRange(c, n, start, end, step);
    dims[axes[i]] = range.count;
    if (!contents) continue;
    if (!range.start.isConstant() || !range.count.isConstant()) {
      contents.reset();
      continue;
    }
    int64_t& stride = strides[static_cast<size_t>(axes[i])];
    first += *range.start.constant() * stride;
    if (*range.count.constant() > 1) stride *= step;  // else it may be any number
  }
  setTensor(c, dims, x.dtype);
  const std::optional<std::vector<int64_t>> sizes = contents ? constantSizes(dims) : std::nullopt;
  if (sizes && constantElementCount(dims).value_or(0) > 0)
    c.setResultContents(0, contentsAlong(*contents, *sizes, strides, first));
  return {};
}

Status evaluateSlice(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t> starts = elementsOf(c.operand(1)), ends = elementsOf(c.operand(2));
  std::vector<int64_t> axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (c.hasOperand(3)) axes = elementsOf(c.operand(3));
  if (c.hasOperand(4)) steps = elementsOf(c.operand(4));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return c.error(DiagnosticId::shapeCheckFailed, "starts, ends, axes and steps differ in length");
  }
  std::vector<int64_t> shape = x.shape(), first(shape.size(), 0), stride(shape.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    DYN_TRY(int axis, axisOf(c, axes[i], x.rank()));
    const int64_t n = x.shape()[axis], step = steps[i];
    if (step == 0) return c.error(DiagnosticId::runtimeError, "a step cannot be 0");
    auto bound = [&](int64_t v, int64_t low, int64_t high) {
      return std::min(std::max(v < 0 ? v + n : v, low), high);
    };
    const int64_t begin = step > 0 ? bound(starts[i], 0, n) : bound(starts[i], 0, n - 1);
    const int64_t end = step > 0 ? bound(ends[i], 0, n) : bound(ends[i], -1, n - 1);
    int64_t count = 0;
    if (step > 0 && end > begin) count = (end - begin - 1) / step + 1;
    if (step < 0 && end < begin)
      count =
          static_cast<int64_t>((static_cast<uint64_t>(begin - end) - 1) / (0 - static_cast<uint64_t>(step))) +
          1;
    shape[axis] = count;
    first[axis] = begin;
    stride[axis] = step;
  }
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  return evaluateCopy(c, x, shape, [&](auto index) -> Result<int64_t> {
    int64_t flat = 0;
    for (size_t a = 0; a < index.size(); ++a) flat += (first[a] + index[a] * stride[a]) * strides[a];
    return flat;
  });
}

// Where the slice begins along one axis, from values that may only be known when it runs.
Result<Expr> sliceStart(LowerContext& c, int64_t i, Dim extent, Expr step) {
  const Expr n = c.dim(extent);
  DYN_TRY(Expr start, c.contents(1, i));
  start = c.loops().cast(start, Dtype::i64);
  if (start.kind() == loop::ExprKind::intConstant && step.kind() == loop::ExprKind::intConstant &&
      step.intValue() > 0) {
    // Within the axis for all its sizes: nothing to bring near.
    const int64_t first = start.intValue();
    const Dim reach = c.loops().dims().constant(first < 0 ? -std::max(first, -kBeyond) : first);
    if (c.solver().lessEqual(reach, extent) == Answer::yes) return wrapped(start, n);
  }
  // A value is brought near the axis first: n is not added to the smallest number there is.
  if (start.kind() != loop::ExprKind::intConstant) start = min(max(start, c.integer(0) - n - 1), n + 1);
  start = wrapped(start, n);
  const Expr zero = c.integer(0);
  const Expr high = select(zero < step, n, n - 1);
  return min(max(start, zero), high);
}

Result<Expr> lowerSlice(LowerContext& c, int, std::span<const Expr> index) {
  const Shape dims = c.operandType(0).dims();
  const std::optional<int64_t> count = slicedAxes([&](int i) -> std::optional<int64_t> {
    if (!c.hasOperand(i)) return std::nullopt;
    if (c.operandType(i).rank() == 0) return 1;
    return c.solver().canonical(c.operandType(i).dims()[0]).constant();
  });
  if (!count) return c.error(DiagnosticId::unsupportedFeature, "the number of slices is not known");
  std::vector<Expr> source(index.begin(), index.end());
  for (int64_t i = 0; i < *count; ++i) {
    int64_t axis = i;
    if (c.hasOperand(3)) {
      DYN_TRY(Expr given, c.contents(3, i));
      if (given.kind() != loop::ExprKind::intConstant) {
        return c.error(DiagnosticId::unsupportedFeature, "the axes of a slice must be constants");
      }
      axis = given.intValue();
    }
    if (axis < 0) axis += static_cast<int64_t>(dims.size());
    Expr step = c.integer(1);
    if (c.hasOperand(4)) {
      DYN_TRY(step, c.contents(4, i));
      step = c.loops().cast(step, Dtype::i64);
    }
    DYN_TRY(Expr start, sliceStart(c, i, dims[axis], step));
    source[axis] = start + index[axis] * step;
  }
  return c.read(0, source);
}

constexpr int64_t kLongestStep = INT32_MAX;  // of a view: times a stride, it fits in 64 bits

// The first element taken along an axis of n; nullopt: it depends on what only the run knows.
std::optional<Dim> firstTaken(const ViewContext& c, Dim start, Dim n, int64_t step) {
  const Dim zero = c.constant(0), high = step > 0 ? n : n - 1;
  if (start.isConstant() && *start.constant() < 0)
    return *start.constant() <= -kBeyond ? zero : min(max(n + *start.constant(), zero), high);
  if (!c.lessEqual(zero, start)) return std::nullopt;
  if (start.isConstant() && *start.constant() >= kBeyond) return high;
  return c.lessEqual(start, high) ? start : min(start, high);
}

std::optional<StridedPlace> viewOfSlice(const ViewContext& c, int) {
  const std::optional<Contents> starts = c.contents(1);
  if (!starts) return std::nullopt;
  const Shape& dims = c.operandTypes[0].dims();
  const auto given = [&](int operand, Contents otherwise) {
    const bool there = static_cast<size_t>(operand) < c.op.operands.size() &&
                       c.op.operands[static_cast<size_t>(operand)] != kNoValue;
    return there ? c.contents(operand) : std::optional(std::move(otherwise));
  };
  Contents all;
  for (size_t i = 0; i < starts->size(); ++i) all.push_back(c.constant(static_cast<int64_t>(i)));
  const std::optional<Contents> axes = given(3, all),
                                steps = given(4, Contents(starts->size(), c.constant(1)));
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size())
    return std::nullopt;
  StridedPlace place = c.operand;
  for (size_t i = 0; i < starts->size(); ++i) {
    if (!(*starts)[i] || !(*axes)[i] || !(*axes)[i].isConstant() || !(*steps)[i] || !(*steps)[i].isConstant())
      return std::nullopt;
    const int64_t at = *(*axes)[i].constant(), step = *(*steps)[i].constant();
    const auto axis = static_cast<size_t>(at < 0 ? at + static_cast<int64_t>(dims.size()) : at);
    const std::optional<Dim> first = firstTaken(c, (*starts)[i], dims[axis], step);
    if (!first || step == 0 || step < -kLongestStep || step > kLongestStep) return std::nullopt;
    place.offset = place.offset + *first * c.operand.strides[axis];
    place.strides[axis] = c.operand.strides[axis] * step;
  }
  return place;
}

// ---- concat ----

Status inferConcat(InferContext& c) {
  DYN_TRY(TensorOperand first, tensorOperand(c, 0));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), first.rank()));
  Shape dims = first.dims;
  Contents contents;
  std::vector<Dim> lengths;
  bool known = first.rank() == 1;
  for (int i = 0; i < c.operandCount(); ++i) {
    DYN_TRY(TensorOperand x, tensorOperand(c, i, first.rank()));
    DYN_CHECK(requireSameDtype(c, first, x));
    lengths.push_back(x.dims[axis]);
    for (int k = 0; i > 0 && k < x.rank(); ++k) {
      if (k == axis) continue;
      DYN_CHECK(c.requireEqual(dims[k], x.dims[k],
                               "dim " + std::to_string(k) + " of operands 0 and " + std::to_string(i)));
      dims[k] = c.solver().canonical(dims[k]);
    }
    if (!known) continue;
    std::optional<int64_t> length = c.solver().canonical(x.dims[0]).constant();
    known = length && *length <= kMaxContents;
    if (!known) continue;
    std::optional<Contents> part = c.operandContents(i);
    if (part) {
      contents.insert(contents.end(), part->begin(), part->end());
    } else {
      contents.resize(contents.size() + static_cast<size_t>(*length));
    }
    known = static_cast<int64_t>(contents.size()) <= kMaxContents;
  }
  dims[axis] = sumOf(lengths);
  setTensor(c, dims, first.dtype);
  if (known && (isInteger(first.dtype) || first.dtype == Dtype::boolean))
    c.setResultContents(0, std::move(contents));
  return {};
}

Status evaluateConcat(EvalContext& c) {
  const HostTensor& first = c.operand(0);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), first.rank()));
  std::vector<int64_t> shape = first.shape();
  for (int i = 1; i < c.operandCount(); ++i) {
    for (int k = 0; k < first.rank(); ++k) {
      if (k != axis && c.operand(i).shape()[k] != shape[k]) {
        return c.error(DiagnosticId::shapeMismatch,
                       shapeText(first.shape()) + " and " + shapeText(c.operand(i).shape()));
      }
    }
    shape[axis] += c.operand(i).shape()[axis];
  }
  DYN_TRY(HostTensor result, newTensor(first.dtype(), shape));
  const std::vector<int64_t> strides = rowMajorStrides(shape);
  int64_t offset = 0;
  for (int i = 0; i < c.operandCount(); ++i) {
    const HostTensor& x = c.operand(i);
    const ElementCopier copier(result, x);
    OffsetWalk walk(x.shape(), {strides}, {offset * strides[axis]});
    for (int64_t k = 0; k < x.elementCount(); ++k, walk.next()) copier.copy(walk.offset(0), k);
    offset += x.shape()[axis];
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerConcat(LowerContext& c, int, std::span<const Expr> index) {
  const int rank = static_cast<int>(index.size());
  int64_t axis = c.attributes().integer("axis");
  if (axis < 0) axis += rank;
  // Where each operand begins.
  std::vector<Dim> begins{c.loops().dims().constant(0)};
  for (int i = 0; i + 1 < c.operandCount(); ++i)
    begins.push_back(begins.back() + c.operandType(i).dims()[axis]);
  std::vector<Expr> parts;
  for (int i = 0; i < c.operandCount(); ++i) {
    std::vector<Expr> source(index.begin(), index.end());
    source[axis] = index[axis] - c.dim(begins[i]);
    DYN_TRY(Expr part, c.read(i, source));
    parts.push_back(part);
  }
  // Neighbours are joined by pairs, so that thousands of operands nest a dozen deep and each element takes a
  // dozen comparisons.
  for (size_t width = 1; width < parts.size(); width *= 2)
    for (size_t i = 0; i + width < parts.size(); i += 2 * width)
      parts[i] = select(index[axis] < c.dim(begins[i + width]), parts[i], parts[i + width]);
  return parts[0];
}

// A kernel reads every operand in one expression and writes every result, which grows with them, and the
// machine code of it faster than that: many are copied one by one.
constexpr size_t kMostInKernel = 64;

bool builtinConcatTakes(const Op& op, std::span<const Type>) { return op.operands.size() > kMostInKernel; }

template <typename Call>
Status fillAxis(const BuiltinRequest& request, CallFields<Call>& call) {
  const Op& op = request.op;
  call.scalars.axis = op.results[0].type.dims()[0].context().constant(op.attributes.integer("axis"));
  return {};
}

// ---- split ----

Result<Shape> splitSizes(InferContext& c, Dim n) {
  const size_t results = c.op().results.size();
  if (c.hasOperand(1)) {
    DYN_TRY(Shape sizes, sizesOf(c, 1, "the sizes"));
    if (sizes.size() != results) {
      return c.error(DiagnosticId::badOperands,
                     std::to_string(sizes.size()) + " sizes for " + std::to_string(results) + " results");
    }
    Dim sum = constantDim(c, 0);
    for (Dim size : sizes) sum = sum + size;
    DYN_CHECK(c.requireEqual(sum, n, "the sizes add up to the dim"));
    return sizes;
  }
  const int64_t parts = c.attributes().integer("parts", static_cast<int64_t>(results));
  if (parts != static_cast<int64_t>(results) || parts < 1) {
    return c.error(DiagnosticId::badAttribute,
                   std::to_string(parts) + " parts for " + std::to_string(results) + " results");
  }
  // Chunks of ceil(n / parts); what is left over makes the last smaller.
  const Dim chunk = c.solver().divides(parts, n) == Answer::yes ? floorDiv(n, constantDim(c, parts))
                                                                : ceilDiv(n, constantDim(c, parts));
  if (c.solver().divides(parts, n) == Answer::yes) return Shape(results, chunk);
  Shape sizes;
  for (int64_t k = 0; k < parts; ++k) {
    sizes.push_back(greatestOf(c, leastOf(c, chunk, n - chunk * k), constantDim(c, 0)));
  }
  return sizes;
}

Status inferSplit(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), x.rank()));
  DYN_TRY(Shape sizes, splitSizes(c, x.dims[axis]));
  std::optional<Contents> contents = x.rank() == 1 ? c.operandContents(0) : std::nullopt;
  size_t at = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    Shape dims = x.dims;
    dims[axis] = sizes[k];
    setTensor(c, dims, x.dtype, static_cast<int>(k));
    if (!contents || !sizes[k].isConstant()) {
      contents.reset();
      continue;
    }
    const size_t end = std::min(contents->size(), at + static_cast<size_t>(*sizes[k].constant()));
    c.setResultContents(static_cast<int>(k), Contents(contents->begin() + static_cast<std::ptrdiff_t>(at),
                                                      contents->begin() + static_cast<std::ptrdiff_t>(end)));
    at = end;
  }
  return {};
}

Status evaluateSplit(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis"), x.rank()));
  const int64_t n = x.shape()[axis];
  const size_t results = c.op().results.size();
  std::vector<int64_t> sizes;
  if (c.hasOperand(1)) {
    sizes = elementsOf(c.operand(1));
  } else {
    const int64_t parts = static_cast<int64_t>(results), chunk = (n + parts - 1) / parts;
    for (int64_t k = 0; k < parts; ++k) sizes.push_back(std::max<int64_t>(0, std::min(chunk, n - chunk * k)));
  }
  int64_t sum = 0;
  for (int64_t size : sizes) sum += size;
  if (sum != n || sizes.size() != results)
    return c.error(DiagnosticId::shapeCheckFailed, "the sizes do not add up to the dim");
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  int64_t offset = 0;
  for (size_t k = 0; k < results; ++k) {
    std::vector<int64_t> shape = x.shape();
    shape[axis] = sizes[k];
    const int64_t base = offset * strides[axis];
    DYN_CHECK(evaluateCopy(
        c, x, shape, [&](auto index) -> Result<int64_t> { return base + flatIndex(index, strides); }, nullptr,
        static_cast<int>(k)));
    offset += sizes[k];
  }
  return {};
}

Result<Expr> lowerSplit(LowerContext& c, int result, std::span<const Expr> index) {
  int64_t axis = c.attributes().integer("axis");
  if (axis < 0) axis += static_cast<int64_t>(index.size());
  Dim offset = c.loops().dims().constant(0);
  for (int k = 0; k < result; ++k) offset = offset + c.resultType(k).dims()[axis];
  std::vector<Expr> source(index.begin(), index.end());
  source[axis] = index[axis] + c.dim(offset);
  return c.read(0, source);
}

std::optional<StridedPlace> viewOfSplit(const ViewContext& c, int result) {
  int64_t axis = c.op.attributes.integer("axis");
  if (axis < 0) axis += c.operandTypes[0].rank();
  StridedPlace place = c.operand;
  for (int k = 0; k < result; ++k)
    place.offset =
        place.offset + c.op.results[static_cast<size_t>(k)].type.dims()[static_cast<size_t>(axis)] *
                           place.strides[static_cast<size_t>(axis)];
  return place;
}

bool builtinSplitTakes(const Op& op, std::span<const Type> types) {
  return op.results.size() > kMostInKernel && types[0].dtype() != Dtype::string;
}

constexpr AttributeSpec kConcatAttributes[] = {
    {"axis", AttributeKind::integer, true, "from the end if negative", Allowed::axis()}};
constexpr AttributeSpec kSplitAttributes[] = {
    {"axis", AttributeKind::integer, false, "from the end if negative; default 0", Allowed::axis()},
    {"parts", AttributeKind::integer, false,
     "number of equal parts when no sizes are given; default: number of results", Allowed::atLeast(1)}};

constexpr OperandRule kSliceRules[] = {{3, ElementsAre::byRule, "axes of operand 0, none twice"},
                                       {4, ElementsAre::byRule, "not 0"}};
constexpr OperandRule kSplitRules[] = {{1, ElementsAre::byRule, "sizes of at least 0 that make up the axis"}};

}  // namespace

namespace ops {

const OpDef sliceOp{
    .name = "slice",
    .summary = "every step-th element from start up to end, along some axes",
    .cls = OpClass::view,
    .traits = {.keepsRank = true, .firstSizes = 1},
    .minOperands = 3,
    .maxOperands = 5,
    .infer = inferSlice,
    .evaluate = evaluateSlice,
    .lowering = LoweringKind::loops,
    .lower = lowerSlice,
    .viewRule = viewOfSlice,
    .operandRules = kSliceRules,
    .doc =
        "x [...], starts [k], ends [k], axes [k] | none, steps [k] | none -> [...]; negative bounds count "
        "from the end, bounds "
        "out of range are clamped, negative steps go backward",
    .example =
        "fn @main(%x: Tensor[(n, 4), f32]) { %s = constant() {value = i64[1] [1]} "
        "%e = constant() {value = i64[1] [-1]} %y = slice(%x, %s, %e) return %y }",
};

const OpDef concatOp{
    .name = "concat",
    .summary = "tensors one after the other along an axis",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = -1,
    .attributes = kConcatAttributes,
    .infer = inferConcat,
    .evaluate = evaluateConcat,
    .lowering = LoweringKind::loops,
    .lower = lowerConcat,
    .builtin = calling<calls::Concat, fillAxis<calls::Concat>>,
    .builtinTakes = builtinConcatTakes,
    .operandRules = kAnyElements,
    .doc = "[.., a, ..], [.., b, ..], ... -> [.., a + b + ..., ..]; the other dims must be equal.",
    .example =
        "fn @main(%a: Tensor[(n, 2), f32], %b: Tensor[(m, 2), f32]) { %y = concat(%a, %b) {axis = 0} return "
        "%y }",
};

const OpDef splitOp{
    .name = "split",
    .summary = "a tensor cut into parts along an axis",
    .cls = OpClass::view,
    .traits = {.keepsRank = true, .firstSizes = 1},
    .minOperands = 1,
    .maxOperands = 2,
    .results = -1,
    .attributes = kSplitAttributes,
    .infer = inferSplit,
    .evaluate = evaluateSplit,
    .lowering = LoweringKind::loops,
    .lower = lowerSplit,
    .viewRule = viewOfSplit,
    .builtin = calling<calls::Split, fillAxis<calls::Split>>,
    .builtinTakes = builtinSplitTakes,
    .operandRules = kSplitRules,
    .doc =
        "x [.., n, ..], sizes [parts] | none -> [.., size, ..] for each part; without sizes parts of "
        "ceil(n / parts), the last smaller.",
    .example = "fn @main(%x: Tensor[(n, 6), f32]) { %a, %b = split(%x) {axis = 1} return %a, %b }",
};

}  // namespace ops
}  // namespace dyn
