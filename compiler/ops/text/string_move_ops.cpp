// What data movement of strings becomes: numbers are moved, and the strings picked by them (pass `strings`);
// and numbers written as strings.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"

namespace dyn {

namespace {

// --- string_pick

Status inferStringPick(InferContext& c) {
  DYN_TRY(TensorOperand places, tensorOperand(c, 0));
  DYN_CHECK(requireDtype(c, places, Dtype::i64, "the places"));
  for (int i = 1; i < c.operandCount(); ++i) {
    DYN_TRY(TensorOperand texts, tensorOperand(c, i));
    DYN_CHECK(requireDtype(c, texts, Dtype::string, "operand " + std::to_string(i)));
  }
  setTensor(c, places.dims, Dtype::string);
  return {};
}

Status evaluateStringPick(EvalContext& c) {
  const HostTensor& places = c.operand(0);
  std::vector<std::string> all = {""};
  for (int i = 1; i < c.operandCount(); ++i) {
    const std::vector<std::string>& texts = c.operand(i).stringValues();
    all.insert(all.end(), texts.begin(), texts.end());
  }
  std::vector<std::string> picked;
  for (int64_t i = 0; i < places.elementCount(); ++i) {
    const int64_t place = places.intAt(i);
    if (place < 0 || place >= static_cast<int64_t>(all.size()))
      return c.error(DiagnosticId::runtimeError,
                     "place " + std::to_string(place) + " of " + std::to_string(all.size() - 1) + " strings");
    picked.push_back(all[static_cast<size_t>(place)]);
  }
  c.setResult(0, HostTensor::strings(places.shape(), std::move(picked)));
  return {};
}

constexpr OperandRule kStringPickRules[] = {
    {0, ElementsAre::byKernel, "0, or a place of the strings, counted from 1"}};

// --- string_ranks

Status inferStringRanks(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireDtype(c, x, Dtype::string, "the operand"));
  setTensor(c, x.dims, Dtype::i64);
  setTensor(c, {c.fresh("string_ranks counts distinct strings")}, Dtype::string, 1);
  return {};
}

Status evaluateStringRanks(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  std::vector<std::string> distinct = x.stringValues();
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  DYN_TRY(HostTensor ranks, newTensor(Dtype::i64, x.shape()));
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const auto found =
        std::lower_bound(distinct.begin(), distinct.end(), x.stringValues()[static_cast<size_t>(i)]);
    ranks.setInt(i, found - distinct.begin() + 1);
  }
  const auto count = static_cast<int64_t>(distinct.size());
  c.setResult(0, std::move(ranks));
  c.setResult(1, HostTensor::strings({count}, std::move(distinct)));
  return {};
}

// --- string_cast

constexpr AttributeSpec kStringCastAttributes[] = {
    {"to", AttributeKind::dtype, true, "the element type of the result",
     Allowed::byRule("string where the operand has numbers, else a type of numbers")},
};

Status inferStringCast(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  const Dtype to = c.attributes().dtype("to");
  if ((x.dtype == Dtype::string) == (to == Dtype::string))
    return c.error(DiagnosticId::dtypeMismatch,
                   "one of operand and result has strings, the operand is " + x.type.toString());
  return ops::castOp.infer(c);
}

Status fillStringCast(const BuiltinRequest& request, CallFields<calls::StringCast>& call) {
  call.numbers.to = static_cast<int32_t>(request.op.attributes.dtype("to"));
  return {};
}

}  // namespace

namespace ops {

const OpDef string_pickOp{
    .name = "string_pick",
    .summary = "strings picked by their numbers",
    .cls = OpClass::opaque,
    .minOperands = 2,
    .maxOperands = -1,
    .infer = inferStringPick,
    .evaluate = evaluateStringPick,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::StringPick>,
    .operandRules = kStringPickRules,
    .doc =
        "places [...] i64, texts [...] string, ... -> [...] string; the strings of all texts are counted "
        "from 1, one text behind the other; 0 is the empty string",
    .example =
        "fn @main(%i: Tensor[(n), i64], %x: Tensor[(m), string]) { %y = string_pick(%i, %x) return %y }",
};

const OpDef string_ranksOp{
    .name = "string_ranks",
    .summary = "the place of each string among the distinct ones, sorted",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .results = 2,
    .infer = inferStringRanks,
    .evaluate = evaluateStringRanks,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::StringRanks>,
    .operandRules = kAnyElements,
    .doc =
        "[...] -> ranks [...] i64, counted from 1, and the distinct strings [?] in ascending order of bytes",
    .example = "fn @main(%x: Tensor[(n), string]) { %r, %d = string_ranks(%x) return %r, %d }",
};

const OpDef string_castOp{
    .name = "string_cast",
    .summary = "numbers as strings, and strings as numbers",
    .cls = OpClass::opaque,
    .minOperands = 1,
    .maxOperands = 1,
    .attributes = kStringCastAttributes,
    .infer = inferStringCast,
    .evaluate = [](EvalContext& c) { return castOp.evaluate(c); },
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::StringCast, fillStringCast>,
    .operandRules = kAnyElements,
    .doc =
        "[...] -> [...]; reals by the shortest digits that read back; a string that is not a number is an "
        "error",
    .example = "fn @main(%x: Tensor[(n), i64]) { %y = string_cast(%x) {to = string} return %y }",
};

}  // namespace ops
}  // namespace dyn
