#include "compiler/ops/rules/index_rules.h"

#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

Dim elementDim(InferContext& c, int i, int64_t k, std::string_view reason) {
  std::optional<Contents> contents = c.operandContents(i);
  if (contents && static_cast<size_t>(k) < contents->size() && (*contents)[static_cast<size_t>(k)])
    return (*contents)[static_cast<size_t>(k)];
  return c.freshFromOperand(i, k, reason);
}

Result<Dim> sizeDim(InferContext& c, int i, int64_t k, std::string_view what) {
  const Dim size = elementDim(c, i, k, what);
  DYN_CHECK(c.requireLessEqual(constantDim(c, 0), size, std::string(what) + " is not negative"));
  return size;
}

Result<TensorOperand> indexOperand(const InferContext& c, int i, std::string_view what) {
  DYN_TRY(TensorOperand operand, tensorOperand(c, i));
  DYN_CHECK(requireClass(c, operand, {DtypeClass::integer, DtypeClass::natural}, what));
  return operand;
}

Status requireSingle(InferContext& c, const TensorOperand& operand, std::string_view what) {
  const Dim count = elementCount(c.ir().dims(), operand.dims);
  return c.requireEqual(count, constantDim(c, 1), "number of elements of " + std::string(what));
}

Result<int64_t> wrapIndex(const EvalContext& c, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    return c.error(
        DiagnosticId::runtimeError,
        "index " + std::to_string(index) + " is out of range for an axis of size " + std::to_string(size));
  }
  return index < 0 ? index + size : index;
}

Status requireCompiled(const LowerContext& c, Dtype dtype) {
  if (dtype != Dtype::string) return {};
  return c.error(DiagnosticId::unsupportedDtype, "strings are not compiled");
}

Expr indexExpr(LowerContext& c, Expr value) {
  return value.dtype() == Dtype::i64 ? value : c.loops().cast(value, Dtype::i64);
}

Expr wrapIndex(LowerContext& c, Expr index, Expr size) {
  return select(index < c.integer(0), index + size, index);
}

Expr inRange(LowerContext& c, Expr index, Expr size) { return c.integer(0) <= index && index < size; }

std::string axisText(Type x, size_t axis) {
  return "axis " + std::to_string(axis) + " has " + x.dims()[axis].toString() + " elements";
}

loop::Check indexCheck(Expr index, Type x, size_t axis) {
  return {DYN_KERNEL_INDEX_OUT_OF_RANGE, index, "index", axisText(x, axis)};
}

Expr constantOf(LowerContext& c, const HostTensor& tensor) {
  const Dtype dtype = tensor.dtype();
  if (dtype == Dtype::boolean) return c.loops().boolean(tensor.intAt(0) != 0);
  return isReal(dtype) ? c.loops().real(tensor.realAt(0), dtype) : c.loops().integer(tensor.intAt(0), dtype);
}

Expr zeroOf(LowerContext& c, Dtype dtype) {
  return dtype == Dtype::boolean ? c.loops().boolean(false) : c.number(0, dtype);
}

Expr stretchedPlace(LowerContext& c, Dim own, Dim full, Expr at) {
  const Dim size = c.solver().canonical(own);
  if (size.isConstant(1)) return c.integer(0);
  if (size.isConstant() || c.solver().equal(size, full) == Answer::yes) return at;
  return select(c.dim(size) == c.integer(1), c.integer(0), at);
}

}  // namespace dyn
