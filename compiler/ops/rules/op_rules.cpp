#include "compiler/ops/rules/op_rules.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/rules/need.h"
#include "compiler/ops/rules/strided_walk.h"

namespace dyn {

namespace {

template <typename Context>
Result<int> normalizedAxis(const Context& c, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return c.error(DiagnosticId::badAttribute, "axis " + std::to_string(axis) + " is outside [" +
                                                   std::to_string(-rank) + ", " + std::to_string(rank) + ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::string ordinal(int i) { return "operand " + std::to_string(i); }

}  // namespace

Result<TensorOperand> tensorOperand(const InferContext& c, int i) {
  if (!c.hasOperand(i)) return c.error(DiagnosticId::badOperands, ordinal(i) + " is missing");
  Type type = c.operandType(i);
  if (!type.isTensor()) {
    return c.error(DiagnosticId::typeMismatch, ordinal(i) + " must be a tensor, it is " + type.toString());
  }
  return TensorOperand{type, type.dims(), type.dtype()};
}

Result<TensorOperand> tensorOperand(const InferContext& c, int i, int rank) {
  DYN_TRY(TensorOperand operand, tensorOperand(c, i));
  if (operand.rank() != rank) {
    return c.error(DiagnosticId::rankMismatch, ordinal(i) + " must have rank " + std::to_string(rank) +
                                                   ", it is " + operand.type.toString());
  }
  return operand;
}

Status requireClass(const InferContext& c, const TensorOperand& operand,
                    std::initializer_list<DtypeClass> classes, std::string_view what) {
  if (std::find(classes.begin(), classes.end(), dtypeClass(operand.dtype)) != classes.end()) return {};
  return c.error(DiagnosticId::dtypeMismatch,
                 std::string(what) + " cannot have element type " + std::string(toString(operand.dtype)));
}

Status requireDtype(const InferContext& c, const TensorOperand& operand, Dtype dtype, std::string_view what) {
  if (operand.dtype == dtype) return {};
  return c.error(DiagnosticId::dtypeMismatch, std::string(what) + " must have element type " +
                                                  std::string(toString(dtype)) + ", not " +
                                                  std::string(toString(operand.dtype)));
}

Status requireByte(const InferContext& c, const TensorOperand& operand, std::string_view what) {
  if (operand.dtype == Dtype::i8 || operand.dtype == Dtype::u8) return {};
  return c.error(DiagnosticId::dtypeMismatch, std::string(what) + " has element type i8 or u8");
}

Status requireSameDtype(const InferContext& c, const TensorOperand& a, const TensorOperand& b) {
  if (a.dtype == b.dtype) return {};
  return c.error(DiagnosticId::dtypeMismatch, "element types differ: " + std::string(toString(a.dtype)) +
                                                  " vs " + std::string(toString(b.dtype)));
}

Result<int> axisOf(const InferContext& c, int64_t axis, int rank) { return normalizedAxis(c, axis, rank); }
Result<int> axisOf(const EvalContext& c, int64_t axis, int rank) { return normalizedAxis(c, axis, rank); }

Result<std::vector<int>> axesOf(const InferContext& c, std::span<const int64_t> axes, int rank) {
  std::vector<int> result;
  for (int64_t axis : axes) {
    DYN_TRY(int normal, axisOf(c, axis, rank));
    result.push_back(normal);
  }
  std::sort(result.begin(), result.end());
  auto repeated = std::adjacent_find(result.begin(), result.end());
  if (repeated != result.end()) {
    return c.error(DiagnosticId::badAttribute, "axis " + std::to_string(*repeated) + " is given twice");
  }
  return result;
}

std::optional<std::vector<int64_t>> constantElements(const InferContext& c, int i) {
  if (!c.hasOperand(i)) return std::nullopt;
  std::optional<Contents> contents = c.operandContents(i);
  if (!contents) return std::nullopt;
  std::vector<int64_t> values;
  for (Dim d : *contents) {
    if (!d || !d.isConstant()) return std::nullopt;
    values.push_back(*d.constant());
  }
  return values;
}

std::optional<int64_t> vectorLength(const InferContext& c, int i) {
  Type type = c.operandType(i);
  if (!type.isTensor()) return std::nullopt;
  if (type.rank() == 0) return 1;
  if (type.rank() != 1) return std::nullopt;
  return c.solver().canonical(type.dims()[0]).constant();
}

namespace {

Result<TensorOperand> integerVector(const InferContext& c, int i, std::string_view what) {
  DYN_TRY(TensorOperand operand, tensorOperand(c, i));
  DYN_CHECK(requireClass(c, operand, {DtypeClass::integer, DtypeClass::natural}, what));
  if (operand.rank() > 1) {
    return c.error(DiagnosticId::rankMismatch,
                   std::string(what) + " must be a vector, it is " + operand.type.toString());
  }
  return operand;
}

}  // namespace

Result<Contents> vectorContents(InferContext& c, int i, int64_t count, std::string_view what) {
  if (vectorLength(c, i) || count > kMaxContents) return vectorContents(c, i, what);
  DYN_TRY(TensorOperand operand, integerVector(c, i, what));
  DYN_CHECK(c.requireEqual(operand.dims[0], constantDim(c, count),
                           "the number of elements of " + std::string(what)));
  return Contents(static_cast<size_t>(count));
}

Result<Contents> vectorContents(const InferContext& c, int i, std::string_view what) {
  DYN_TRY(TensorOperand operand, integerVector(c, i, what));
  std::optional<int64_t> length = vectorLength(c, i);
  if (!length) {
    return operandNeeded(c, i, Need::Kind::shape,
                         "the number of elements of " + std::string(what) + " is not known: it is " +
                             operand.type.toString() + ", so the rank of the result cannot be known");
  }
  std::optional<Contents> contents = c.operandContents(i);
  if (contents && static_cast<int64_t>(contents->size()) == *length) return std::move(*contents);
  // Contents are kept of short vectors only; a rule that asks for a long one reads it here.
  const HostTensor* constant = c.operandConstant(i);
  if (constant && constant->elementCount() == *length && constant->dtype() != Dtype::u64) {
    Contents elements;
    for (int64_t k = 0; k < *length; ++k) elements.push_back(constantDim(c, constant->intAt(k)));
    return elements;
  }
  if (*length > kMaxContents) {
    return c.error(DiagnosticId::rankMismatch, std::string(what) + " has " + std::to_string(*length) +
                                                   " elements that are not constants; at most " +
                                                   std::to_string(kMaxContents) + " are supported");
  }
  return Contents(static_cast<size_t>(*length));
}

Result<Shape> broadcastShapes(InferContext& c, const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t k = 0; k < rank; ++k) {
    // Axis counted from the right.
    const size_t at = rank - 1 - k;
    if (k >= a.size()) {
      result[at] = b[b.size() - 1 - k];
    } else if (k >= b.size()) {
      result[at] = a[a.size() - 1 - k];
    } else {
      DYN_TRY(result[at], c.broadcast(a[a.size() - 1 - k], b[b.size() - 1 - k],
                                      "axis " + std::to_string(at) + " of the broadcast"));
    }
  }
  return result;
}

Status requireStretches(InferContext& c, Dim own, Dim full, std::string_view what) {
  DYN_TRY(Dim both, c.broadcast(full, own, what));
  return c.requireEqual(both, full, what);
}

void setTensor(InferContext& c, Shape dims, Dtype dtype, int result) {
  c.setResult(result, c.ir().tensorType(std::move(dims), dtype));
}

Dim constantDim(const InferContext& c, int64_t value) { return c.ir().dims().constant(value); }

std::optional<int64_t> constantElementCount(const Shape& dims) {
  int64_t count = 1;
  for (Dim d : dims) {
    std::optional<int64_t> value = d.constant();
    if (!value) return std::nullopt;
    std::optional<int64_t> product = checkedMul(count, *value);
    if (!product) return std::nullopt;
    count = *product;
  }
  return count;
}

std::optional<std::vector<int64_t>> constantSizes(const Shape& dims) {
  std::vector<int64_t> sizes;
  for (Dim d : dims) {
    const std::optional<int64_t> value = d.constant();
    if (!value) return std::nullopt;
    sizes.push_back(*value);
  }
  return sizes;
}

Contents contentsAlong(const Contents& all, const std::vector<int64_t>& sizes,
                       const std::vector<int64_t>& strides, int64_t first) {
  Contents part;
  OffsetWalk walk(sizes, {strides}, {first});
  for (int64_t i = sizeProduct(sizes, 0, static_cast<int>(sizes.size())); i > 0; --i, walk.next())
    part.push_back(all[static_cast<size_t>(walk.offset(0))]);
  return part;
}

void setTruncated(HostTensor& result, int64_t i, double value) {
  const Dtype to = result.dtype();
  if (to == Dtype::i4 || to == Dtype::u4 || to == Dtype::i2 || to == Dtype::u2) {
    // They wrap, after the byte that holds them has saturated.
    if (std::isnan(value)) value = 0;
    return result.setInt(i, static_cast<int64_t>(std::clamp(std::trunc(value), -128.0, 127.0)));
  }
  const int width = static_cast<int>(storageBytes(to)) * 8;
  const double limit = std::ldexp(1.0, isSigned(to) ? width - 1 : width);
  const double low = isSigned(to) ? -limit : 0;
  if (std::isnan(value)) return result.setInt(i, 0);
  value = std::trunc(value);
  if (value >= limit) {
    const uint64_t all = ~uint64_t{0};
    return result.setInt(i, static_cast<int64_t>(all >> (64 - (isSigned(to) ? width - 1 : width))));
  }
  if (value < low) value = low;
  if (value >= 9223372036854775808.0)
    return result.setInt(i, static_cast<int64_t>(static_cast<uint64_t>(value)));
  result.setInt(i, static_cast<int64_t>(value));
}

}  // namespace dyn
