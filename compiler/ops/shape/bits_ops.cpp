// bitcast: the same bits seen as another element type.
#include <cstring>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"

namespace dyn {

namespace {

constexpr AttributeSpec kBitcastAttributes[] = {
    {"to", AttributeKind::dtype, true, "the element type of the result, of the same size",
     Allowed::byRule("of the size of the operand's elements")},
};

// Types under a byte are unpacked at run time, so that their bits are not those of the storage.
bool isPacked(Dtype dtype) {
  switch (dtype) {
    case Dtype::i4:
    case Dtype::u4:
    case Dtype::i2:
    case Dtype::u2:
    case Dtype::f4e2m1:
      return true;
    default:
      return false;
  }
}

Status inferBitcast(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  const Dtype to = c.attributes().dtype("to");
  if (x.dtype == Dtype::string || to == Dtype::string)
    return c.error(DiagnosticId::dtypeMismatch, "strings have no bits of a fixed number");
  if (x.dtype != to && (isPacked(x.dtype) || isPacked(to)))
    return c.error(DiagnosticId::unsupportedFeature, "bitcast between types under a byte");
  if (storageBytes(x.dtype) != storageBytes(to))
    return c.error(DiagnosticId::dtypeMismatch,
                   std::string(toString(x.dtype)) + " and " + std::string(toString(to)) + " differ in size");
  setTensor(c, x.dims, to);
  return {};
}

Status evaluateBitcast(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(HostTensor result, newTensor(c.attributes().dtype("to"), x.shape()));
  if (x.sizeBytes() > 0) std::memcpy(result.mutableData(), x.data(), static_cast<size_t>(x.sizeBytes()));
  c.setResult(0, std::move(result));
  return {};
}

}  // namespace

namespace ops {

const OpDef bitcastOp{
    .name = "bitcast",
    .summary = "the bits of x as another element type",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kBitcastAttributes,
    .infer = inferBitcast,
    .evaluate = evaluateBitcast,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Bitcast>,
    .operandRules = kAnyElements,
    .doc = "[...] -> [...] of a type of the same size",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = bitcast(%x) {to = i32} return %y }",
};

}  // namespace ops
}  // namespace dyn
