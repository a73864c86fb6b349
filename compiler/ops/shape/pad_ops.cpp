// Tensors repeated, padded and cut: tile, pad, center_crop_pad.
#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/need.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// --- tile

Status inferTile(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand repeats, indexOperand(c, 1, "the repeats"));
  if (repeats.rank() != 1) return c.error(DiagnosticId::rankMismatch, "the repeats must be a vector");
  DYN_CHECK(c.requireEqual(repeats.dims[0], constantDim(c, x.rank()), "one repeat for each axis"));
  Shape dims;
  Contents counts;
  for (int i = 0; i < x.rank(); ++i) {
    DYN_TRY(Dim count, sizeDim(c, 1, i, "repeat " + std::to_string(i)));
    counts.push_back(count);
    dims.push_back(x.dims[static_cast<size_t>(i)] * count);
  }
  setTensor(c, dims, x.dtype);
  std::optional<Contents> contents = c.operandContents(0);
  if (!contents || x.rank() != 1 || !counts[0].isConstant()) return {};
  const int64_t total =
      static_cast<int64_t>(contents->size()) * std::min(*counts[0].constant(), kMaxContents);
  if (total > kMaxContents || contents->empty()) return {};
  Contents result;
  for (int64_t i = 0; i < total; ++i)
    result.push_back((*contents)[static_cast<size_t>(i) % contents->size()]);
  c.setResultContents(0, std::move(result));
  return {};
}

Status evaluateTile(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t> repeats = elementsOf(c.operand(1));
  if (repeats.size() != x.shape().size())
    return c.error(DiagnosticId::shapeMismatch, "there must be one repeat for each axis");
  std::vector<int64_t> shape = x.shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::optional<int64_t> size = checkedMul(shape[i], repeats[i]);
    if (!size) return c.error(DiagnosticId::dimOverflow, "the result is too large");
    if (repeats[i] < 0) return c.error(DiagnosticId::shapeCheckFailed, "a repeat is negative");
    shape[i] = *size;
  }
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const ElementCopier copier(result, x);
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  OffsetWalk walk(shape, {});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    int64_t from = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      from += walk.index()[axis] % x.shape()[axis] * strides[axis];
    copier.copy(i, from);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerTile(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0);
  DYN_CHECK(requireCompiled(c, x.dtype()));
  std::vector<Expr> from;
  for (size_t i = 0; i < index.size(); ++i) {
    const Dim size = x.dims()[i];
    const bool isWhole = c.solver().equal(size, c.resultType(0).dims()[i]) == Answer::yes;
    from.push_back(isWhole ? index[i] : mod(index[i], c.dim(size)));
  }
  return c.read(0, from);
}

// --- pad

enum class PadMode : uint8_t { constant, reflect, edge, wrap };

std::optional<PadMode> padModeOf(const Attributes& attributes) {
  const std::string name = attributes.string("mode", "constant");
  if (name == "constant") return PadMode::constant;
  if (name == "reflect") return PadMode::reflect;
  if (name == "edge") return PadMode::edge;
  if (name == "wrap") return PadMode::wrap;
  return std::nullopt;
}

// Which elements of the pads are of an axis: (begin, end), or (-1, -1) for an axis that is not padded.
struct PadPlaces {
  std::vector<std::pair<int, int>> byAxis;
  int count = 0;  // axes padded
};

template <typename Context>
Result<PadPlaces> padPlaces(const Context& c, std::optional<std::vector<int64_t>> axes, int rank) {
  PadPlaces places{std::vector<std::pair<int, int>>(static_cast<size_t>(rank), {-1, -1}), rank};
  if (axes) places.count = static_cast<int>(axes->size());
  for (int k = 0; k < places.count; ++k) {
    const int64_t given = axes ? (*axes)[static_cast<size_t>(k)] : k;
    if (given < -rank || given >= rank)
      return c.error(DiagnosticId::badAttribute, "axis " + std::to_string(given) + " is out of range");
    auto& place = places.byAxis[static_cast<size_t>(given < 0 ? given + rank : given)];
    if (place.first >= 0)
      return c.error(DiagnosticId::badAttribute, "axis " + std::to_string(given) + " is given twice");
    place = {k, k + places.count};
  }
  return places;
}

