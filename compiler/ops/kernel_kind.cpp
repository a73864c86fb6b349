#include "compiler/ops/kernel_kind.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "compiler/ir/op_def.h"
#include "vm/include/abi/dyn_freestanding.h"

namespace dyn {

namespace {

constexpr std::array<const char*, 4> kNames = {"loop", "contraction", "attention", "builtin"};

// Targets without the VM's hand-written kernels run in the freestanding runtime, which has some of its own.
bool isInFreestandingRuntime(std::string_view row) {
  static constexpr std::string_view kNames[] = {
#define DYN_FREESTANDING_BUILTIN_NAME(name) #name,
      DYN_FREESTANDING_BUILTINS(DYN_FREESTANDING_BUILTIN_NAME)
#undef DYN_FREESTANDING_BUILTIN_NAME
  };
  return std::find(std::begin(kNames), std::end(kNames), row) != std::end(kNames);
}

// Integers, truth values and reals of 16 bits and more; also what is left out, and what is no tensor.
bool hasPlainElements(Type type) {
  if (!type || !type.isTensor()) return true;
  const Dtype dtype = type.dtype();
  return isInteger(dtype) || dtype == Dtype::boolean || isHalf(dtype) || dtype == Dtype::f32 ||
         dtype == Dtype::f64;
}

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
  const bool isThere = !target.hasBuiltins && isInFreestandingRuntime(def.builtinOf(op));
  if (builtin && def.builtin.makesResults() && !target.hasHeap && !isThere)
    return makeError(DiagnosticId::unsupportedOp,
                     "unsupported: " + std::string(def.name) +
                         " makes results whose size depends on values, and the target has no heap",
                     op.place);
  const bool served = target.hasBuiltins && (target.hasHeap || !def.builtin.traits.needsHeap());
  if (!served && !isThere && (builtin || loops) && !def.lower)
    return makeError(DiagnosticId::unsupportedOp,
                     "unsupported: " + std::string(def.name) + " is a hand-written kernel" +
                         (target.hasBuiltins ? " that takes memory of the heap, and the target has no heap"
                                             : ", and the target has no hand-written kernels"),
                     op.place);
  if (def.traits.contentsKnown || (!loops && (!builtin || def.builtin.makesResults()))) return Choice();
  // A list, a structure or texts that stay what they are have no elements that a kernel could copy.
  const Type made = op.results.empty() ? Type() : op.results[0].type;
  if (def.traits.view && (!made.isTensor() || made.dtype() == Dtype::string)) return Choice();
  // A row may have both: then its builtin says which ranks and element types it takes.
  if (!served) return Choice(def.lower ? KernelKind::loop : KernelKind::builtin);
  // A device runs what is generated; the host's builtins are for what has no loops, or elements that loops
  // cannot reckon with.
  const bool isPlain =
      std::all_of(operandTypes.begin(), operandTypes.end(), hasPlainElements) && hasPlainElements(made);
  const bool ofBuiltin = op.attributes.integer("channels_last", 0) != 0;  // a layout that only builtins know
  if (!target.prefersBuiltins() && def.lower && isPlain && !ofBuiltin) return Choice(KernelKind::loop);
  const bool taken = def.builtinTakes && def.builtinTakes(op, operandTypes);
  const bool byBuiltin = loops ? taken : taken || !def.builtinTakes || !def.lower;
  return Choice(byBuiltin ? KernelKind::builtin : KernelKind::loop);
}

}  // namespace dyn
