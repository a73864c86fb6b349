// Elements moved by rule: depth_to_space, space_to_depth, reverse_sequence.
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

Result<int64_t> blockOf(const InferContext& c) {
  const int64_t block = c.attributes().integer("block");
  if (block >= 1 && block <= 32768) return block;
  return c.error(DiagnosticId::badAttribute,
                 "the block must be between 1 and 32768, it is " + std::to_string(block));
}

Status requireMultiple(InferContext& c, Dim d, int64_t multiple, std::string_view what) {
  return c.requireEqual(mod(d, constantDim(c, multiple)), constantDim(c, 0),
                        std::string(what) + " modulo " + std::to_string(multiple));
}

// --- depth_to_space

Result<bool> isColumnMajorDepth(const InferContext& c) {
  const std::string mode = c.attributes().string("mode", "dcr");
  if (mode == "dcr" || mode == "crd") return mode == "crd";
  return c.error(DiagnosticId::badAttribute, "the mode is neither dcr nor crd");
}

Status inferDepthToSpace(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0, 4));
  DYN_TRY(int64_t block, blockOf(c));
  DYN_TRY(bool columnMajor, isColumnMajorDepth(c));
  (void)columnMajor;
  DYN_CHECK(requireMultiple(c, x.dims[1], block * block, "channels"));
  setTensor(
      c,
      {x.dims[0], floorDiv(x.dims[1], constantDim(c, block * block)), x.dims[2] * block, x.dims[3] * block},
      x.dtype);
  return {};
}

Status evaluateDepthToSpace(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t>& s = x.shape();
  const int64_t block = c.attributes().integer("block"), channels = s[1] / (block * block);
  const bool isCrd = c.attributes().string("mode", "dcr") == "crd";
  if (s[1] % (block * block) != 0)
    return c.error(DiagnosticId::shapeMismatch, "the channels are no multiple of block * block");
  DYN_TRY(HostTensor result, newTensor(x.dtype(), {s[0], channels, s[2] * block, s[3] * block}));
  const ElementCopier copier(result, x);
  OffsetWalk walk(result.shape(), {});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    const std::vector<int64_t>& at = walk.index();
    const int64_t inBlock = at[2] % block * block + at[3] % block;
    const int64_t channel = isCrd ? at[1] * block * block + inBlock : inBlock * channels + at[1];
    copier.copy(i, ((at[0] * s[1] + channel) * s[2] + at[2] / block) * s[3] + at[3] / block);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerDepthToSpace(LowerContext& c, int, std::span<const Expr> index) {
  DYN_CHECK(requireCompiled(c, c.operandType(0).dtype()));
  const int64_t size = c.attributes().integer("block");
  const Expr block = c.integer(size), channels = c.dim(c.resultType(0).dims()[1]);
  const Expr inBlock = mod(index[2], block) * size + mod(index[3], block);
  const Expr channel = c.attributes().string("mode", "dcr") == "crd" ? index[1] * (size * size) + inBlock
                                                                     : inBlock * channels + index[1];
  return c.read(0,
                std::vector<Expr>{index[0], channel, floorDiv(index[2], block), floorDiv(index[3], block)});
}

constexpr AttributeSpec kDepthToSpaceAttributes[] = {
    {"block", AttributeKind::integer, true, "the side of a block of pixels", Allowed::between(1, 32768)},
    {"mode", AttributeKind::string, false,
     "the order within the channels: dcr (block first) or crd; default dcr", Allowed::oneOf("dcr crd")}};

// --- space_to_depth

Status inferSpaceToDepth(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0, 4));
  DYN_TRY(int64_t block, blockOf(c));
  DYN_CHECK(requireMultiple(c, x.dims[2], block, "height"));
  DYN_CHECK(requireMultiple(c, x.dims[3], block, "width"));
  const Dim side = constantDim(c, block);
  setTensor(c, {x.dims[0], x.dims[1] * (block * block), floorDiv(x.dims[2], side), floorDiv(x.dims[3], side)},
            x.dtype);
  return {};
}