Result<PadPlaces> padPlaces(const InferContext& c, int rank) {
  if (!c.hasOperand(3)) return padPlaces(c, std::nullopt, rank);
  std::optional<std::vector<int64_t>> axes = constantElements(c, 3);
  if (!axes) {
    // An empty vector has no contents to know.
    if (vectorLength(c, 3) != 0)
      return operandNeeded(c, 3, Need::Kind::contents, "the axes to pad are not known");
    axes.emplace();
  }
  return padPlaces(c, std::move(axes), rank);
}

Status inferPad(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand pads, indexOperand(c, 1, "the pads"));
  if (pads.rank() != 1) return c.error(DiagnosticId::rankMismatch, "the pads must be a vector");
  if (c.hasOperand(2)) {
    DYN_TRY(TensorOperand value, tensorOperand(c, 2, 0));
    DYN_CHECK(requireSameDtype(c, x, value));
  }
  const std::optional<PadMode> mode = padModeOf(c.attributes());
  if (!mode) return c.error(DiagnosticId::badAttribute, "the mode is constant, reflect, edge or wrap");
  DYN_TRY(PadPlaces places, padPlaces(c, x.rank()));
  DYN_CHECK(c.requireEqual(pads.dims[0], constantDim(c, 2 * places.count),
                           "a begin and an end for each axis padded"));
  const Dim zero = constantDim(c, 0), one = constantDim(c, 1);
  Shape dims = x.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto [first, last] = places.byAxis[i];
    if (first < 0) continue;
    const std::string axis = "axis " + std::to_string(i);
    const Dim begin = elementDim(c, 1, first, "padding before " + axis),
              end = elementDim(c, 1, last, "padding after " + axis);
    dims[i] = x.dims[i] + begin + end;
    DYN_CHECK(c.requireLessEqual(zero, dims[i], axis + " keeps a size of at least 0"));
    if (*mode == PadMode::constant) continue;
    const Dim inner = x.dims[i] + min(begin, zero) + min(end, zero);
    DYN_CHECK(c.requireLessEqual(min(dims[i], one), inner, axis + " has elements to pad with"));
  }
  setTensor(c, std::move(dims), x.dtype);
  return {};
}

// The place in [0, size) that stands for `at`. Precondition: size > 0.
int64_t paddedPlace(PadMode mode, int64_t at, int64_t size) {
  const auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  switch (mode) {
    case PadMode::constant:
      return at;
    case PadMode::edge:
      return std::clamp<int64_t>(at, 0, size - 1);
    case PadMode::wrap:
      return modulo(at, size);
    case PadMode::reflect: {
      const int64_t place = modulo(at, std::max<int64_t>(2 * (size - 1), 1));
      return std::min(place, 2 * (size - 1) - place);
    }
  }
  return at;
}

