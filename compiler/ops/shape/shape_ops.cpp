// Operators that read or change only the shape: shape, size, reshape, squeeze, unsqueeze, transpose, expand.
#include <algorithm>
#include <numeric>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/need.h"
#include "compiler/ops/rules/shape_rules.h"
#include "compiler/ops/rules/view_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// Python's slice rule for the attributes start and end of `shape`.
std::pair<int, int> dimRange(const Attributes& attributes, int rank) {
  auto clamp = [&](int64_t v) {
    return static_cast<int>(std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank));
  };
  const int start = clamp(attributes.integer("start", 0)), end = clamp(attributes.integer("end", rank));
  return {start, std::max(start, end)};
}

Status inferShape(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  const auto [start, end] = dimRange(c.attributes(), x.rank());
  setTensor(c, {constantDim(c, end - start)}, Dtype::i64);
  c.setResultContents(0, Contents(x.dims.begin() + start, x.dims.begin() + end));
  return {};
}

Status evaluateShape(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const auto [start, end] = dimRange(c.attributes(), x.rank());
  c.setResult(0, HostTensor::vectorInt(Dtype::i64, std::span(x.shape()).subspan(start, end - start)));
  return {};
}

// The dims as a chain of choices on the index.
Result<Expr> lowerShape(LowerContext& c, int, std::span<const Expr> index) {
  const Shape dims = c.operandType(0).dims();
  const auto [start, end] = dimRange(c.attributes(), static_cast<int>(dims.size()));
  if (start == end) return c.integer(0);
  Expr value = c.dim(dims[end - 1]);
  for (int k = end - 1; k-- > start;) value = select(index[0] == c.integer(k - start), c.dim(dims[k]), value);
  return value;
}

Status inferSize(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  setTensor(c, {}, Dtype::i64);
  c.setResultContents(0, {productOf(c, x.dims)});
  return {};
}

// ---- reshape ----

// total / rest, where common factors (which may be zero) are taken out first.
struct Quotient {
  Shape numerator, denominator;
};

// Takes out of both what is in both.
void cancel(const InferContext& c, Shape& above, Shape& below) {
  Shape left;
  for (Dim d : below) {
    const auto same = std::find_if(above.begin(), above.end(),
                                   [&](Dim other) { return c.solver().equal(other, d) == Answer::yes; });
    if (same != above.end())
      above.erase(same);
    else
      left.push_back(d);
  }
  below = std::move(left);
}

// 4*n as 4 and n; the numbers as one in front, nullopt: it does not fit, or is 0.
std::optional<int64_t> splitFactors(Shape& dims) {
  int64_t number = 1;
  Shape factors;
  for (Dim d : dims) {
    const Shape parts = d.kind() == DimKind::mul ? Shape(d.operands().begin(), d.operands().end()) : Shape{d};
    for (Dim part : parts) {
      if (part.isConstant())
        number = checkedMul(number, *part.constant()).value_or(0);
      else
        factors.push_back(part);
    }
  }
  dims = std::move(factors);
  return number == 0 ? std::nullopt : std::optional(number);
}

Quotient cancelled(const InferContext& c, const Shape& total, const Shape& rest) {
  Quotient q{total, rest};
  cancel(c, q.numerator, q.denominator);
  const std::optional<int64_t> above = splitFactors(q.numerator), below = splitFactors(q.denominator);
  if (!above || !below) return {total, rest};
  cancel(c, q.numerator, q.denominator);
  const int64_t common = std::gcd(*above, *below);
  if (*above != common) q.numerator.push_back(constantDim(c, *above / common));
  if (*below != common) q.denominator.push_back(constantDim(c, *below / common));
  return q;
}

