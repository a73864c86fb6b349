// Products with sparse matrices in compressed rows (CSR): the entries of a row are a dim whose size depends
// on the row.
//
//   row i of a [rows, k] matrix has the entries starts[i] <= p < starts[i + 1]: values[p] in column columns[p]
//
// One loop nest does it all: the extent of the inner loop is read from `starts`, the row of the dense side
// from `columns`.
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/reduce_rules.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

Status inferSpmm(InferContext& c) {
  DYN_TRY(TensorOperand values, tensorOperand(c, 0));
  DYN_TRY(TensorOperand columns, indexOperand(c, 1, "the columns"));
  DYN_TRY(TensorOperand starts, indexOperand(c, 2, "the starts of the rows"));
  DYN_TRY(TensorOperand dense, tensorOperand(c, 3));
  DYN_CHECK(
      requireClass(c, values, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the values"));
  if (values.dtype != dense.dtype) {
    return c.error(DiagnosticId::dtypeMismatch,
                   "the values and the dense side are of one element type, not " + values.type.toString() +
                       " and " + dense.type.toString());
  }
  if (values.rank() != 1 || columns.rank() != 1 || starts.rank() != 1 || dense.rank() != 2) {
    return c.error(DiagnosticId::rankMismatch,
                   "values, columns and starts are vectors, the dense side is a matrix, not " +
                       values.type.toString() + ", " + columns.type.toString() + ", " +
                       starts.type.toString() + " and " + dense.type.toString());
  }
  DYN_CHECK(c.requireEqual(values.dims[0], columns.dims[0], "the number of values and of columns"));
  DYN_CHECK(c.requireLessEqual(constantDim(c, 1), starts.dims[0], "the starts have one more than rows"));
  setTensor(c, {starts.dims[0] - constantDim(c, 1), dense.dims[1]}, values.dtype);
  return {};
}

Status evaluateSpmm(EvalContext& c) {
  const HostTensor &values = c.operand(0), &columns = c.operand(1), &starts = c.operand(2),
                   &dense = c.operand(3);
  const int64_t rows = starts.elementCount() - 1, inner = dense.shape()[0], width = dense.shape()[1];
  const bool real = isReal(values.dtype());
  DYN_TRY(HostTensor result, newTensor(values.dtype(), {rows, width}));
  // Entries are looked at where an element is computed from them.
  for (int64_t i = 0; i < rows && width > 0; ++i) {
    const int64_t begin = starts.intAt(i), end = starts.intAt(i + 1);
    if (begin < 0 || begin > end || end > values.elementCount())
      return c.error(DiagnosticId::runtimeError, "row " + std::to_string(i) + " is from entry " +
                                                     std::to_string(begin) + " to " + std::to_string(end) +
                                                     " of " + std::to_string(values.elementCount()));
    for (int64_t p = begin; p < end; ++p) {
      if (columns.intAt(p) < 0 || columns.intAt(p) >= inner)
        return c.error(DiagnosticId::runtimeError, "column " + std::to_string(columns.intAt(p)) +
                                                       " is out of range for " + std::to_string(inner) +
                                                       " columns");
    }
    for (int64_t j = 0; j < width; ++j) {
      double sum = 0;
      uint64_t whole = 0;
      for (int64_t p = begin; p < end; ++p) {
        const int64_t from = columns.intAt(p) * width + j;
        if (real)
          sum += values.realAt(p) * dense.realAt(from);
        else
          whole += static_cast<uint64_t>(values.intAt(p)) * static_cast<uint64_t>(dense.intAt(from));
      }
      if (real)
        result.setReal(i * width + j, sum);
      else
        result.setInt(i * width + j, static_cast<int64_t>(whole));
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerSpmm(LowerContext& c, int, std::span<const Expr> index) {
  const Type values = c.operandType(0);
  DYN_CHECK(requireCompiled(c, values.dtype()));
  const Dtype sumDtype = accumulationDtype(values.dtype());
  const Expr row = index[0], column = index[1];
  const Expr next[] = {row + c.integer(1)};
  DYN_TRY(Expr first, c.read(2, index.subspan(0, 1)));
  DYN_TRY(Expr last, c.read(2, next));
  const Expr begin = indexExpr(c, first), end = indexExpr(c, last), count = end - begin;
  const Expr entries = c.dim(values.dims()[0]), inner = c.dim(c.operandType(3).dims()[0]);

  const Expr entry = c.loops().variable("p");
  c.loops().bound(entry, count);
  const Expr at[] = {begin + entry};
  DYN_TRY(Expr value, c.read(0, at));
  DYN_TRY(Expr place, c.read(1, at));
  const Expr from[] = {indexExpr(c, place), column};
  DYN_TRY(Expr factor, c.read(3, from));
  factor = c.checked(inRange(c, from[0], inner), factor, indexCheck(from[0], c.operandType(3), 0));
  const Expr product = c.loops().cast(value, sumDtype) * c.loops().cast(factor, sumDtype);
  const Expr term =
      c.checked(inRange(c, at[0], entries), product,
                {DYN_KERNEL_INDEX_OUT_OF_RANGE, at[0], "place of an entry", axisText(values, 0)});
  const Expr sum = c.loops().reduce(loop::ReduceOp::sum, {entry}, {count}, term);
  const Expr inOrder = c.integer(0) <= begin && begin <= end && end <= entries;
  return c.checked(inOrder, c.loops().cast(sum, values.dtype()),
                   {DYN_KERNEL_INDEX_OUT_OF_RANGE, end, "end of a row",
                    "rows follow one another, " + axisText(values, 0)});
}

constexpr OperandRule kSpmmRules[] = {{1, ElementsAre::byKernel, "rows of operand 3"},
                                      {2, ElementsAre::byKernel, "ascending places of operand 0"}};

}  // namespace

namespace ops {

const OpDef spmmOp{
    .name = "spmm",
    .summary = "the product of a sparse matrix in compressed rows and a dense one",
    .cls = OpClass::reduction,
    .minOperands = 4,
    .maxOperands = 4,
    .infer = inferSpmm,
    .evaluate = evaluateSpmm,
    .lowering = LoweringKind::loops,
    .lower = lowerSpmm,
    .operandRules = kSpmmRules,
    .doc =
        "values [e], columns [e], starts [r + 1], dense [k, n] -> [r, n]; row i has the entries starts[i] to "
        "starts[i + 1], each in its column of 0..k-1; entries of one column add up. Starts or columns out of "
        "range are a "
        "run-time error where an element is computed from them. Narrow reals are summed in f32, integers "
        "wrap",
    .example =
        "fn @main(%v: Tensor[(e), f32], %c: Tensor[(e), i64], %s: Tensor[(3), i64], %d: Tensor[(k, n), f32]) "
        "{ %y = spmm(%v, %c, %s, %d) return %y }",
};

}  // namespace ops
}  // namespace dyn
