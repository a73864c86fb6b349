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

std::optional<KernelKind> chooseLowering(const Op& op, std::span<const Type> operandTypes) {
  const OpDef& def = *op.def;
  if (def.traits.contentsKnown) return std::nullopt;
  const bool loops = def.lowering == LoweringKind::loops, builtin = def.lowering == LoweringKind::builtin;
  if (!loops && (!builtin || def.builtinAllocates)) return std::nullopt;
  // A row may have both: then its builtin says which ranks and element types it takes.
  const bool taken = def.builtinTakes && def.builtinTakes(op, operandTypes);
  if (loops) return taken ? KernelKind::builtin : KernelKind::loop;
  return taken || !def.builtinTakes || !def.lower ? KernelKind::builtin : KernelKind::loop;
}

}  // namespace dyn