// The one size that makes the element counts agree.
Result<Dim> remainingSize(InferContext& c, const Shape& total, const Shape& rest) {
  const Quotient q = cancelled(c, total, rest);
  const Dim above = productOf(c, q.numerator);
  if (q.denominator.empty()) return above;
  Dim below = productOf(c, q.denominator);
  if (above.isConstant() && below.isConstant() && *below.constant() != 0 &&
      *above.constant() % *below.constant() != 0) {
    return c.error(DiagnosticId::shapeMismatch, "the element count " + productOf(c, total).toString() +
                                                    " is not a multiple of " + productOf(c, rest).toString());
  }
  // Without elements every size would do: 0 is taken, 1 where there are as many as of the other sizes.
  if (c.solver().equal(above, below) == Answer::yes) return constantDim(c, 1);
  // What was learnt of products tells: b*(h/7)*7*(w/7)*7 over h*w is b where windows leave no rest.
  for (Dim factor : q.numerator)
    if (!factor.isConstant() && c.solver().equal(above, factor * below) == Answer::yes) return factor;
  const Dim size = floorDiv(above, greatestOf(c, below, constantDim(c, 1)));
  DYN_CHECK(c.requireEqual(size * below, above, "the element count is a multiple of the other sizes"));
  return size;
}

// Made of sizes alone, or known not to be negative whatever it is made of (amounts of pads, say).
bool isSizeLike(const InferContext& c, Dim d) {
  const std::vector<SymbolId> symbols = symbolsOf(d);
  const auto isSize = [&](SymbolId symbol) {
    const Interval interval = c.solver().interval(c.ir().dims().symbolById(symbol));
    return interval.low && *interval.low >= 0;
  };
  return std::all_of(symbols.begin(), symbols.end(), isSize) ||
         c.solver().lessEqual(constantDim(c, 0), d) == Answer::yes;
}

// Sizes of which only the run knows whether they are -1, 0 or plain: where the elements have names, as
// expressions of these; else new symbols.
Status openSizes(InferContext& c, const Shape& x, const Contents& target, const std::vector<size_t>& open,
                 bool allowZero, Shape& dims) {
  const bool named = std::all_of(open.begin(), open.end(), [&](size_t i) { return bool(target[i]); });
  if (!named) {
    for (size_t i : open) dims[i] = c.fresh("a size given as a value");
    return {};
  }
  const Dim zero = constantDim(c, 0), one = constantDim(c, 1);
  Shape rest = dims, isOpen(dims.size());
  Dim opens = zero;
  for (size_t i : open) {
    const Dim d = target[i];
    DYN_CHECK(c.requireLessEqual(constantDim(c, -1), d, "an element of the shape"));
    isOpen[i] = min(max(zero - d, zero), one);
    opens = opens + isOpen[i];
    dims[i] = max(d, zero);
    if (!allowZero && i < x.size()) dims[i] = dims[i] + x[i] * (one - min(max(d, zero - d), one));
    rest[i] = dims[i] + isOpen[i];
  }
  DYN_CHECK(c.requireLessEqual(opens, one, "number of -1 in the shape"));
  const Dim all = productOf(c, x);
  const Dim inferred = floorDiv(all, max(productOf(c, rest), one));
  for (size_t i : open) dims[i] = dims[i] + isOpen[i] * inferred;
  return c.requireEqual(all, productOf(c, dims), "element counts before and after");
}

Status inferReshape(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(Contents target, vectorContents(c, 1, "the shape"));
  const bool allowZero = c.attributes().integer("allowzero") != 0;
  Shape dims(target.size());
  std::vector<size_t> open;  // sizes that only the element count or the run can tell
  bool hasMinusOne = false;
  for (size_t i = 0; i < target.size(); ++i) {
    const Dim d = target[i];
    if (d && d.isConstant(-1)) {
      if (hasMinusOne) return c.error(DiagnosticId::badAttribute, "-1 stands twice in the shape");
      hasMinusOne = true;
      open.push_back(i);
    } else if (d && d.isConstant(0) && !allowZero) {
      if (i >= x.dims.size()) {
        return c.error(DiagnosticId::rankMismatch, "element " + std::to_string(i) +
                                                       " of the shape copies a dim that " +
                                                       x.type.toString() + " does not have");
      }
      dims[i] = x.dims[i];
    } else if (d && isSizeLike(c, d)) {
      DYN_CHECK(c.requireLessEqual(constantDim(c, 0), d,
                                   "element " + std::to_string(i) + " of the shape is a size"));
      dims[i] = d;
    } else {
      open.push_back(i);  // may be -1 or 0 when it runs
    }
  }
  if (open.size() == 1) {
    Shape rest;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i != open[0]) rest.push_back(dims[i]);
    }
    DYN_TRY(dims[open[0]], remainingSize(c, x.dims, rest));
  } else if (open.empty()) {
    const Dim before = productOf(c, x.dims), after = productOf(c, dims);
    if (c.solver().equalElementCount(x.dims, dims) != Answer::yes) {
      DYN_CHECK(c.requireEqual(before, after, "element counts before and after"));
    }
  } else {
    DYN_CHECK(openSizes(c, x.dims, target, open, allowZero, dims));
  }
  DYN_CHECK(c.solver().addEqualProduct(productOf(c, x.dims), productOf(c, dims),
                                       {kElementCountReason, c.op().place}));
  setTensor(c, dims, x.dtype);
  passContents(c);
  return {};
}

