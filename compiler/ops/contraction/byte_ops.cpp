// Products and convolutions of 8-bit integers less their zero points, exact in i32. What quantised models
// compute with (pass `quantise`).
#include "compiler/ops/contraction/matmul_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

// A zero point is a scalar, a vector of one, or one number per row of a (column of b), with or without the
// matrix's other axes.
Status inferZeroPoint(InferContext& c, int operand, const TensorOperand& matrix, int axis) {
  if (!c.hasOperand(operand)) return {};
  DYN_TRY(TensorOperand zero, tensorOperand(c, operand));
  DYN_CHECK(requireSameDtype(c, matrix, zero));
  if (zero.rank() == 0) return {};
  if (zero.rank() == 1) {
    if (zero.dims[0].isConstant(1)) return {};
    if (axis < 0) return c.error(DiagnosticId::shapeMismatch, "the zero point of a vector is one number");
    return requireStretches(c, zero.dims[0], matrix.dims[static_cast<size_t>(axis)],
                            "zero points, one per row or column");
  }
  // The matrix's rank, its summed axis 1.
  if (zero.rank() != matrix.rank())
    return c.error(DiagnosticId::rankMismatch, "the zero point does not go with " + matrix.type.toString());
  for (int k = 0; k < zero.rank(); ++k) {
    DYN_CHECK(requireStretches(c, zero.dims[static_cast<size_t>(k)], matrix.dims[static_cast<size_t>(k)],
                               "zero points, one per row or column"));
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

Status multiply(EvalContext& c, const HostTensor& b) {
  const HostTensor& a = c.operand(0);
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

Status evaluateMatmulInteger(EvalContext& c) { return multiply(c, c.operand(1)); }

Result<Expr> readZeroPoint(LowerContext& c, int operand, std::span<const Expr> at, int axis) {
  if (!c.hasOperand(operand)) return c.loops().integer(0, Dtype::i32);
  const Type type = c.operandType(operand);
  const Shape matrix = c.operandType(operand - 2).dims();
  const auto placeOf = [&](size_t own, size_t axis) {
    return stretchedPlace(c, type.dims()[own], matrix[axis], at[axis]);
  };
  std::vector<Expr> zeroAt;
  if (type.rank() == 1) {
    zeroAt.push_back(axis < 0 ? c.integer(0) : placeOf(0, static_cast<size_t>(axis)));
  } else if (type.rank() > 1) {
    for (int k = 0; k < type.rank(); ++k) {
      zeroAt.push_back(placeOf(static_cast<size_t>(k), static_cast<size_t>(k)));
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

// The builtin takes matrices and stacks of them, and zero points that are one number or a vector.
bool builtinTakesOperands(const Op& op, std::span<const Type> types) {
  for (size_t i = 2; i < op.operands.size() && i < types.size(); ++i)
    if (op.operands[i] != kNoValue && types[i].rank() > 1) return false;
  return types[0].rank() >= 2 && (op.def == &ops::matmul_integer_packedOp || types[1].rank() >= 2);
}

Status fillInteger(const BuiltinRequest& request, CallFields<calls::Bytegemm>& call) {
  call.numbers.packedB = request.op.def == &ops::matmul_integer_packedOp;
  return {};
}

// --- packed

constexpr AttributeSpec kPackAttributes[] = {
    {"transpose", AttributeKind::integer, false, "1: b is [n, k]; default 0, b is [k, n]", Allowed::flag()},
};
constexpr AttributeSpec kPackedAttributes[] = {
    {"n", AttributeKind::dims, true, "columns of the packed matrix, one dim", Allowed::byRule("one dim")},
    {"k", AttributeKind::dims, true, "rows of the packed matrix, one dim", Allowed::byRule("one dim")},
};

Status inferPack(InferContext& c) {
  DYN_TRY(TensorOperand b, tensorOperand(c, 0, 2));
  DYN_CHECK(requireByte(c, b, "a matrix to be packed"));
  setTensor(c, {c.fresh("the panels of a packed matrix are laid out for the machine at load")}, b.dtype);
  return {};
}

Status evaluatePack(EvalContext& c) {
  DYN_TRY(HostTensor panel, onePanel(c.operand(0), c.attributes().integer("transpose", 0) != 0));
  c.setResult(0, std::move(panel));
  return {};
}

Status fillPack(const BuiltinRequest& request, CallFields<calls::Bytepack>& call) {
  call.numbers.transposed = request.op.attributes.integer("transpose", 0) != 0;
  return {};
}

Status inferPacked(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand packed, tensorOperand(c, 1, 1));
  DYN_CHECK(requireByte(c, a, "a"));
  DYN_CHECK(requireByte(c, packed, "the packed matrix"));
  if (a.rank() < 2)
    return c.error(DiagnosticId::rankMismatch, "the left operand is a matrix or a stack of them");
  DYN_TRY(Shape shape, packedProductShape(c, a.dims));
  DYN_CHECK(inferZeroPoint(c, 2, a, a.rank() - 2));
  TensorOperand columns = packed;
  columns.dims = {shape.back()};
  DYN_CHECK(inferZeroPoint(c, 3, columns, 0));
  setTensor(c, shape, Dtype::i32);
  return {};
}

Status evaluatePacked(EvalContext& c) {
  const HostTensor& a = c.operand(0);
  DYN_TRY(int64_t n, c.dimValue(c.attributes().dims("n").at(0)));
  DYN_TRY(int64_t k, c.dimValue(c.attributes().dims("k").at(0)));
  if (a.shape().back() != k || c.operand(1).elementCount() != n * k)
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(a.shape()) + " and a packed matrix of " + shapeText({{k, n}}));
  return multiply(c, c.operand(1).reshaped({k, n}));
}

}  // namespace

namespace ops {

const OpDef matmul_integerOp{
    .name = "matmul_integer",
    .summary = "the product of 8-bit matrices less their zero points, in i32",
    .cls = OpClass::contraction,
    .traits = {.epilogue = Dtype::i32},
    .minOperands = 2,
    .maxOperands = 4,
    .infer = inferMatmulInteger,
    .evaluate = evaluateMatmulInteger,
    .lowering = LoweringKind::builtin,
    .lower = lowerMatmulInteger,
    .builtin = calling<calls::Bytegemm, fillInteger>,
    .builtinTakes = builtinTakesOperands,
    .operandRules = kAnyElements,
    .doc = "a [..., m, k], b [..., k, n] of i8 or u8, a_zero [] or [m], b_zero [] or [n] -> [..., m, n] i32.",
    .example =
        "fn @main(%a: Tensor[(n, 3), u8], %b: Tensor[(3, m), i8], %z: Tensor[(), u8]) "
        "{ %y = matmul_integer(%a, %b, %z) return %y }",
};

const OpDef pack_bytesOp{
    .name = "pack_bytes",
    .summary = "a constant right matrix of bytes in the panels that the micro-kernels read",
    .cls = OpClass::opaque,
    .traits = {.packsWeights = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kPackAttributes,
    .infer = inferPack,
    .evaluate = evaluatePack,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Bytepack, fillPack>,
    .operandRules = kAnyElements,
    .doc =
        "[k, n] (or [n, k] with transpose) i8 or u8 -> [?] of its element type, only good for "
        "matmul_integer_packed on the same machine.",
    .example = "fn @main(%b: Tensor[(3, m), i8]) { %p = pack_bytes(%b) return %p }",
};

const OpDef matmul_integer_packedOp{
    .name = "matmul_integer_packed",
    .summary = "the integer product with a right matrix packed by pack_bytes",
    .cls = OpClass::contraction,
    .traits = {.epilogue = Dtype::i32},
    .minOperands = 2,
    .maxOperands = 4,
    .attributes = kPackedAttributes,
    .infer = inferPacked,
    .evaluate = evaluatePacked,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Bytegemm, fillInteger>,
    .operandRules = kAnyElements,
    .doc = "a [..., m, k] i8 or u8, packed [?], a_zero [] or [m], b_zero [] or [n] -> [..., m, n] i32.",
    .example =
        "fn @main(%a: Tensor[(n, 3), u8], %b: Tensor[(3, 5), i8], %z: Tensor[(), u8]) { %p = pack_bytes(%b) "
        "%y = matmul_integer_packed(%a, %p, %z) {n = dims(5), k = dims(3)} return %y }",
};

}  // namespace ops
}  // namespace dyn
