// Products of matrices: matmul, products with a matrix packed once at load, integer products with zero points. einsum: einsum_ops.cpp.
#include "compiler/ops/matmul_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

constexpr AttributeSpec kMatmulAttributes[] = {
    {"transpose_a", AttributeKind::integer, false, "1: the last two axes of a are exchanged; default 0"},
    {"transpose_b", AttributeKind::integer, false, "1: the last two axes of b are exchanged; default 0"},
};

template <typename Context>
bool flag(const Context& c, std::string_view name) {
  return c.attributes().integer(name, 0) != 0;
}

Status inferMatmul(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand b, tensorOperand(c, 1));
  DYN_CHECK(requireSameDtype(c, a, b));
  DYN_CHECK(requireClass(c, a, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "a matrix"));
  DYN_TRY(Shape shape, matmulShape(c, a.dims, b.dims, flag(c, "transpose_a"), flag(c, "transpose_b")));
  setTensor(c, shape, a.dtype);
  return {};
}

// One element of the product for each (batch, row, column), by `dot(aOffset, bOffset)` over the depth.
template <typename Store>
void forEachProduct(const ConcreteProduct& p, const Store& store) {
  OffsetWalk walk(p.batch, {p.batchStridesA, p.batchStridesB});
  const int64_t batches = sizeProduct(p.batch, 0, static_cast<int>(p.batch.size()));
  int64_t flat = 0;
  for (int64_t batch = 0; batch < batches; ++batch, walk.next()) {
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        store(flat++, walk.offset(0) + i * p.rowStepA, walk.offset(1) + j * p.columnStepB);
      }
    }
  }
}

Status evaluateMatmul(EvalContext& c) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  DYN_TRY(ConcreteProduct p,
          concreteProduct(c, a.shape(), b.shape(), flag(c, "transpose_a"), flag(c, "transpose_b")));
  DYN_TRY(HostTensor result, newTensor(a.dtype(), p.shape));
  const bool isF32 = a.dtype() == Dtype::f32;
  const float *af = isF32 ? a.as<float>() : nullptr, *bf = isF32 ? b.as<float>() : nullptr;
  forEachProduct(p, [&](int64_t flat, int64_t aAt, int64_t bAt) {
    if (isReal(a.dtype())) {
      double sum = 0;
      for (int64_t k = 0; k < p.depth; ++k, aAt += p.depthStepA, bAt += p.depthStepB) {
        sum += isF32 ? static_cast<double>(af[aAt]) * static_cast<double>(bf[bAt])
                     : a.realAt(aAt) * b.realAt(bAt);
      }
      result.setReal(flat, sum);
      return;
    }
    uint64_t sum = 0;
    for (int64_t k = 0; k < p.depth; ++k, aAt += p.depthStepA, bAt += p.depthStepB) {
      sum += static_cast<uint64_t>(a.intAt(aAt)) * static_cast<uint64_t>(b.intAt(bAt));
    }
    result.setInt(flat, static_cast<int64_t>(sum));
  });
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerMatmul(LowerContext& c, int, std::span<const Expr> index) {
  const Dtype dtype = c.resultType(0).dtype(), computed = accumulationDtype(dtype);
  DYN_TRY(Expr sum,
          lowerProduct(c, index, flag(c, "transpose_a"), flag(c, "transpose_b"),
                       [&](Expr a, std::span<const Expr>, Expr b, std::span<const Expr>) -> Result<Expr> {
                         return castTo(a, computed) * castTo(b, computed);
                       }));
  return castTo(sum, dtype);
}

// Bits of the first number of the builtin `gemm`.
constexpr int32_t kTransposedA = 1, kTransposedB = 2, kPackedB = 4;

Status matmulArguments(const Op& op, std::span<const Type>, std::vector<int32_t>* numbers,
                       std::vector<Dim>*) {
  numbers->push_back((op.attributes.integer("transpose_a", 0) != 0 ? kTransposedA : 0) |
                     (op.attributes.integer("transpose_b", 0) != 0 ? kTransposedB : 0));
  return {};
}

// Narrow types go by loops. Vectors are seen as matrices of one row or column (function_lowering.cpp).
bool builtinGemmTakes(const Op&, std::span<const Type> operandTypes) {
  switch (operandTypes[0].dtype()) {
    case Dtype::f32:
    case Dtype::f64:
    case Dtype::i32:
    case Dtype::i64:
    case Dtype::u32:
    case Dtype::u64:
      return true;
    default:
      return false;
  }
}