Status evaluatePad(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t> pads = elementsOf(c.operand(1));
  const PadMode mode = padModeOf(c.attributes()).value_or(PadMode::constant);
  std::optional<std::vector<int64_t>> axes;
  if (c.hasOperand(3)) axes = elementsOf(c.operand(3));
  DYN_TRY(PadPlaces places, padPlaces(c, std::move(axes), x.rank()));
  if (static_cast<int64_t>(pads.size()) != 2 * places.count)
    return c.error(DiagnosticId::shapeMismatch, "there must be a begin and an end for each axis padded");
  const size_t rank = x.shape().size();
  std::vector<int64_t> begins(rank), kept(rank), skipped(rank), shape = x.shape();
  for (size_t i = 0; i < rank; ++i) {
    const auto [first, last] = places.byAxis[i];
    const int64_t begin = first < 0 ? 0 : pads[static_cast<size_t>(first)],
                  end = last < 0 ? 0 : pads[static_cast<size_t>(last)];
    // Cut first, then padded: reflection sees only what is left.
    skipped[i] = std::max<int64_t>(-begin, 0);
    begins[i] = std::max<int64_t>(begin, 0);
    kept[i] = shape[i] - skipped[i] - std::max<int64_t>(-end, 0);
    shape[i] += begin + end;
    if (shape[i] < 0 || (mode != PadMode::constant && kept[i] < std::min<int64_t>(shape[i], 1)))
      return c.error(DiagnosticId::shapeCheckFailed,
                     "axis " + std::to_string(i) + " is too small to be padded so");
  }
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const ElementCopier copier(result, x);
  std::optional<ElementCopier> filler;
  if (c.hasOperand(2)) filler.emplace(result, c.operand(2));
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  OffsetWalk walk(shape, {});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    int64_t from = 0;
    bool isInside = true;
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t at = paddedPlace(mode, walk.index()[axis] - begins[axis], kept[axis]) + skipped[axis];
      isInside = isInside && at >= 0 && at < x.shape()[axis];
      from += at * strides[axis];
    }
    if (isInside) {
      copier.copy(i, from);
    } else if (filler) {
      filler->copy(i, 0);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

// paddedPlace in loop IR. `near`: right where no place is further outside than one length of the axis; no
// division is left then.
Expr paddedPlace(LowerContext& c, PadMode mode, Expr at, Expr size, bool near) {
  const Expr zero = c.integer(0), one = c.integer(1), last = size - one;
  const auto outside = [&](Expr below, Expr above) {
    return select(at < zero, below, select(last < at, above, at));
  };
  if (mode == PadMode::edge) return outside(zero, last);
  if (mode == PadMode::wrap) return near ? outside(at + size, at - size) : mod(at, size);
  if (near) return outside(zero - at, last * 2 - at);
  const Expr place = mod(at, max(last * 2, one));
  return min(place, last * 2 - place);
}

Result<Expr> lowerPad(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0);
  DYN_CHECK(requireCompiled(c, x.dtype()));
  const PadMode mode = padModeOf(c.attributes()).value_or(PadMode::constant);
  std::optional<std::vector<int64_t>> axes;
  if (c.hasOperand(3)) {
    axes.emplace();
    const int64_t count = c.solver().canonical(c.operandType(3).dims().at(0)).constant().value_or(0);
    for (int64_t k = 0; k < count; ++k) {
      DYN_TRY(Expr axis, c.contents(3, k));
      if (axis.kind() != loop::ExprKind::intConstant)
        return c.error(DiagnosticId::unsupportedFeature, "the axes to pad are not known");
      axes->push_back(axis.intValue());
    }
  }
  DYN_TRY(PadPlaces places, padPlaces(c, std::move(axes), x.rank()));
  const Expr zero = c.integer(0);
  std::vector<Expr> from(index.begin(), index.end()), nearby = from;
  Expr isInside = c.loops().boolean(true), isNear = isInside, isOwn, own;
  size_t walked = 0;  // the last axis that is padded with elements of its own
  for (size_t i = 0; i < from.size(); ++i) {
    const auto [first, last] = places.byAxis[i];
    if (first < 0) continue;
    const Expr size = c.dim(x.dims()[i]);
    DYN_TRY(Expr begin, c.contents(1, first));
    // An axis whose pads are 0 stays as it is.
    if (begin.same(zero) && c.solver().equal(x.dims()[i], c.resultType(0).dims()[i]) == Answer::yes) continue;
    if (mode == PadMode::constant) {
      from[i] = index[i] - begin;
      isInside = isInside && inRange(c, from[i], size);
      continue;
    }
    DYN_TRY(Expr end, c.contents(1, last));
    const Expr kept = size + min(begin, zero) + min(end, zero), at = index[i] - max(begin, zero);
    from[i] = paddedPlace(c, mode, at, kept, false) - min(begin, zero);
    nearby[i] = paddedPlace(c, mode, at, kept, true) - min(begin, zero);
    const Expr most = mode == PadMode::reflect ? kept - 1 : kept;
    isNear = isNear && begin <= most && end <= most;
    walked = i, isOwn = inRange(c, at, kept), own = at - min(begin, zero);
  }
  DYN_TRY(Expr element, c.read(0, from));
  if (mode == PadMode::reflect || mode == PadMode::wrap) {
    // Pads that are not longer than the axis, which is what models have, are asked for once, not at each
    // element. The last axis is walked in segments: a loop inside of it then reads the same by both.
    if (!own.isNull()) {
      from[walked] = select(isOwn, own, from[walked]);
      DYN_TRY(element, c.read(0, from));
    }
    DYN_TRY(Expr close, c.read(0, nearby));
    return select(isNear, close, element);
  }
  if (mode != PadMode::constant) return element;
  Expr filler = zeroOf(c, x.dtype());
  if (c.hasOperand(2)) {
    DYN_TRY(filler, c.read(2, {}));
  }
  return select(isInside, element, filler);
}

