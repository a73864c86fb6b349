// Operators that passes introduce: kernels as groups of operations, and memory made explicit.
//
//   %y = fused(%x, %b) {kind = "loop"} region (%p: T, %q: U) -> (T) { %s = add(%p, %q) : T  return %s } : T
// becomes, after placement,
//   %y = alloc() : T
//   into(%x, %b, %y) {outputs = 1, kind = "loop"} region (...) -> (T) { ... }
//   kill(%b)
// The destination keeps the id of the value it holds, so nothing that uses %y changes.
#include "compiler/ops/device_ops.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/shape_rules.h"

namespace dyn::ops {

namespace {

// Results have the types the body returns.
Status inferFused(InferContext& c) {
  std::vector<Type> parameters, results;
  for (int i = 0; i < c.operandCount(); ++i) parameters.push_back(c.operandType(i));
  DYN_CHECK(c.inferRegion(0, parameters, &results));
  if (results.size() != c.op().results.size())
    return c.error(DiagnosticId::badOperands, "the body returns " + std::to_string(results.size()) +
                                                  " values, the group has " +
                                                  std::to_string(c.op().results.size()) + " results");
  for (size_t i = 0; i < results.size(); ++i) c.setResult(static_cast<int>(i), results[i]);
  return {};
}

// The annotation is the type: it was inferred before memory was made explicit.
Status inferAnnotated(InferContext& c) {
  for (size_t i = 0; i < c.op().results.size(); ++i) c.setResult(static_cast<int>(i), c.op().results[i].type);
  return {};
}

Status inferDeviceCopy(InferContext& c) {
  c.setResult(0, c.operandType(0));
  if (std::optional<Contents> contents = c.operandContents(0)) c.setResultContents(0, std::move(*contents));
  return {};
}

Status inferStrided(InferContext& c) {
  const Type type = c.op().results[0].type;
  if (!type || !type.isTensor())
    return c.error(DiagnosticId::badAttribute, "the result's type must be annotated");
  if (c.attributes().dims("offset").size() != 1 ||
      c.attributes().dims("strides").size() != type.dims().size())
    return c.error(DiagnosticId::badAttribute, "one offset and one stride for each axis are needed");
  c.setResult(0, type);
  return {};
}

// All places are elements of the operand.
Status requireInside(const EvalContext& c, std::span<const int64_t> shape, std::span<const int64_t> strides,
                     int64_t offset) {
  int64_t low = offset, high = offset;
  bool inside = true;
  for (size_t axis = 0; axis < shape.size() && inside; ++axis) {
    int64_t& end = strides[axis] < 0 ? low : high;
    int64_t far = 0;
    inside = !__builtin_mul_overflow(shape[axis] - 1, strides[axis], &far) &&
             !__builtin_add_overflow(end, far, &end);
  }
  if (inside && low >= 0 && high < c.operand(0).elementCount()) return {};
  return c.error(DiagnosticId::runtimeError, "the strides reach beyond the operand");
}

Status evaluateStrided(EvalContext& c) {
  std::vector<int64_t> shape, strides;
  for (Dim d : c.resultType(0).dims()) {
    DYN_TRY(int64_t size, c.dimValue(d));
    shape.push_back(size);
  }
  for (Dim d : c.attributes().dims("strides")) {
    DYN_TRY(int64_t stride, c.dimValue(d));
    strides.push_back(stride);
  }
  DYN_TRY(int64_t offset, c.dimValue(c.attributes().dims("offset").at(0)));
  bool empty = false;
  for (int64_t size : shape) empty = empty || size == 0;
  if (!empty) DYN_CHECK(requireInside(c, shape, strides, offset));
  return evaluateCopy(c, c.operand(0), shape,
                      [&](auto index) -> Result<int64_t> { return offset + flatIndex(index, strides); });
}

// The elements are the same wherever they lie.
Status evaluateDeviceCopy(EvalContext& c) {
  c.setResult(0, c.operand(0));
  return {};
}

constexpr AttributeSpec kDeviceCopyAttributes[] = {{"to", AttributeKind::string, true,
                                                    "where the copy lies: the host or the device",
                                                    Allowed::oneOf(kWordsOfSides)}};
constexpr AttributeSpec kStridedAttributes[] = {
    {"offset", AttributeKind::dims, true, "which element is the first, one dim",
     Allowed::byRule("one dim, of an element")},
    {"strides", AttributeKind::dims, true, "how many elements further the next one is, for each axis",
     Allowed::byRule("one for each axis of the result, for places inside of the operand")}};
constexpr AttributeSpec kFusedAttributes[] = {
    {"kind", AttributeKind::string, true,
     "loop: one loop nest; contraction: a matmul and what follows it; attention: product, softmax, product",
     Allowed::oneOf("loop contraction attention builtin")},
    {"device", AttributeKind::string, false, "where it runs; default: the host",
     Allowed::oneOf(kWordsOfDevices)},
};
constexpr AttributeSpec kIntoAttributes[] = {
    {"kind", AttributeKind::string, true, "loop, contraction, attention or builtin",
     Allowed::oneOf("loop contraction attention builtin")},
    {"outputs", AttributeKind::integer, true, "how many of the last operands are written",
     Allowed::atLeast(1)},
    {"stage", AttributeKind::integer, false, "of operations that may run at the same time; default: none",
     Allowed::atLeast(0)},
    {"branch", AttributeKind::integer, false, "which branch of the stage it belongs to", Allowed::atLeast(0)},
    {"branches", AttributeKind::integer, false, "how many the stage has", Allowed::atLeast(2)},
    {"steps", AttributeKind::dims, false, "about how many elementary steps it takes, one dim",
     Allowed::byRule("one dim")},
    {"pieces", AttributeKind::dims, false, "into about how many pieces it can be cut, one dim",
     Allowed::byRule("one dim")},
    {"joins", AttributeKind::integer, false, "1: the stage ends with it; default 0", Allowed::flag()},
    {"device", AttributeKind::string, false, "where it runs; default: the host",
     Allowed::oneOf(kWordsOfDevices)},
};
constexpr AttributeSpec kAllocAttributes[] = {
    {"offset", AttributeKind::dims, false, "byte offset in the arena operand, one dim",
     Allowed::byRule("one dim")},
    {"reuse", AttributeKind::integer, false,
     "1: the operand is a tensor, and its memory is taken when nothing else holds it; default 0",
     Allowed::flag()},
    {"device", AttributeKind::string, false, "whose memory it is; default: the host's",
     Allowed::oneOf(kWordsOfDevices)},
};
constexpr AttributeSpec kArenaAttributes[] = {
    {"device", AttributeKind::string, false, "whose memory it is; default: the host's",
     Allowed::oneOf(kWordsOfDevices)},
};

}  // namespace

const OpDef fusedOp{
    .name = "fused",
    .summary = "a group of operations that runs as one kernel",
    .cls = OpClass::structural,
    .traits = {.onlyReads = true, .onlyOfPasses = true},
    .minOperands = 0,
    .maxOperands = -1,
    .results = -1,
    .attributes = kFusedAttributes,
    .infer = inferFused,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "The region's parameters are the operands, its results are the results. Made by the pass `fuse`.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n  %y = fused(%x) {kind = \"loop\"} region (%p: Tensor[(n), f32]) "
        "{ %q = relu(%p) return %q }\n  return %y\n}",
};

const OpDef intoOp{
    .name = "into",
    .summary = "runs its body and writes the results into the last operands",
    .cls = OpClass::structural,
    .traits = {.onlyReads = true, .onlyOfPasses = true},
    .minOperands = 1,
    .maxOperands = -1,
    .results = 0,
    .attributes = kIntoAttributes,
    .hasEffects = true,
    .infer = inferAnnotated,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc =
        "Operands: inputs (the body's parameters), then `outputs` destinations made by `alloc`. Made by the "
        "pass `bufferize`.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n  %y = alloc() : Tensor[(n), f32]\n"
        "  into(%x, %y) {kind = \"loop\", outputs = 1} region (%p: Tensor[(n), f32]) -> (Tensor[(n), f32]) "
        "{ %q = relu(%p) : Tensor[(n), f32] return %q }\n  return %y\n}",
};

const OpDef stridedOp{
    .name = "strided",
    .summary = "a strided view of a tensor: elements at an offset and strides",
    .cls = OpClass::view,
    .traits = {.view = true},
    .minOperands = 1,
    .maxOperands = 1,
    .results = 1,
    .attributes = kStridedAttributes,
    .infer = inferStrided,
    .evaluate = evaluateStrided,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc =
        "[...] -> the annotated type: element [i, j, ...] is element offset + i * strides[0] + j * "
        "strides[1] + ... of the operand. For operators that read strided operands. Made by the pass "
        "`views`.",
    .example =
        "fn @main(%x: Tensor[(n, 3), f32], %b: Tensor[(n, 2), f32]) {\n"
        "  %t = strided(%x) {offset = dims(0), strides = dims(1, 3)} : Tensor[(3, n), f32]\n"
        "  %y = matmul(%t, %b)\n  return %y\n}",
};

const OpDef device_copyOp{
    .name = "device_copy",
    .summary = "a tensor's elements in the memory of another device",
    .cls = OpClass::structural,
    .traits = {.onlyReads = true},
    .minOperands = 1,
    .maxOperands = 1,
    .results = 1,
    .attributes = kDeviceCopyAttributes,
    .infer = inferDeviceCopy,
    .evaluate = evaluateDeviceCopy,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "[...] -> [...]. Made by the pass `devices`, where a value is needed on the other side.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n  %d = device_copy(%x) {to = \"cuda\"}\n"
        "  %y = device_copy(%d) {to = \"cpu\"}\n  return %y\n}",
};

const OpDef allocOp{
    .name = "alloc",
    .summary = "memory for a tensor: from the pool, at an offset of an arena, or another tensor's",
    .cls = OpClass::structural,
    .traits = {.onlyReads = true, .onlyOfPasses = true},
    .minOperands = 0,
    .maxOperands = 1,
    .results = 1,
    .attributes = kAllocAttributes,
    .hasEffects = true,
    .infer = inferAnnotated,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc =
        "() or (arena) or (tensor) -> the tensor, contents undefined until an `into` writes it. Made by the "
        "passes `bufferize` and `plan`.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n  %y = alloc() : Tensor[(n), f32]\n  kill(%y)\n  return %x\n}",
};

const OpDef arenaOp{
    .name = "arena",
    .summary = "one block of memory that planned tensors share",
    .cls = OpClass::structural,
    .traits = {.onlyOfPasses = true},
    .minOperands = 0,
    .maxOperands = 0,
    .results = 1,
    .attributes = kArenaAttributes,
    .hasEffects = true,
    .infer = inferAnnotated,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "() -> Tensor[(bytes), u8]. Made by the pass `plan`.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n  %a = arena() : Tensor[(4*n), u8]\n"
        "  %y = alloc(%a) {offset = dims(0)} : Tensor[(n), f32]\n  return %x\n}",
};

const OpDef killOp{
    .name = "kill",
    .summary = "the end of a value's life",
    .cls = OpClass::structural,
    .traits = {.onlyReads = true, .onlyOfPasses = true},
    .minOperands = 1,
    .maxOperands = 1,
    .results = 0,
    .hasEffects = true,
    .infer = inferAnnotated,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(value) -> nothing. The value is not used after it. Made by the pass `bufferize`.",
    .example = "fn @main(%x: Tensor[(n), f32]) {\n  %y = relu(%x)\n  kill(%y)\n  return %x\n}",
};

}  // namespace dyn::ops
