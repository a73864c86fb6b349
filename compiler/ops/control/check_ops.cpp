// A check of elements at run time: check_values. Inference puts it before operations whose rows state what
// elements must be (compiler/ir/preconditions.h); the ONNX reader writes it where an operator is made of
// several.
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/packed_numbers.h"
#include "compiler/ops/rules/precondition_rules.h"

namespace dyn {
namespace {

constexpr AttributeSpec kCheckValuesAttributes[] = {
    {"elements", AttributeKind::string, true, "the condition on all elements",
     Allowed::oneOf("positive numbers chances in_range")},
    {"what", AttributeKind::string, false, "what demands it, shown when the check fails; default \"\"",
     Allowed::any()},
};

ElementsAre checkedElementsOf(const Op& op) { return elementsOfWord(op.attributes.string("elements")); }

std::string messageOf(const Op& op, const std::string& fault) {
  const std::string what = op.attributes.string("what");
  return what + (what.empty() ? "" : ": ") + fault;
}

// Dims that are known for all elements become demands: the solver learns from them, and no element is looked
// at.
Result<bool> demandedAsDims(InferContext& c) {
  constexpr size_t kMostDims = 16;
  if (checkedElementsOf(c.op()) != ElementsAre::inRange) return false;
  const auto boundOf = [&](int i) -> std::optional<Dim> {
    const std::optional<Contents> contents = c.operandContents(i);
    if (!contents || contents->size() != 1 || !(*contents)[0]) return std::nullopt;
    return (*contents)[0];
  };
  const std::optional<Contents> elements = c.operandContents(0);
  if (!elements || elements->size() > kMostDims) return false;
  for (Dim element : *elements)
    if (!element) return false;
  for (int i = 1; i <= 2; ++i)
    if (c.hasOperand(i) && !boundOf(i)) return false;
  const std::string what = c.attributes().string("what");
  for (Dim element : *elements) {
    if (c.hasOperand(1)) DYN_CHECK(c.requireLessEqual(*boundOf(1), element, what));
    if (c.hasOperand(2)) DYN_CHECK(c.requireLessEqual(element, *boundOf(2), what));
  }
  return true;
}

Status inferCheckValues(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  const HostTensor* constants[3] = {};
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    if (!c.hasOperand(i)) continue;
    if (i > 0) {
      DYN_TRY(TensorOperand bound, tensorOperand(c, i));
      DYN_CHECK(requireSameDtype(c, x, bound));
      if (storageBytes(x.dtype) < 4)
        return c.error(DiagnosticId::dtypeMismatch, "bounds are numbers of 4 or 8 bytes");
      const Dim count = elementCount(c.ir().dims(), bound.dims);
      DYN_CHECK(c.requireEqual(count, constantDim(c, 1), "number of elements of a bound"));
    }
    constants[i] = c.operandConstant(i);
    known = known && constants[i] != nullptr;
  }
  if (known) {
    const std::string fault =
        elementsFault(*constants[0], checkedElementsOf(c.op()), constants[1], constants[2]);
    if (!fault.empty()) return c.error(DiagnosticId::shapeCheckFailed, messageOf(c.op(), fault));
    control(c).leaveOut();
    return {};
  }
  DYN_TRY(bool demanded, demandedAsDims(c));
  if (demanded) control(c).leaveOut();
  return {};
}

Status evaluateCheckValues(EvalContext& c) {
  const HostTensor* low = c.hasOperand(1) ? &c.operand(1) : nullptr;
  const HostTensor* high = c.hasOperand(2) ? &c.operand(2) : nullptr;
  const std::string fault = elementsFault(c.operand(0), checkedElementsOf(c.op()), low, high);
  if (fault.empty()) return {};
  return c.error(DiagnosticId::shapeCheckFailed, messageOf(c.op(), fault));
}

Status fillCheckValues(const BuiltinRequest& request, CallFields<calls::CheckValues>& call) {
  call.numbers.demand = static_cast<int32_t>(checkedElementsOf(request.op));
  packText(&call.numbers.what, request.op.attributes.string("what"));
  return {};
}

}  // namespace

namespace ops {

const OpDef check_valuesOp{
    .name = "check_values",
    .summary = "stops the program unless all elements satisfy the condition",
    .cls = OpClass::check,
    .minOperands = 1,
    .maxOperands = 3,
    .results = 0,
    .attributes = kCheckValuesAttributes,
    .hasEffects = true,
    .infer = inferCheckValues,
    .evaluate = evaluateCheckValues,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::CheckValues, fillCheckValues>,
    .operandRules = kAnyElements,
    .doc =
        "x [...], least [] and most [] of x's element type, for in_range -> (). Where all is known it is "
        "decided at once, and nothing is left at run time.",
    .example =
        "fn @main(%x: Tensor[(n), f32]) { check_values(%x) {elements = \"numbers\", what = \"a scale\"} "
        "return %x }",
};

}  // namespace ops
}  // namespace dyn