constexpr AttributeSpec kPadAttributes[] = {{"mode", AttributeKind::string, false,
                                             "what is put there: constant (the value), reflect (mirrored "
                                             "without the edge), edge, wrap; default constant",
                                             Allowed::oneOf("constant reflect edge wrap")}};

// --- center_crop_pad

// The axes that `shape` is of.
template <typename Context>
Result<std::vector<int>> cropAxes(const Context& c, int rank) {
  std::vector<int> axes;
  if (!c.attributes().has("axes")) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (int64_t given : c.attributes().integers("axes")) {
    const int axis = static_cast<int>(given < 0 ? given + rank : given);
    if (given < -rank || given >= rank || std::find(axes.begin(), axes.end(), axis) != axes.end())
      return c.error(DiagnosticId::badAttribute,
                     "axis " + std::to_string(given) + " is out of range or given twice");
    axes.push_back(axis);
  }
  return axes;
}

Status inferCenterCropPad(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand shape, indexOperand(c, 1, "the shape"));
  if (shape.rank() != 1) return c.error(DiagnosticId::rankMismatch, "the shape must be a vector");
  DYN_TRY(std::vector<int> axes, cropAxes(c, x.rank()));
  DYN_CHECK(c.requireEqual(shape.dims[0], constantDim(c, static_cast<int64_t>(axes.size())),
                           "one size for each axis"));
  Shape dims = x.dims;
  for (size_t k = 0; k < axes.size(); ++k) {
    DYN_TRY(Dim size, sizeDim(c, 1, static_cast<int64_t>(k), "size " + std::to_string(k) + " of the shape"));
    dims[static_cast<size_t>(axes[k])] = size;
  }
  setTensor(c, std::move(dims), x.dtype);
  return {};
}

