// variant: the way out of a function to one that was made for fewer shapes.
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

Status inferVariant(InferContext& c) {
  const Shape lhs = c.attributes().dims("lhs"), rhs = c.attributes().dims("rhs");
  if (lhs.size() != rhs.size() || lhs.empty())
    return c.error(DiagnosticId::badAttribute, "lhs and rhs are as many dims, at least one");
  for (const Shape& side : {lhs, rhs})
    for (Dim d : side)
      if (!static_cast<ControlInferContext&>(c).inScope(d))
        return c.error(DiagnosticId::textName, d.toString() + " has no value here");
  const std::string relation = c.attributes().string("relation");
  if (relation != "eq" && relation != "le")
    return c.error(DiagnosticId::badAttribute, "the relation is \"eq\" or \"le\"");
  return {};
}

constexpr AttributeSpec kVariantAttributes[] = {
    {"callee", AttributeKind::string, true, "name of the function",
     Allowed::byRule("a function of the module")},
    {"lhs", AttributeKind::dims, true, "dims", Allowed::any()},
    {"rhs", AttributeKind::dims, true, "as many dims", Allowed::byRule("as many as lhs")},
    {"relation", AttributeKind::string, true, "\"eq\" or \"le\" (lhs <= rhs), demanded of each pair",
     Allowed::oneOf("eq le")}};

}  // namespace

namespace ops {

const OpDef variantOp{
    .name = "variant",
    .summary = "returns the results of another function where relations of dims hold",
    .cls = OpClass::structural,
    .minOperands = 0,
    .maxOperands = -1,
    .results = 0,
    .attributes = kVariantAttributes,
    .hasEffects = true,
    .infer = inferVariant,
    .lowering = LoweringKind::structural,
    .operandRules = kAnyElements,
    .doc =
        "(all parameters of the function...) -> (); the callee's results take the place of the function's. "
        "Made by the pass `variants`.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) {\n"
        "  variant(%x) {callee = \"four\", lhs = dims(n), rhs = dims(4), relation = \"eq\"}\n"
        "  %y = relu(%x)\n  return %y\n}\n"
        "fn @four(%x: Tensor[(4), f32]) { %y = relu(%x) return %y }",
};

}  // namespace ops
}  // namespace dyn