// --- packed

constexpr AttributeSpec kPackAttributes[] = {
    {"transpose", AttributeKind::integer, false, "1: b is [n, k]; default 0, b is [k, n]"},
};
constexpr AttributeSpec kPackedAttributes[] = {
    {"n", AttributeKind::dims, true, "columns of the packed matrix, one dim"},
    {"k", AttributeKind::dims, true, "rows of the packed matrix, one dim"},
};

Status inferPack(InferContext& c) {
  DYN_TRY(TensorOperand b, tensorOperand(c, 0, 2));
  DYN_CHECK(requireDtype(c, b, Dtype::f32, "a matrix to be packed"));
  // How the panels are laid out is the running machine's affair, so the length is its too.
  setTensor(c, {c.fresh("the panels of a packed matrix are laid out for the machine at load")}, Dtype::f32);
  return {};
}

// The reference's packing is one panel of all columns: [k, n] row-major.
Status evaluatePack(EvalContext& c) {
  const HostTensor& b = c.operand(0);
  if (!flag(c, "transpose")) {
    c.setResult(0, b.reshaped({b.elementCount()}));
    return {};
  }
  const int64_t n = b.shape()[0], k = b.shape()[1];
  DYN_TRY(HostTensor result, newTensor(b.dtype(), {n * k}));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < k; ++j) result.setReal(j * n + i, b.realAt(i * k + j));
  }
  c.setResult(0, std::move(result));
  return {};
}

Status packArguments(const Op& op, std::span<const Type>, std::vector<int32_t>* numbers, std::vector<Dim>*) {
  numbers->push_back(op.attributes.integer("transpose", 0) != 0);
  return {};
}

Result<Dim> oneDim(const InferContext& c, std::string_view name) {
  const Shape dims = c.attributes().dims(name);
  if (dims.size() == 1) return dims[0];
  return c.error(DiagnosticId::badAttribute, std::string(name) + " is one dim");
}

Status inferGemmPacked(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand packed, tensorOperand(c, 1, 1));
  DYN_CHECK(requireDtype(c, a, Dtype::f32, "the left matrix"));
  DYN_CHECK(requireDtype(c, packed, Dtype::f32, "the packed matrix"));
  if (a.rank() < 1) return c.error(DiagnosticId::rankMismatch, "the left matrix is a scalar");
  DYN_TRY(Dim n, oneDim(c, "n"));
  DYN_TRY(Dim k, oneDim(c, "k"));
  DYN_CHECK(c.requireEqual(a.dims.back(), k, "inner dims of the product"));
  Shape shape = a.dims;
  shape.back() = n;
  setTensor(c, shape, a.dtype);
  return {};
}

Status evaluateGemmPacked(EvalContext& c) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  DYN_TRY(int64_t n, c.dimValue(c.attributes().dims("n").at(0)));
  DYN_TRY(int64_t k, c.dimValue(c.attributes().dims("k").at(0)));
  if (a.shape().back() != k || b.elementCount() != n * k) {
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(a.shape()) + " and a packed matrix of " + shapeText({{k, n}}));
  }
  std::vector<int64_t> shape = a.shape();
  shape.back() = n;
  DYN_TRY(HostTensor result, newTensor(a.dtype(), shape));
  const int64_t rows = sizeProduct(a.shape(), 0, a.rank() - 1);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a.realAt(i * k + p) * b.realAt(p * n + j);
      result.setReal(i * n + j, sum);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status gemmPackedArguments(const Op&, std::span<const Type>, std::vector<int32_t>* numbers,
                           std::vector<Dim>*) {
  numbers->push_back(kPackedB);
  return {};
}

// --- integers with zero points

Status requireByte(const InferContext& c, const TensorOperand& x, std::string_view what) {
  if (x.dtype == Dtype::i8 || x.dtype == Dtype::u8) return {};
  return c.error(DiagnosticId::dtypeMismatch, std::string(what) + " has element type i8 or u8");
}

