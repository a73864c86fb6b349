// The product with weights of a few bits in blocks, each with a scale and a zero point: they stay packed in
// memory.
#include <cmath>
#include <limits>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"
#include "vm/shared/dyn_nbits.h"

namespace dyn {

namespace {

constexpr AttributeSpec kNBitsAttributes[] = {
    {"bits", AttributeKind::integer, true, "of one weight: 4 or 8", Allowed::byRule("4 or 8")},
    {"block", AttributeKind::integer, true, "weights along k that share a scale: an even number",
     Allowed::byRule("an even number, at least 16")},
    {"round_rows", AttributeKind::integer, false,
     "1: a is rounded to 8 bits, a block at a time, its largest to 127; default 0", Allowed::flag()},
};

constexpr int64_t kLargestBlock = 1 << 20;

Status inferMatmulNbits(InferContext& c) {
  const int64_t bits = c.attributes().integer("bits"), block = c.attributes().integer("block");
  if (bits != 4 && bits != 8)
    return c.error(DiagnosticId::badAttribute, "weights of " + std::to_string(bits) + " bits");
  if (block < 2 || block > kLargestBlock || block % 2 != 0)
    return c.error(DiagnosticId::badAttribute, "blocks of " + std::to_string(block) + " weights");
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand b, tensorOperand(c, 1, 3));
  DYN_TRY(TensorOperand scales, tensorOperand(c, 2, 2));
  if (a.rank() < 1) return c.error(DiagnosticId::rankMismatch, "the left operand must not be a scalar");
  if (a.dtype != Dtype::f32 || scales.dtype != Dtype::f32)
    return c.error(DiagnosticId::dtypeMismatch, "the left operand and the scales are f32");
  if (b.dtype != Dtype::u8) return c.error(DiagnosticId::dtypeMismatch, "packed weights are u8");
  const Dim n = b.dims[0], blocks = b.dims[1];
  DYN_CHECK(c.requireEqual(b.dims[2], constantDim(c, block * bits / 8), "the bytes of a block"));
  DYN_CHECK(c.requireEqual(blocks, ceilDiv(a.dims.back(), constantDim(c, block)), "blocks along k"));
  DYN_CHECK(c.requireEqual(scales.dims[0], n, "scales, a row for each column of the product"));
  DYN_CHECK(c.requireEqual(scales.dims[1], blocks, "scales, one for each block"));
  if (c.hasOperand(3)) {
    DYN_TRY(TensorOperand zeros, tensorOperand(c, 3, 2));
    if (zeros.dtype != Dtype::u8) return c.error(DiagnosticId::dtypeMismatch, "packed zero points are u8");
    DYN_CHECK(c.requireEqual(zeros.dims[0], n, "zero points, a row for each column of the product"));
    DYN_CHECK(
        c.requireEqual(zeros.dims[1], ceilDiv(bits * blocks, constantDim(c, 8)), "bytes of zero points"));
  }
  Shape shape = a.dims;
  shape.back() = n;
  setTensor(c, shape, Dtype::f32);
  return {};
}

// Number `index` of a row of packed ones.
int64_t unpackedBits(const HostTensor& packed, int64_t row, int64_t rowBytes, int64_t bits, int64_t index) {
  const int64_t byte = packed.intAt(row * rowBytes + index * bits / 8);
  return bits == 8 ? byte : byte >> (index % 2 * 4) & 15;
}

// Numbers [first, end) of a row, rounded to 8 bits of the largest of them.
void roundBlock(std::vector<double>& row, int64_t first, int64_t end) {
  float largest = 0;
  bool finite = true;
  for (int64_t i = first; i < end; ++i) {
    finite &= std::isfinite(row[i]);
    largest = std::max(largest, std::abs(static_cast<float>(row[i])));
  }
  for (int64_t i = first; i < end; ++i) {
    if (!finite)
      row[i] = std::numeric_limits<double>::quiet_NaN();
    else if (largest > 0)
      row[i] = std::nearbyint(static_cast<float>(row[i]) / largest * 127.0f) * (largest / 127.0f);
  }
}

Status evaluateMatmulNbits(EvalContext& c) {
  const int64_t bits = c.attributes().integer("bits"), block = c.attributes().integer("block");
  const HostTensor &a = c.operand(0), &b = c.operand(1), &scales = c.operand(2);
  const int64_t n = b.shape()[0], blocks = b.shape()[1], k = a.shape().back();
  const int64_t rowBytes = blocks * b.shape()[2], zeroBytes = (blocks * bits + 7) / 8;
  std::vector<int64_t> shape = a.shape();
  shape.back() = n;
  DYN_TRY(HostTensor result, newTensor(Dtype::f32, shape));
  const int64_t rows = n == 0 ? 0 : result.elementCount() / n;
  const bool rounds = c.attributes().integer("round_rows", 0) != 0;
  std::vector<double> left(static_cast<size_t>(k));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < k; ++i) left[i] = a.realAt(row * k + i);
    for (int64_t i = 0; rounds && i < k; i += block) roundBlock(left, i, std::min(k, i + block));
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t zero = c.hasOperand(3) ? unpackedBits(c.operand(3), column, zeroBytes, bits, i / block)
                                             : int64_t{1} << (bits - 1);
        const auto level = static_cast<double>(unpackedBits(b, column, rowBytes, bits, i) - zero);
        sum += left[i] * level * scales.realAt(column * blocks + i / block);
      }
      result.setReal(row * n + column, sum);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillNbits(const BuiltinRequest& request, CallFields<calls::Nbitsgemm>& call) {
  const NbitsNumber number{static_cast<int32_t>(request.op.attributes.integer("bits")),
                           request.op.attributes.integer("round_rows", 0) != 0};
  call.numbers.bits = number.joined();
  call.numbers.block = static_cast<int32_t>(request.op.attributes.integer("block"));
  return {};
}

}  // namespace

namespace ops {

const OpDef matmul_nbitsOp{
    .name = "matmul_nbits",
    .summary = "the product with weights of 4 or 8 bits in blocks, which stay packed",
    .cls = OpClass::opaque,
    .minOperands = 3,
    .maxOperands = 4,
    .attributes = kNBitsAttributes,
    .infer = inferMatmulNbits,
    .evaluate = evaluateMatmulNbits,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Nbitsgemm, fillNbits>,
    .operandRules = kAnyElements,
    .doc =
        "a [..., k] f32, weights u8 [n, blocks, block * bits / 8], scales f32 [n, blocks], zeros u8 [n, "
        "bytes] (default half of the range) -> [..., n]: weights are (number - zero) * scale, the low "
        "bits first.",
    .example =
        "fn @main(%a: Tensor[(n, 40), f32], %b: Tensor[(3, 2, 16), u8], %s: Tensor[(3, 2), f32]) "
        "{ %y = matmul_nbits(%a, %b, %s) {bits = 4, block = 32} return %y }",
};

}  // namespace ops
}  // namespace dyn