Status evaluateCenterCropPad(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t> sizes = elementsOf(c.operand(1));
  DYN_TRY(std::vector<int> axes, cropAxes(c, x.rank()));
  if (sizes.size() != axes.size())
    return c.error(DiagnosticId::shapeMismatch, "there must be one size for each axis");
  std::vector<int64_t> shape = x.shape(), offsets(shape.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t axis = static_cast<size_t>(axes[k]);
    const int64_t size = x.shape()[axis];
    if (sizes[k] < 0) return c.error(DiagnosticId::shapeCheckFailed, "a size is negative");
    shape[axis] = sizes[k];
    offsets[axis] = sizes[k] < size ? (size - sizes[k]) / 2 : -((sizes[k] - size) / 2);
  }
  DYN_TRY(HostTensor result, newTensor(x.dtype(), shape));
  const ElementCopier copier(result, x);
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  OffsetWalk walk(shape, {});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    int64_t from = 0;
    bool isInside = true;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t at = walk.index()[axis] + offsets[axis];
      isInside = isInside && at >= 0 && at < x.shape()[axis];
      from += at * strides[axis];
    }
    if (isInside) copier.copy(i, from);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerCenterCropPad(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0), y = c.resultType(0);
  DYN_CHECK(requireCompiled(c, x.dtype()));
  DYN_TRY(std::vector<int> axes, cropAxes(c, x.rank()));
  const Expr zero = c.integer(0), two = c.integer(2);
  std::vector<Expr> from(index.begin(), index.end());
  Expr isInside = c.loops().boolean(true);
  for (int given : axes) {
    const size_t axis = static_cast<size_t>(given);
    if (c.solver().equal(x.dims()[axis], y.dims()[axis]) == Answer::yes) continue;
    const Expr size = c.dim(x.dims()[axis]), target = c.dim(y.dims()[axis]);
    from[axis] =
        index[axis] + floorDiv(max(size - target, zero), two) - floorDiv(max(target - size, zero), two);
    isInside = isInside && inRange(c, from[axis], size);
  }
  DYN_TRY(Expr element, c.read(0, from));
  return select(isInside, element, zeroOf(c, x.dtype()));
}

constexpr AttributeSpec kCenterCropPadAttributes[] = {
    {"axes", AttributeKind::integers, false, "the axes that the shape is of; default all", Allowed::axes()}};

constexpr OperandRule kTileRules[] = {{1, ElementsAre::byRule, "at least 0"}};
constexpr OperandRule kPadRules[] = {{1, ElementsAre::byRule, "no cut of more elements than there are"},
                                     {3, ElementsAre::byRule, "axes of operand 0, none twice"}};
constexpr OperandRule kCenterCropPadRules[] = {{1, ElementsAre::byRule, "at least 0"}};

}  // namespace

namespace ops {

const OpDef tileOp{
    .name = "tile",
    .summary = "x repeated along each axis",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true, .firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 2,
    .infer = inferTile,
    .evaluate = evaluateTile,
    .lowering = LoweringKind::loops,
    .lower = lowerTile,
    .operandRules = kTileRules,
    .doc = "x [d0, d1, ...], repeats [r] -> [d0 * repeats[0], d1 * repeats[1], ...]",
    .example = "fn @main(%x: Tensor[(n, 3), f32], %r: Tensor[(2), i64]) { %y = tile(%x, %r) return %y }",
};

const OpDef padOp{
    .name = "pad",
    .summary = "x with elements put before and after each axis, or cut off",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true, .firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 4,
    .attributes = kPadAttributes,
    .infer = inferPad,
    .evaluate = evaluatePad,
    .lowering = LoweringKind::loops,
    .lower = lowerPad,
    .operandRules = kPadRules,
    .doc =
        "x [...d], pads [2k] = (begins, ends), value [] | none (0), axes [k] | none (all) -> "
        "[d + begin + end]; negative pads cut before anything is put there; axes are constant",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32], %p: Tensor[(4), i64]) { %y = pad(%x, %p) {mode = \"edge\"} return "
        "%y }",
};

const OpDef center_crop_padOp{
    .name = "center_crop_pad",
    .summary = "x cut or padded with zeros around its center to a shape",
    .cls = OpClass::injective,
    .traits = {.firstSizes = 1},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kCenterCropPadAttributes,
    .infer = inferCenterCropPad,
    .evaluate = evaluateCenterCropPad,
    .lowering = LoweringKind::loops,
    .lower = lowerCenterCropPad,
    .operandRules = kCenterCropPadRules,
    .doc =
        "x [...], shape [k], one size for each of the axes -> x with those sizes; of an odd difference the "
        "larger half is at the end",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32], %s: Tensor[(1), i64]) { %y = center_crop_pad(%x, %s) {axes = [0]} "
        "return %y }",
};

}  // namespace ops
}  // namespace dyn