// A zero point is a scalar, a vector of one, or one number per row of a (column of b), with or without the matrix's other axes.
Status inferZeroPoint(InferContext& c, int operand, const TensorOperand& matrix, int axis) {
  if (!c.hasOperand(operand)) return {};
  DYN_TRY(TensorOperand zero, tensorOperand(c, operand));
  DYN_CHECK(requireSameDtype(c, matrix, zero));
  if (zero.rank() == 0) return {};
  if (zero.rank() == 1) {
    if (zero.dims[0].isConstant(1)) return {};
    if (axis < 0) return c.error(DiagnosticId::shapeMismatch, "the zero point of a vector is one number");
    return c.requireEqual(zero.dims[0], matrix.dims[static_cast<size_t>(axis)],
                          "zero points, one per row or column");
  }
  // The matrix's rank, its summed axis 1.
  if (zero.rank() != matrix.rank())
    return c.error(DiagnosticId::rankMismatch, "the zero point does not go with " + matrix.type.toString());
  for (int k = 0; k < zero.rank(); ++k) {
    const Dim d = zero.dims[static_cast<size_t>(k)];
    if (!d.isConstant(1))
      DYN_CHECK(c.requireEqual(d, matrix.dims[static_cast<size_t>(k)], "zero points, one per row or column"));
  }
  return {};
}

Status inferMatmulInteger(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand b, tensorOperand(c, 1));
  DYN_CHECK(requireByte(c, a, "a"));
  DYN_CHECK(requireByte(c, b, "b"));
  DYN_TRY(Shape shape, matmulShape(c, a.dims, b.dims, false, false));
  DYN_CHECK(inferZeroPoint(c, 2, a, a.rank() >= 2 ? a.rank() - 2 : -1));
  DYN_CHECK(inferZeroPoint(c, 3, b, b.rank() >= 2 ? b.rank() - 1 : -1));
  setTensor(c, shape, Dtype::i32);
  return {};
}

// The zero point of each element of the matrix, flat.
Result<std::vector<int64_t>> zeroPoints(const EvalContext& c, int operand, const HostTensor& matrix,
                                        int axis) {
  std::vector<int64_t> values(static_cast<size_t>(matrix.elementCount()), 0);
  if (!c.hasOperand(operand)) return values;
  const HostTensor& zero = c.operand(operand);
  std::vector<int64_t> shape = zero.shape();
  if (zero.rank() == 1 && shape[0] != 1) {
    shape.assign(static_cast<size_t>(matrix.rank()), 1);
    if (axis < 0) return c.error(DiagnosticId::shapeMismatch, "the zero point of a vector is one number");
    shape[static_cast<size_t>(axis)] = zero.shape()[0];
  }
  const auto joined = broadcastConcrete(shape, matrix.shape());
  if (!joined || *joined != matrix.shape())
    return c.error(DiagnosticId::shapeMismatch,
                   "zero points of " + shapeText(zero.shape()) + " for " + shapeText(matrix.shape()));
  OffsetWalk walk(matrix.shape(), {broadcastStrides(shape, matrix.shape())});
  for (int64_t& value : values) {
    value = zero.intAt(walk.offset(0));
    walk.next();
  }
  return values;
}

Status evaluateMatmulInteger(EvalContext& c) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  DYN_TRY(ConcreteProduct p, concreteProduct(c, a.shape(), b.shape(), false, false));
  DYN_TRY(std::vector<int64_t> aZero, zeroPoints(c, 2, a, a.rank() >= 2 ? a.rank() - 2 : -1));
  DYN_TRY(std::vector<int64_t> bZero, zeroPoints(c, 3, b, b.rank() >= 2 ? b.rank() - 1 : -1));
  DYN_TRY(HostTensor result, newTensor(Dtype::i32, p.shape));
  forEachProduct(p, [&](int64_t flat, int64_t aAt, int64_t bAt) {
    int64_t sum = 0;
    for (int64_t k = 0; k < p.depth; ++k, aAt += p.depthStepA, bAt += p.depthStepB) {
      sum +=
          (a.intAt(aAt) - aZero[static_cast<size_t>(aAt)]) * (b.intAt(bAt) - bZero[static_cast<size_t>(bAt)]);
    }
    result.setInt(flat, sum);
  });
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> readZeroPoint(LowerContext& c, int operand, std::span<const Expr> at, int axis) {
  if (!c.hasOperand(operand)) return c.loops().integer(0, Dtype::i32);
  const Type type = c.operandType(operand);
  std::vector<Expr> zeroAt;
  if (type.rank() == 1) {
    zeroAt.push_back(axis < 0 || type.dims()[0].isConstant(1) ? c.integer(0) : at[static_cast<size_t>(axis)]);
  } else if (type.rank() > 1) {
    for (int k = 0; k < type.rank(); ++k) {
      zeroAt.push_back(type.dims()[static_cast<size_t>(k)].isConstant(1) ? c.integer(0)
                                                                         : at[static_cast<size_t>(k)]);
    }
  }
  DYN_TRY(Expr zero, c.read(operand, zeroAt));
  return castTo(zero, Dtype::i32);
}

