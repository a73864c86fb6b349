#include "compiler/ops/rules/reduce_rules.h"

#include <algorithm>

#include "compiler/ops/rules/axis_choice.h"
#include "compiler/ops/rules/need.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

// `axes` null: none were given.
template <typename Context>
Result<FoldedAxes> foldedFrom(const Context& c, const std::vector<int64_t>* axes, int rank) {
  FoldedAxes folded;
  folded.keepDims = c.attributes().integer("keepdims", 1) != 0;
  folded.folds.assign(static_cast<size_t>(rank), false);
  if (!axes || axes->empty()) {
    if (c.attributes().integer("noop_with_empty_axes", 0) == 0)
      folded.folds.assign(static_cast<size_t>(rank), true);
    return folded;
  }
  for (int64_t axis : *axes) {
    if (rank == 0 && (axis == 0 || axis == -1)) continue;  // a scalar along its one element, as NumPy has it
    if (axis < -rank || axis >= rank) {
      return c.error(DiagnosticId::badAttribute, "axis " + std::to_string(axis) + " is outside [" +
                                                     std::to_string(-rank) + ", " + std::to_string(rank) +
                                                     ")");
    }
    const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    if (folded.folds[at])
      return c.error(DiagnosticId::badAttribute, "axis " + std::to_string(axis) + " is given twice");
    folded.folds[at] = true;
  }
  return folded;
}

FoldedAxes foldedByValues(int rank) {
  FoldedAxes folded;
  folded.areValues = true;
  folded.folds.assign(static_cast<size_t>(rank), true);
  return folded;
}

// Over how many elements an axis is folded.
Dim foldedExtent(const LowerContext& c, const FoldedAxes& folded, int axis) {
  const Dim size = c.operandType(0).dims()[static_cast<size_t>(axis)];
  // Of sizes and results one is 1: [n] → [1], or [n] stays.
  return folded.areValues ? size + 1 - c.resultType(0).dims()[static_cast<size_t>(axis)] : size;
}

}  // namespace

int FoldedAxes::count() const { return static_cast<int>(std::count(folds.begin(), folds.end(), true)); }

Result<FoldedAxes> foldedAxes(const InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  if (!c.hasOperand(1)) return foldedFrom(c, nullptr, x.rank());
  std::optional<std::vector<int64_t>> axes = constantElements(c, 1);
  if (!axes && vectorLength(c, 1) == 0) axes.emplace();
  if (!axes) {
    if (c.attributes().integer("keepdims", 1) != 0 || x.rank() == 0) {
      DYN_TRY(Contents each, vectorContents(c, 1, "the axes"));
      return foldedByValues(x.rank());
    }
    return operandNeeded(c, 1, Need::Kind::contents,
                         "the axes are computed at run time, so which dims are left is not known");
  }
  return foldedFrom(c, &*axes, x.rank());
}

Result<FoldedAxes> foldedAxes(const EvalContext& c) {
  const int rank = c.operand(0).rank();
  if (!c.hasOperand(1)) return foldedFrom(c, nullptr, rank);
  const std::vector<int64_t> axes = elementsOf(c.operand(1));
  return foldedFrom(c, &axes, rank);
}

Result<FoldedAxes> foldedAxes(LowerContext& c) {
  const int rank = c.operandType(0).rank();
  if (!c.hasOperand(1)) return foldedFrom(c, nullptr, rank);
  const Type type = c.operandType(1);
  const int64_t length = type.rank() == 0 ? 1 : type.dims()[0].constant().value_or(-1);
  if (length < 0) return c.error(DiagnosticId::unsupportedFeature, "the number of axes is not known");
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < length; ++k) {
    DYN_TRY(Expr axis, c.contents(1, k));
    if (axis.kind() != loop::ExprKind::intConstant) return foldedByValues(rank);
    axes.push_back(axis.intValue());
  }
  return foldedFrom(c, &axes, rank);
}

FoldedAxes foldOnly(int rank, std::span<const int> axes, bool keepDims) {
  FoldedAxes folded;
  folded.keepDims = keepDims;
  folded.folds.assign(static_cast<size_t>(rank), false);
  for (int axis : axes) folded.folds[static_cast<size_t>(axis)] = true;
  return folded;
}

