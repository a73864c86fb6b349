// Products of matrices: matmul, and products with a matrix packed once at load. Products of bytes:
// byte_ops.cpp; einsum: einsum_ops.cpp.
#include "compiler/ops/contraction/contraction_version.h"
#include "compiler/ops/contraction/matmul_rules.h"
#include "compiler/ops/op_table.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

constexpr AttributeSpec kMatmulAttributes[] = {
    {"transpose_a", AttributeKind::integer, false, "1: the last two axes of a are exchanged; default 0",
     Allowed::flag()},
    {"transpose_b", AttributeKind::integer, false, "1: the last two axes of b are exchanged; default 0",
     Allowed::flag()},
};

Status inferMatmul(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand b, tensorOperand(c, 1));
  DYN_CHECK(requireSameDtype(c, a, b));
  DYN_CHECK(requireClass(c, a, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "a matrix"));
  DYN_TRY(Shape shape, matmulShape(c, a.dims, b.dims, flag(c, "transpose_a"), flag(c, "transpose_b")));
  setTensor(c, shape, a.dtype);
  return {};
}

Status evaluateMatmul(EvalContext& c) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  DYN_TRY(ConcreteProduct p,
          concreteProduct(c, a.shape(), b.shape(), flag(c, "transpose_a"), flag(c, "transpose_b")));
  DYN_TRY(HostTensor result, newTensor(a.dtype(), p.shape));
  if (isReal(a.dtype())) {
    const std::vector<double> as = realsOf(a), bs = realsOf(b);
    std::vector<double> sums(static_cast<size_t>(p.columns));
    if (p.columns > 0)
      forEachProduct(p, [&](int64_t flat, int64_t aAt, int64_t bAt) {
        const int64_t column = flat % p.columns;
        if (column == 0)
          sumRow(p.depth, as.data() + aAt, p.depthStepA, bs.data() + bAt, p.depthStepB, p.columnStepB, sums);
        result.setReal(flat, sums[static_cast<size_t>(column)]);
      });
    c.setResult(0, std::move(result));
    return {};
  }
  forEachProduct(p, [&](int64_t flat, int64_t aAt, int64_t bAt) {
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

Status fillMatmul(const BuiltinRequest& request, CallFields<calls::Gemm>& call) {
  call.numbers.transposedA = request.op.attributes.integer("transpose_a", 0) != 0;
  call.numbers.transposedB = request.op.attributes.integer("transpose_b", 0) != 0;
  return {};
}

// Narrow types go by loops. Vectors are seen as matrices of one row or column (builtin_lowering.cpp).
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
    {"transpose", AttributeKind::integer, false, "1: b is [n, k]; default 0, b is [k, n]", Allowed::flag()},
    {"dtype", AttributeKind::dtype, false, "bf16: rounded to it; default f16 of an f16, else f32",
     Allowed::byRule("the default or bf16")},
    {"narrow", AttributeKind::integer, false, "1: a bf16 stays one, for a product that widens it; default 0",
     Allowed::byRule("1 of a bf16, without dtype")},
    {"schedule", AttributeKind::string, false, "onednn: for products that are made with it; else left out",
     Allowed::byRule("a schedule of products")},
};
constexpr AttributeSpec kPackedMatmulAttributes[] = {
    {"n", AttributeKind::dims, true, "columns of the packed matrix, one dim", Allowed::byRule("one dim")},
    {"schedule", AttributeKind::string, false,
     "k768r12-panels (blocks of depth and of row tiles, the side that threads share), or several by rows: "
     "auto<=59,k384r24-panels; or onednn; default: auto, the cheapest for the shape of the call",
     Allowed::byRule("a schedule of products")},
    {"k", AttributeKind::dims, true, "rows of the packed matrix, one dim", Allowed::byRule("one dim")},
    {"narrow", AttributeKind::integer, false,
     "1: a packed bf16 is widened, as an f16 is; default 0: the left side is rounded to bf16, too",
     Allowed::byRule("1 of what was packed so")},
};

bool isOneDnn(const Op& op) {
  return isLibrary(
      contraction::parseProductVersion(op.attributes.string("schedule")).value_or(contraction::Version()));
}

Result<HostTensor> roundedTo(Dtype dtype, const HostTensor& x) {
  if (dtype == x.dtype()) return x;
  DYN_TRY(HostTensor result, newTensor(dtype, x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) result.setReal(i, x.realAt(i));
  return result;
}

// What a matrix is packed in unless it is rounded.
Dtype keptIn(Dtype matrix, bool narrow) { return matrix == Dtype::f16 || narrow ? matrix : Dtype::f32; }

Status inferPack(InferContext& c) {
  DYN_TRY(TensorOperand b, tensorOperand(c, 0, 2));
  if (!isHalf(b.dtype)) DYN_CHECK(requireDtype(c, b, Dtype::f32, "a matrix to be packed"));
  const bool narrow = flag(c, "narrow");
  if (narrow && (b.dtype != Dtype::bf16 || c.attributes().has("dtype")))
    return c.error(DiagnosticId::badAttribute, "only a matrix of bf16 is packed narrow, and without dtype");
  const Dtype kept = keptIn(b.dtype, narrow), dtype = c.attributes().dtype("dtype", kept);
  if (dtype != kept && dtype != Dtype::bf16)
    return c.error(DiagnosticId::badAttribute, "a matrix of " + std::string(toString(b.dtype)) +
                                                   " is packed in " + std::string(toString(kept)) +
                                                   " or bf16, not in " + std::string(toString(dtype)));
  // How the panels are laid out is the running machine's affair, so the length is its too.
  setTensor(c, {c.fresh("the panels of a packed matrix are laid out for the machine at load")}, dtype);
  return {};
}

Status evaluatePack(EvalContext& c) {
  DYN_TRY(HostTensor panel, onePanel(c.operand(0), flag(c, "transpose")));
  DYN_TRY(HostTensor rounded,
          roundedTo(c.attributes().dtype("dtype", keptIn(panel.dtype(), flag(c, "narrow"))), panel));
  c.setResult(0, std::move(rounded));
  return {};
}

Status fillPack(const BuiltinRequest& request, CallFields<calls::Gemmpack>& call) {
  call.numbers.transposed = request.op.attributes.integer("transpose", 0) != 0;
  call.numbers.rounded = request.op.attributes.dtype("dtype", Dtype::f32) == Dtype::bf16;
  call.numbers.narrow = request.op.attributes.integer("narrow", 0) != 0;
  return {};
}

Status inferGemmPacked(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand packed, tensorOperand(c, 1, 1));
  DYN_CHECK(requireDtype(c, a, Dtype::f32, "the left matrix"));
  if (!isHalf(packed.dtype)) DYN_CHECK(requireDtype(c, packed, Dtype::f32, "the packed matrix"));
  if (flag(c, "narrow") && packed.dtype != Dtype::bf16)
    return c.error(DiagnosticId::badAttribute, "only a packed bf16 is narrow by choice, not a packed " +
                                                   std::string(toString(packed.dtype)));
  if (a.rank() < 1) return c.error(DiagnosticId::rankMismatch, "the left matrix is a scalar");
  DYN_TRY(Shape shape, packedProductShape(c, a.dims));
  setTensor(c, shape, a.dtype);
  return {};
}

Status evaluateGemmPacked(EvalContext& c) {
  const HostTensor& b = c.operand(1);
  DYN_TRY(HostTensor a,
          roundedTo(b.dtype() == Dtype::bf16 && !flag(c, "narrow") ? Dtype::bf16 : Dtype::f32, c.operand(0)));
  DYN_TRY(int64_t n, c.dimValue(c.attributes().dims("n").at(0)));
  DYN_TRY(int64_t k, c.dimValue(c.attributes().dims("k").at(0)));
  if (a.shape().back() != k || b.elementCount() != n * k) {
    return c.error(DiagnosticId::shapeMismatch,
                   shapeText(a.shape()) + " and a packed matrix of " + shapeText({{k, n}}));
  }
  std::vector<int64_t> shape = a.shape();
  shape.back() = n;
  DYN_TRY(HostTensor result, newTensor(c.operand(0).dtype(), shape));
  const int64_t rows = sizeProduct(a.shape(), 0, a.rank() - 1);
  const std::vector<double> as = realsOf(a), bs = realsOf(b);
  std::vector<double> sums(static_cast<size_t>(n));
  for (int64_t i = 0; i < rows; ++i) {
    sumRow(k, as.data() + i * k, 1, bs.data(), n, 1, sums);
    for (int64_t j = 0; j < n; ++j) result.setReal(i * n + j, sums[static_cast<size_t>(j)]);
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillGemmPacked(const BuiltinRequest& request, CallFields<calls::Gemm>& call) {
  const Op& op = request.op;
  auto& n = call.numbers;
  n.packedB = true;
  n.narrowB = op.attributes.integer("narrow", 0) != 0;
  if (!op.attributes.has("schedule")) return {};
  const std::string schedule = op.attributes.string("schedule");
  const std::optional<contraction::Version> version = contraction::parseProductVersion(schedule);
  if (!version)
    return makeError(DiagnosticId::badAttribute, "a product has no schedule '" + schedule + "'", op.place);
  const auto* dispatch = std::get_if<contraction::Dispatch>(&*version);
  if (!dispatch) return {};
  n.dispatched = true;
  n.pieces = static_cast<int32_t>(dispatch->pieces.size());
  for (const contraction::DispatchPiece& piece : dispatch->pieces)
    n.dispatch.insert(n.dispatch.end(), {piece.schedule + 1, static_cast<int32_t>(piece.mostRows)});
  return {};
}

}  // namespace

namespace ops {

const OpDef matmulOp{
    .name = "matmul",
    .summary = "the product of matrices, stacks of matrices and vectors, as NumPy's matmul",
    .cls = OpClass::contraction,
    .traits = {.matrixOperands = 2, .epilogue = Dtype::f32},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kMatmulAttributes,
    .infer = inferMatmul,
    .evaluate = evaluateMatmul,
    .lowering = LoweringKind::builtin,
    .lower = lowerMatmul,
    .builtin = calling<calls::Gemm, fillMatmul>,
    .builtinTakes = builtinGemmTakes,
    .operandRules = kAnyElements,
    .doc =
        "[..., m, k] x [..., k, n] -> [..., m, n], batch axes broadcast; [k] x ... -> without m; ... x "
        "[k] -> without n. Integers wrap.",
    .example = "fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(3, m), f32]) { %y = matmul(%a, %b) return %y }",
};

const OpDef pack_bOp{
    .name = "pack_b",
    .summary = "a constant right matrix in the panels that the micro-kernels read",
    .cls = OpClass::opaque,
    .traits = {.packsWeights = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kPackAttributes,
    .infer = inferPack,
    .evaluate = evaluatePack,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Gemmpack, fillPack>,
    .builtinFor = [](const Op& op) -> std::string_view {
      return isOneDnn(op) ? "onednn_gemm_pack" : "gemmpack";
    },
    .operandRules = kAnyElements,
    .doc =
        "[k, n] (or [n, k] with transpose) f32, f16 or bf16 -> [?] f32, f16 or bf16, only good for "
        "gemm_packed on the same machine.",
    .example = "fn @main(%b: Tensor[(3, m), f32]) { %p = pack_b(%b) return %p }",
};

const OpDef gemm_packedOp{
    .name = "gemm_packed",
    .summary = "the product with a right matrix packed by pack_b",
    .cls = OpClass::contraction,
    .traits = {.matrixOperands = 1, .epilogue = Dtype::f32},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kPackedMatmulAttributes,
    .infer = inferGemmPacked,
    .evaluate = evaluateGemmPacked,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Gemm, fillGemmPacked>,
    .builtinFor = [](const Op& op) -> std::string_view { return isOneDnn(op) ? "onednn_gemm" : "gemm"; },
    .operandRules = kAnyElements,
    .doc =
        "[..., k] f32, packed [?] f32, f16 or (narrow) bf16 -> [..., n]; another packed bf16 has the left "
        "side rounded to bf16, too, and sums in f32.",
    .example =
        "fn @main(%a: Tensor[(n, 3), f32], %b: Tensor[(3, 5), f32]) { %p = pack_b(%b) "
        "%y = gemm_packed(%a, %p) {n = dims(5), k = dims(3)} return %y }",
};

}  // namespace ops
}  // namespace dyn
