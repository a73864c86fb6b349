#include "compiler/ops/kernel_kind.h"

#include <array>

#include "compiler/ir/op_def.h"

namespace dyn {

namespace {

constexpr std::array<const char*, 4> kNames = {"loop", "contraction", "attention", "builtin"};

}  // namespace

const char* toString(KernelKind kind) { return kNames.at(static_cast<size_t>(kind)); }

// The verifier has checked the name (memory_ops.cpp allows these four).
KernelKind kernelKindOf(const Op& op) {
  const std::string name = op.attributes.string("kind");
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<KernelKind>(i);
  return KernelKind::loop;
}

void setKernelKind(Op& op, KernelKind kind) { op.attributes.set("kind", std::string(toString(kind))); }

Result<std::optional<KernelKind>> chooseLowering(const Op& op, std::span<const Type> operandTypes,
                                                 const Target& target) {
  using Choice = std::optional<KernelKind>;
  const OpDef& def = *op.def;
  const bool loops = def.lowering == LoweringKind::loops, builtin = def.lowering == LoweringKind::builtin;
  if (builtin && def.builtinAllocates && !target.hasHeap)
    return makeError(DiagnosticId::unsupportedOp,
                     "unsupported: " + std::string(def.name) +
                         " makes results whose size depends on values, and the target has no heap",
                     op.place);
  if (!target.hasBuiltins && (builtin || loops) && !def.lower)
    return makeError(DiagnosticId::unsupportedOp,
                     "unsupported: " + std::string(def.name) +
                         " is a hand-written kernel, and the target has none of them",
                     op.place);
  if (def.traits.contentsKnown || (!loops && (!builtin || def.builtinAllocates))) return Choice();
  // A list, a structure or texts that stay what they are have no elements that a kernel could copy.
  const Type made = op.results.empty() ? Type() : op.results[0].type;
  if (def.traits.view && (!made.isTensor() || made.dtype() == Dtype::string)) return Choice();
  // A row may have both: then its builtin says which ranks and element types it takes.
  if (!target.hasBuiltins) return Choice(KernelKind::loop);
  const bool taken = def.builtinTakes && def.builtinTakes(op, operandTypes);
  const bool byBuiltin = loops ? taken : taken || !def.builtinTakes || !def.lower;
  return Choice(byBuiltin ? KernelKind::builtin : KernelKind::loop);
}

}  // namespace dyn