Result<Shape> shapeFoldedByValues(InferContext& c, const Shape& dims) {
  const int rank = static_cast<int>(dims.size());
  DYN_TRY(AxisChoice choice, axisChoice(c, 1, rank));
  Shape result;
  for (int axis = 0; axis < rank; ++axis) {
    const Dim folds = choice.any(axis);
    result.push_back(folds + (constantDim(c, 1) - folds) * dims[static_cast<size_t>(axis)]);
  }
  return result;
}

Shape foldedShape(const InferContext& c, const FoldedAxes& folded, const Shape& dims) {
  Shape result;
  for (int axis = 0; axis < folded.rank(); ++axis) {
    if (!folded.contains(axis)) {
      result.push_back(dims[static_cast<size_t>(axis)]);
    } else if (folded.keepDims) {
      result.push_back(constantDim(c, 1));
    }
  }
  return result;
}

std::vector<int64_t> foldedShape(const FoldedAxes& folded, std::span<const int64_t> shape) {
  std::vector<int64_t> result;
  for (int axis = 0; axis < folded.rank(); ++axis) {
    if (!folded.contains(axis)) {
      result.push_back(shape[static_cast<size_t>(axis)]);
    } else if (folded.keepDims) {
      result.push_back(1);
    }
  }
  return result;
}

std::vector<int64_t> foldedStrides(const FoldedAxes& folded, std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t step = 1;
  for (int axis = folded.rank(); axis-- > 0;) {
    if (folded.contains(axis)) continue;
    strides[static_cast<size_t>(axis)] = step;
    step *= shape[static_cast<size_t>(axis)];
  }
  return strides;
}

Dtype accumulationDtype(Dtype dtype) { return isReal(dtype) && dtype != Dtype::f64 ? Dtype::f32 : dtype; }

Result<Expr> reduceOver(LowerContext& c, ReduceOp op, std::span<const Dim> extents, const ExprBody& body) {
  if (extents.empty()) return body({});
  Status failure;
  Expr result = c.reduce(op, extents, [&](std::span<const Expr> variables) -> Expr {
    Result<Expr> value = body(variables);
    if (value.ok()) return *value;
    failure = value.takeError();
    const bool logical = op == ReduceOp::logicalAnd || op == ReduceOp::logicalOr;
    return logical ? c.loops().boolean(false) : c.integer(0);
  });
  if (!failure.ok()) return failure.takeError();
  return result;
}

Result<Expr> foldAxes(LowerContext& c, ReduceOp op, const FoldedAxes& folded, std::span<const Expr> index,
                      const ElementMap& map) {
  std::vector<Expr> at;
  size_t next = 0;
  for (int axis = 0; axis < folded.rank(); ++axis) {
    if (!folded.contains(axis)) {
      at.push_back(index[next++]);
    } else {
      at.push_back(folded.areValues ? index[next] : c.integer(0));
      if (folded.keepDims) ++next;
    }
  }
  return foldRow(c, op, folded, at, map);
}

Result<Expr> foldRow(LowerContext& c, ReduceOp op, const FoldedAxes& folded, std::span<const Expr> at,
                     const ElementMap& map) {
  Shape extents;
  for (int axis = 0; axis < folded.rank(); ++axis) {
    if (folded.contains(axis)) extents.push_back(foldedExtent(c, folded, axis));
  }
  return reduceOver(c, op, extents, [&](std::span<const Expr> variables) -> Result<Expr> {
    std::vector<Expr> full(at.begin(), at.end());
    size_t next = 0;
    for (int axis = 0; axis < folded.rank(); ++axis) {
      if (!folded.contains(axis) || next == variables.size()) continue;
      Expr& place = full[static_cast<size_t>(axis)];
      // Of both one is 0.
      place = folded.areValues ? place + variables[next++] : variables[next++];
    }
    DYN_TRY(Expr element, c.read(0, full));
    return map(element, full);
  });
}

Expr foldedCount(LowerContext& c, const FoldedAxes& folded) {
  Expr count = c.integer(1);
  for (int axis = 0; axis < folded.rank(); ++axis) {
    if (folded.contains(axis)) count = count * c.dim(foldedExtent(c, folded, axis));
  }
  return count;
}

Expr castTo(Expr value, Dtype dtype) { return value.context().cast(value, dtype); }

Expr unary(loop::UnaryOp op, Expr value) { return value.context().unary(op, value); }

Expr isNotANumber(Expr value) {
  return isReal(value.dtype()) ? unary(loop::UnaryOp::isNan, value) : value.context().boolean(false);
}

}  // namespace dyn