Status evaluateReshape(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const bool allowZero = c.attributes().integer("allowzero") != 0;
  std::vector<int64_t> shape = elementsOf(c.operand(1));
  const Type type = c.resultType(0);
  // A size computed as 0 stays 0; only a constant 0 copies. The type knows which is which.
  auto typeSays = [&](size_t i) -> std::optional<int64_t> {
    if (!type || i >= type.dims().size()) return std::nullopt;
    Result<int64_t> value = c.dimValue(type.dims()[i]);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  };
  int64_t rest = 1;
  std::optional<size_t> inferred;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      if (inferred) return c.error(DiagnosticId::shapeCheckFailed, "-1 stands twice in the shape");
      inferred = i;
      continue;
    }
    if (shape[i] == 0 && !allowZero) {
      const bool canCopy = i < x.shape().size();
      shape[i] = typeSays(i).value_or(canCopy ? x.shape()[i] : 0);
    }
    if (shape[i] < 0) return c.error(DiagnosticId::shapeCheckFailed, "a negative size");
    rest *= shape[i];
  }
  if (inferred) shape[*inferred] = rest != 0 ? x.elementCount() / rest : typeSays(*inferred).value_or(0);
  if (sizeProduct(shape, 0, static_cast<int>(shape.size())) != x.elementCount()) {
    return c.error(DiagnosticId::shapeCheckFailed,
                   shapeText(x.shape()) + " cannot become " + shapeText(shape));
  }
  c.setResult(0, x.reshaped(std::move(shape)));
  return {};
}

// The element at the same row-major position.
Result<Expr> lowerSameOrder(LowerContext& c, int, std::span<const Expr> index) {
  const Shape to = c.resultType(0).dims(), from = c.operandType(0).dims();
  Expr flat = c.integer(0);
  for (size_t i = 0; i < to.size(); ++i) flat = flat * c.dim(to[i]) + index[i];
  std::vector<Expr> source(from.size());
  for (size_t i = from.size(); i-- > 0;) {
    source[i] = i == 0 ? flat : mod(flat, c.dim(from[i]));
    if (i) flat = floorDiv(flat, c.dim(from[i]));
  }
  return c.read(0, source);
}

// ---- squeeze, unsqueeze ----

Result<std::vector<int>> squeezedAxes(InferContext& c, const TensorOperand& x) {
  if (c.hasOperand(1)) {
    DYN_TRY(std::vector<int64_t> axes, constantAxes(c, 1, "the axes"));
    return axesOf(c, axes, x.rank());
  }
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i) {
    const Answer isOne = c.solver().equal(x.dims[i], constantDim(c, 1));
    if (isOne == Answer::yes) axes.push_back(i);
    if (isOne == Answer::unknown) {
      Error error =
          operandNeeded(c, 0, Need::Kind::shape,
                        "without axes all dims of size 1 go, but whether dim " + std::to_string(i) + " (" +
                            x.dims[i].toString() + ") is 1 is not known, so the rank is not");
      if (!x.dims[i].isSymbol() || hasAnonymous(x.dims[i])) return error;
      return std::move(error).note("a range says it: --dim " + x.dims[i].toString() + "=2..");
    }
  }
  return axes;
}

Status inferSqueeze(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(std::vector<int> axes, squeezedAxes(c, x));
  Shape dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      dims.push_back(x.dims[i]);
      continue;
    }
    DYN_CHECK(
        c.requireEqual(x.dims[i], constantDim(c, 1), "dim " + std::to_string(i) + " to leave out is 1"));
  }
  setTensor(c, dims, x.dtype);
  passContents(c);
  return {};
}