Status evaluateSpaceToDepth(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  const std::vector<int64_t>& s = x.shape();
  const int64_t block = c.attributes().integer("block");
  if (s[2] % block != 0 || s[3] % block != 0)
    return c.error(DiagnosticId::shapeMismatch, "height or width is no multiple of the block");
  DYN_TRY(HostTensor result, newTensor(x.dtype(), {s[0], s[1] * block * block, s[2] / block, s[3] / block}));
  const ElementCopier copier(result, x);
  OffsetWalk walk(result.shape(), {});
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    const std::vector<int64_t>& at = walk.index();
    const int64_t inBlock = at[1] / s[1], row = at[2] * block + inBlock / block,
                  column = at[3] * block + inBlock % block;
    copier.copy(i, ((at[0] * s[1] + at[1] % s[1]) * s[2] + row) * s[3] + column);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerSpaceToDepth(LowerContext& c, int, std::span<const Expr> index) {
  DYN_CHECK(requireCompiled(c, c.operandType(0).dtype()));
  const int64_t size = c.attributes().integer("block");
  const Expr block = c.integer(size), channels = c.dim(c.operandType(0).dims()[1]);
  const Expr inBlock = floorDiv(index[1], channels);
  return c.read(
      0, std::vector<Expr>{index[0], mod(index[1], channels), index[2] * size + floorDiv(inBlock, block),
                           index[3] * size + mod(inBlock, block)});
}

constexpr AttributeSpec kSpaceToDepthAttributes[] = {
    {"block", AttributeKind::integer, true, "the side of a block of pixels", Allowed::between(1, 32768)}};

// --- reverse_sequence

struct SequenceAxes {
  int batch = 1, time = 0;
};

template <typename Context>
Result<SequenceAxes> sequenceAxes(const Context& c, int rank) {
  const int64_t batch = c.attributes().integer("batch_axis", 1),
                time = c.attributes().integer("time_axis", 0);
  if (batch < 0 || time < 0 || batch >= rank || time >= rank || batch == time)
    return c.error(DiagnosticId::badAttribute, "batch_axis and time_axis must be two axes of the operand");
  return SequenceAxes{static_cast<int>(batch), static_cast<int>(time)};
}

Status inferReverseSequence(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_TRY(TensorOperand lengths, tensorOperand(c, 1, 1));
  DYN_CHECK(requireClass(c, lengths, {DtypeClass::integer, DtypeClass::natural}, "the lengths"));
  DYN_TRY(SequenceAxes axes, sequenceAxes(c, x.rank()));
  DYN_CHECK(c.requireEqual(lengths.dims[0], x.dims[static_cast<size_t>(axes.batch)],
                           "one length for each sequence"));
  c.setResult(0, x.type);
  return {};
}

Status evaluateReverseSequence(EvalContext& c) {
  const HostTensor &x = c.operand(0), &lengths = c.operand(1);
  DYN_TRY(SequenceAxes axes, sequenceAxes(c, x.rank()));
  const size_t batch = static_cast<size_t>(axes.batch), time = static_cast<size_t>(axes.time);
  if (lengths.elementCount() != x.shape()[batch])
    return c.error(DiagnosticId::shapeMismatch, "there must be one length for each sequence");
  for (int64_t length : elementsOf(lengths)) {
    if (length < 0 || length > x.shape()[time])
      return c.error(DiagnosticId::runtimeError,
                     "a length of " + std::to_string(length) + " is out of range");
  }
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  const ElementCopier copier(result, x);
  const std::vector<int64_t> strides = rowMajorStrides(x.shape());
  OffsetWalk walk(x.shape(), {strides});
  for (int64_t i = 0; i < x.elementCount(); ++i, walk.next()) {
    const int64_t length = lengths.intAt(walk.index()[batch]), t = walk.index()[time];
    copier.copy(i, t < length ? i + (length - 1 - 2 * t) * strides[time] : i);
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerReverseSequence(LowerContext& c, int, std::span<const Expr> index) {
  const Type x = c.operandType(0);
  DYN_CHECK(requireCompiled(c, x.dtype()));
  DYN_TRY(SequenceAxes axes, sequenceAxes(c, x.rank()));
  const size_t batch = static_cast<size_t>(axes.batch), time = static_cast<size_t>(axes.time);
  DYN_TRY(Expr length, c.read(1, index.subspan(batch, 1)));
  length = indexExpr(c, length);
  std::vector<Expr> from(index.begin(), index.end());
  from[time] = select(index[time] < length, length - 1 - index[time], index[time]);
  DYN_TRY(Expr element, c.read(0, from));
  return c.checked(c.integer(0) <= length && length <= c.dim(x.dims()[time]), element,
                   {DYN_KERNEL_INDEX_OUT_OF_RANGE, length, "length", axisText(x, time)});
}

constexpr AttributeSpec kReverseSequenceAttributes[] = {
    {"batch_axis", AttributeKind::integer, false, "the axis of the sequences; default 1",
     Allowed::byRule("an axis of operand 0, from 0 on, other than time_axis")},
    {"time_axis", AttributeKind::integer, false, "the axis reversed; default 0",
     Allowed::byRule("an axis of operand 0, from 0 on, other than batch_axis")}};

constexpr OperandRule kReverseSequenceRules[] = {
    {1, ElementsAre::byKernel, "0 to the size of the time axis"}};

}  // namespace

namespace ops {

const OpDef depth_to_spaceOp{
    .name = "depth_to_space",
    .summary = "channels laid out as blocks of pixels",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kDepthToSpaceAttributes,
    .infer = inferDepthToSpace,
    .evaluate = evaluateDepthToSpace,
    .lowering = LoweringKind::loops,
    .lower = lowerDepthToSpace,
    .operandRules = kAnyElements,
    .doc = "x [n, c, h, w] -> [n, c / block^2, h * block, w * block]",
    .example = "fn @main(%x: Tensor[(n, 8, h, w), f32]) { %y = depth_to_space(%x) {block = 2} return %y }",
};

const OpDef space_to_depthOp{
    .name = "space_to_depth",
    .summary = "blocks of pixels laid out as channels",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true},
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kSpaceToDepthAttributes,
    .infer = inferSpaceToDepth,
    .evaluate = evaluateSpaceToDepth,
    .lowering = LoweringKind::loops,
    .lower = lowerSpaceToDepth,
    .operandRules = kAnyElements,
    .doc = "x [n, c, h, w] -> [n, c * block^2, h / block, w / block]",
    .example =
        "fn @main(%x: Tensor[(n, 3, 2*h, 2*w), f32]) { %y = space_to_depth(%x) {block = 2} return %y }",
};

const OpDef reverse_sequenceOp{
    .name = "reverse_sequence",
    .summary = "the first elements of each sequence in reverse order",
    .cls = OpClass::injective,
    .traits = {.keepsRank = true},
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kReverseSequenceAttributes,
    .infer = inferReverseSequence,
    .evaluate = evaluateReverseSequence,
    .lowering = LoweringKind::loops,
    .lower = lowerReverseSequence,
    .operandRules = kReverseSequenceRules,
    .doc =
        "x [...] with axes of b sequences and t steps, lengths [b], each 0..t -> [...]; steps past the "
        "length stay",
    .example =
        "fn @main(%x: Tensor[(t, b, 2), f32], %l: Tensor[(b), i64]) { %y = reverse_sequence(%x, %l) return "
        "%y }",
};

}  // namespace ops
}  // namespace dyn