Result<Expr> lowerMatmulInteger(LowerContext& c, int, std::span<const Expr> index) {
  const int aRank = c.operandType(0).rank(), bRank = c.operandType(1).rank();
  return lowerProduct(
      c, index, false, false,
      [&](Expr a, std::span<const Expr> aAt, Expr b, std::span<const Expr> bAt) -> Result<Expr> {
        DYN_TRY(Expr aZero, readZeroPoint(c, 2, aAt, aRank >= 2 ? aRank - 2 : -1));
        DYN_TRY(Expr bZero, readZeroPoint(c, 3, bAt, bRank >= 2 ? bRank - 1 : -1));
        return (castTo(a, Dtype::i32) - aZero) * (castTo(b, Dtype::i32) - bZero);
      });
}

}  // namespace

namespace ops {

const OpDef matmulOp{
    .name = "matmul",
    .summary = "the product of matrices, stacks of matrices and vectors, as NumPy's matmul",
    .cls = OpClass::contraction,
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kMatmulAttributes,
    .infer = inferMatmul,
    .evaluate = evaluateMatmul,
    .lowering = LoweringKind::builtin,
    .lower = lowerMatmul,
    .builtin = "gemm",
    .builtinArguments = matmulArguments,
    .builtinTakes = builtinGemmTakes,
    .doc =
        "[..., m, k] x [..., k, n] -> [..., m, n], batch axes broadcast; [k] x ... -> without m; ... x [k] "
        "-> without n. "
        "Integers wrap. Builtin: (a, b), number transpose_a + 2 * transpose_b.",
    .example = "fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(3, m), f32]) { %y = matmul(%a, %b) return %y }",
};

const OpDef pack_bOp{
    .name = "pack_b",
    .summary = "a constant right matrix in the panels that the micro-kernels read",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kPackAttributes,
    .infer = inferPack,
    .evaluate = evaluatePack,
    .lowering = LoweringKind::builtin,
    .builtin = "gemmpack",
    .builtinAllocates = true,
    .builtinArguments = packArguments,
    .doc =
        "[k, n] (or [n, k] with transpose) f32 -> [?] f32, only good for gemm_packed on the same machine. "
        "Builtin: (b), number transpose.",
    .example = "fn @main(%b: Tensor[(3, m), f32]) { %p = pack_b(%b) return %p }",
};

const OpDef gemm_packedOp{
    .name = "gemm_packed",
    .summary = "the product with a right matrix packed by pack_b",
    .cls = OpClass::contraction,
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kPackedAttributes,
    .infer = inferGemmPacked,
    .evaluate = evaluateGemmPacked,
    .lowering = LoweringKind::builtin,
    .builtin = "gemm",
    .builtinArguments = gemmPackedArguments,
    .doc = "[..., k] f32, packed [?] f32 -> [..., n]. Builtin gemm: (a, packed), number 4.",
    .example =
        "fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(3, 5), f32]) { %p = pack_b(%b) "
        "%y = gemm_packed(%a, %p) {n = dims(5), k = dims(3)} return %y }",
};

const OpDef matmul_integerOp{
    .name = "matmul_integer",
    .summary = "the product of 8-bit matrices less their zero points, in i32",
    .cls = OpClass::contraction,
    .minOperands = 2,
    .maxOperands = 4,
    .infer = inferMatmulInteger,
    .evaluate = evaluateMatmulInteger,
    .lowering = LoweringKind::loops,
    .lower = lowerMatmulInteger,
    .doc = "a [..., m, k], b [..., k, n] of i8 or u8, a_zero [] or [m], b_zero [] or [n] -> [..., m, n] i32",
    .example =
        "fn @main(%a: Tensor[(n, 3), u8], %b: Tensor[(3, m), i8], %z: Tensor[(), u8]) "
        "{ %y = matmul_integer(%a, %b, %z) return %y }",
};

}  // namespace ops
}  // namespace dyn