Status evaluateSqueeze(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  std::vector<char> leave(x.shape().size(), 0);
  if (c.hasOperand(1)) {
    for (int64_t given : elementsOf(c.operand(1))) {
      DYN_TRY(int axis, axisOf(c, given, x.rank()));
      leave[axis] = 1;
    }
  }
  std::vector<int64_t> shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (!c.hasOperand(1)) leave[i] = x.shape()[i] == 1;
    if (!leave[i]) shape.push_back(x.shape()[i]);
    if (leave[i] && x.shape()[i] != 1)
      return c.error(DiagnosticId::shapeCheckFailed, "a dim to leave out is not 1");
  }
  c.setResult(0, x.reshaped(std::move(shape)));
  return {};
}

Status inferUnsqueeze(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(std::vector<int64_t> given, constantAxes(c, 1, "the axes"));
  const int rank = x.rank() + static_cast<int>(given.size());
  DYN_TRY(std::vector<int> axes, axesOf(c, given, rank));
  Shape dims;
  size_t next = 0;
  for (int i = 0; i < rank; ++i) {
    const bool isNew = std::binary_search(axes.begin(), axes.end(), i);
    dims.push_back(isNew ? constantDim(c, 1) : x.dims[next++]);
  }
  setTensor(c, dims, x.dtype);
  passContents(c);
  return {};
}

Status evaluateUnsqueeze(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t> given = elementsOf(c.operand(1));
  const int rank = x.rank() + static_cast<int>(given.size());
  std::vector<int64_t> shape(static_cast<size_t>(rank), -1);
  for (int64_t axis : given) {
    DYN_TRY(int at, axisOf(c, axis, rank));
    shape[at] = 1;
  }
  size_t next = 0;
  for (int64_t& size : shape) {
    if (size < 0) size = x.shape()[next++];
  }
  c.setResult(0, x.reshaped(std::move(shape)));
  return {};
}

// ---- transpose, expand ----

template <typename Context>
Result<std::vector<int>> permutation(const Context& c, int rank) {
  std::vector<int> perm;
  if (!c.attributes().has("perm")) {
    for (int i = rank; i-- > 0;) perm.push_back(i);
    return perm;
  }
  for (int64_t axis : c.attributes().integers("perm")) {
    DYN_TRY(int at, axisOf(c, axis, rank));
    if (std::find(perm.begin(), perm.end(), at) != perm.end()) {
      return c.error(DiagnosticId::badAttribute, "perm names axis " + std::to_string(at) + " twice");
    }
    perm.push_back(at);
  }
  if (static_cast<int>(perm.size()) != rank) {
    return c.error(DiagnosticId::badAttribute,
                   "perm has " + std::to_string(perm.size()) + " axes for rank " + std::to_string(rank));
  }
  return perm;
}

Status inferTranspose(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(std::vector<int> perm, permutation(c, x.rank()));
  Shape dims;
  for (int axis : perm) dims.push_back(x.dims[axis]);
  setTensor(c, dims, x.dtype);
  const std::optional<std::vector<int64_t>> sizes = constantSizes(dims), before = constantSizes(x.dims);
  const std::optional<Contents> contents = sizes && before ? c.operandContents(0) : std::nullopt;
  if (!contents || contents->empty()) return {};
  std::vector<int64_t> strides;
  const std::vector<int64_t> from = rowMajorStrides(*before);
  for (int axis : perm) strides.push_back(from[static_cast<size_t>(axis)]);
  c.setResultContents(0, contentsAlong(*contents, *sizes, strides));
  return {};
}

Status evaluateTranspose(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(std::vector<int> perm, permutation(c, x.rank()));
  std::vector<int64_t> shape, strides;
  const std::vector<int64_t> from = rowMajorStrides(x.shape());
  for (int axis : perm) {
    shape.push_back(x.shape()[axis]);
    strides.push_back(from[axis]);
  }
  return evaluateCopy(c, x, shape, [&](auto index) -> Result<int64_t> { return flatIndex(index, strides); });
}

