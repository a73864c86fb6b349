// Operators that passes introduce: kernels as groups of operations, and memory made explicit.
//
//   %y = fused(%x, %b) {kind = "loop"} region (%p: T, %q: U) -> (T) { %s = add(%p, %q) : T  return %s } : T
// becomes, after placement,
//   %y = alloc() : T
//   into(%x, %b, %y) {outputs = 1, kind = "loop"} region (...) -> (T) { ... }
//   kill(%b)
// The destination keeps the id of the value it holds, so nothing that uses %y changes.
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"

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

constexpr AttributeSpec kFusedAttributes[] = {
    {"kind", AttributeKind::string, true,
     "loop: one loop nest; contraction: a matmul and what follows it; attention: product, softmax, product",
     Allowed::oneOf("loop contraction attention builtin")},
};
constexpr AttributeSpec kIntoAttributes[] = {
    {"kind", AttributeKind::string, true, "loop, contraction, attention or builtin",
     Allowed::oneOf("loop contraction attention builtin")},
    {"outputs", AttributeKind::integer, true, "how many of the last operands are written",
     Allowed::atLeast(1)},
};
constexpr AttributeSpec kAllocAttributes[] = {
    {"offset", AttributeKind::dims, false, "byte offset in the arena operand, one dim",
     Allowed::byRule("one dim")},
    {"reuse", AttributeKind::integer, false,
     "1: the operand is a tensor, and its memory is taken when nothing else holds it; default 0",
     Allowed::flag()},
};

}  // namespace

const OpDef fusedOp{
    .name = "fused",
    .summary = "a group of operations that runs as one kernel",
    .cls = OpClass::structural,
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
        "pass `place`.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n  %y = alloc() : Tensor[(n), f32]\n"
        "  into(%x, %y) {kind = \"loop\", outputs = 1} region (%p: Tensor[(n), f32]) -> (Tensor[(n), f32]) "
        "{ %q = relu(%p) : Tensor[(n), f32] return %q }\n  return %y\n}",
};

const OpDef allocOp{
    .name = "alloc",
    .summary = "memory for a tensor: from the pool, at an offset of an arena, or another tensor's",
    .cls = OpClass::structural,
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
        "passes `place` and `plan`.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n  %y = alloc() : Tensor[(n), f32]\n  kill(%y)\n  return %x\n}",
};

const OpDef arenaOp{
    .name = "arena",
    .summary = "one block of memory that planned tensors share",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = 0,
    .results = 1,
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
    .minOperands = 1,
    .maxOperands = 1,
    .results = 0,
    .hasEffects = true,
    .infer = inferAnnotated,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc = "(value) -> nothing. The value is not used after it. Made by the pass `place`.",
    .example = "fn @main(%x: Tensor[(n), f32]) {\n  %y = relu(%x)\n  kill(%y)\n  return %x\n}",
};

}  // namespace dyn::ops