Result<Expr> lowerTranspose(LowerContext& c, int, std::span<const Expr> index) {
  std::vector<Expr> source(index.size());
  const std::vector<int64_t> order = transposeOrder(c.attributes(), static_cast<int>(index.size()));
  for (size_t i = 0; i < order.size(); ++i) source[static_cast<size_t>(order[i])] = index[i];
  return c.read(0, source);
}

std::optional<StridedPlace> viewOfTranspose(const ViewContext& c, int) {
  StridedPlace place{c.operand.offset, {}};
  for (int64_t axis : transposeOrder(c.op.attributes, static_cast<int>(c.operand.strides.size())))
    place.strides.push_back(c.operand.strides[static_cast<size_t>(axis)]);
  return place;
}

// Along an axis that is repeated all elements are the same one.
std::optional<StridedPlace> viewOfExpand(const ViewContext& c, int) {
  const Shape &from = c.operandTypes[0].dims(), &to = c.op.results[0].type.dims();
  StridedPlace place{c.operand.offset, Shape(to.size(), c.constant(0))};
  const size_t added = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis].isConstant(1)) continue;
    Dim& stride = place.strides[added + axis];
    stride = c.operand.strides[axis];
    // Equal, or 1: that is asked where the expansion stands, and the stride is 0 then.
    if (!c.equal(from[axis], to[added + axis])) stride = stride * min(from[axis] - 1, c.constant(1));
  }
  return place;
}

Status inferExpand(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(Shape target, sizesOf(c, 1, "the shape"));
  DYN_TRY(Shape dims, broadcastShapes(c, x.dims, target));
  setTensor(c, dims, x.dtype);
  std::optional<Contents> contents = c.operandContents(0);
  std::optional<int64_t> count = constantElementCount(dims);
  if (contents && contents->size() == 1 && count && *count <= kMaxContents) {
    c.setResultContents(0, Contents(static_cast<size_t>(*count), contents->front()));
  }
  return {};
}

Status evaluateExpand(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  auto shape = broadcastConcrete(x.shape(), elementsOf(c.operand(1)));
  if (!shape)
    return c.error(DiagnosticId::shapeCheckFailed,
                   "the shape does not broadcast with " + shapeText(x.shape()));
  const std::vector<int64_t> strides = broadcastStrides(x.shape(), *shape);
  return evaluateCopy(c, x, *shape, [&](auto index) -> Result<int64_t> { return flatIndex(index, strides); });
}

constexpr AttributeSpec kShapeAttributes[] = {
    {"start", AttributeKind::integer, false, "first dim, from the end if negative; default 0",
     Allowed::any()},
    {"end", AttributeKind::integer, false, "one past the last dim, from the end if negative; default: all",
     Allowed::any()}};
constexpr AttributeSpec kReshapeAttributes[] = {
    {"allowzero", AttributeKind::integer, false,
     "1: a 0 in the shape is a size; 0: it copies the dim; default 0", Allowed::flag()}};
constexpr AttributeSpec kTransposeAttributes[] = {{"perm", AttributeKind::integers, false,
                                                   "result axis i is operand axis perm[i]; default: reversed",
                                                   Allowed::permutation()}};

constexpr OperandRule kReshapeRules[] = {
    {1, ElementsAre::byRule, "at least -1, -1 once, for as many elements as there are"}};
constexpr OperandRule kSqueezeRules[] = {{1, ElementsAre::byRule, "axes of size 1, none twice"}};
constexpr OperandRule kUnsqueezeRules[] = {{1, ElementsAre::byRule, "axes of the result, none twice"}};
constexpr OperandRule kExpandRules[] = {
    {1, ElementsAre::byRule, "sizes that broadcast with those of operand 0"}};

}  // namespace

namespace ops {

const OpDef shapeOp{
    .name = "shape",
    .summary = "the sizes of a tensor, as an i64 vector",
    .cls = OpClass::structural,
    .traits = {.onlyReads = true, .readsShape = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kShapeAttributes,
    .infer = inferShape,
    .evaluate = evaluateShape,
    .lowering = LoweringKind::structural,
    .lower = lowerShape,
    .operandRules = kAnyElements,
    .doc = "[...] -> [rank] (or the dims start..end)",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = shape(%x) return %y }",
};

const OpDef sizeOp{
    .name = "size",
    .summary = "the number of elements, as an i64 scalar",
    .cls = OpClass::structural,
    .traits = {.onlyReads = true, .readsShape = true},
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferSize,
    .evaluate = [](EvalContext& c) -> Status {
      c.setResult(0, HostTensor::scalarInt(Dtype::i64, c.operand(0).elementCount()));
      return {};
    },
    .lowering = LoweringKind::structural,
    .lower = [](LowerContext& c, int, std::span<const Expr>) -> Result<Expr> {
      return c.dim(elementCount(c.loops().dims(), c.operandType(0).dims()));
    },
    .operandRules = kAnyElements,
    .doc = "[...] -> []",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = size(%x) return %y }",
};

const OpDef reshapeOp{
    .name = "reshape",
    .summary = "the same elements in another shape",
    .cls = OpClass::view,
    .traits = {.view = true, .firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kReshapeAttributes,
    .infer = inferReshape,
    .evaluate = evaluateReshape,
    .lowering = LoweringKind::structural,
    .lower = lowerSameOrder,
    .viewRule = viewInSameOrder,
    .operandRules = kReshapeRules,
    .doc =
        "x [...], shape [k] -> [shape]; -1: what the element count demands; a constant 0: the dim of x at "
        "that place",
    .example =
        "fn @main(%x: Tensor[(n, 4), f32]) { %s = constant() {value = i64[2] [-1, 2]} "
        "%y = reshape(%x, %s) return %y }",
};

const OpDef squeezeOp{
    .name = "squeeze",
    .summary = "leaves out axes of size 1",
    .cls = OpClass::view,
    .traits = {.view = true, .firstSizes = 1},
    .minOperands = 1,
    .maxOperands = 2,
    .infer = inferSqueeze,
    .evaluate = evaluateSqueeze,
    .lowering = LoweringKind::structural,
    .lower = lowerSameOrder,
    .viewRule = viewInSameOrder,
    .operandRules = kSqueezeRules,
    .doc = "x [...], axes [k] | none -> [... without the axes]; without axes all of size 1",
    .example =
        "fn @main(%x: Tensor[(n, 1), f32]) { %a = constant() {value = i64[1] [1]} "
        "%y = squeeze(%x, %a) return %y }",
};

const OpDef unsqueezeOp{
    .name = "unsqueeze",
    .summary = "adds axes of size 1",
    .cls = OpClass::view,
    .traits = {.view = true, .firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferUnsqueeze,
    .evaluate = evaluateUnsqueeze,
    .lowering = LoweringKind::structural,
    .lower = lowerSameOrder,
    .viewRule = viewInSameOrder,
    .operandRules = kUnsqueezeRules,
    .doc = "x [...], axes [k] (places in the result) -> [... with 1 at the axes]",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { %a = constant() {value = i64[1] [0]} "
        "%y = unsqueeze(%x, %a) return %y }",
};

const OpDef transposeOp{
    .name = "transpose",
    .summary = "permutes the axes",
    .cls = OpClass::view,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kTransposeAttributes,
    .infer = inferTranspose,
    .evaluate = evaluateTranspose,
    .lowering = LoweringKind::loops,
    .lower = lowerTranspose,
    .viewRule = viewOfTranspose,
    .operandRules = kAnyElements,
    .doc = "[d0, d1, ...] -> [d perm[0], d perm[1], ...]",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = transpose(%x) {perm = [1, 0]} return %y }",
};

const OpDef expandOp{
    .name = "expand",
    .summary = "repeats axes of size 1 to a shape",
    .cls = OpClass::view,
    .traits = {.firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferExpand,
    .evaluate = evaluateExpand,
    .lowering = LoweringKind::loops,
    .lower = [](LowerContext& c, int, std::span<const Expr> index) { return c.readBroadcast(0, index); },
    .viewRule = viewOfExpand,
    .operandRules = kExpandRules,
    .doc = "x [...], shape [k] -> broadcast(x, shape)",
    .example =
        "fn @main(%x: Tensor[(n, 1), f32]) { %s = constant() {value = i64[2] [1, 3]} "
        "%y = expand(%x, %s) return %y }",
};

}  // namespace ops
}  // namespace dyn
