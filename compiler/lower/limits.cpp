#include "compiler/lower/limits.h"

#include <algorithm>

#include "compiler/ir/walk.h"
#include "vm/isa/isa.h"

namespace dyn {

namespace {

Error beyond(const std::string& what, uint64_t count, uint64_t most, SourceLocation place = {}) {
  return makeError(
      DiagnosticId::unsupportedFeature,
      "unsupported: " + what + " (" + std::to_string(count) + ", at most " + std::to_string(most) + ")",
      std::move(place));
}

Status checkAxes(const Module& module, ValueId value, Type type, const SourceLocation& place) {
  if (!type || !type.isTensor() || type.dims().size() <= vm::kMaximumRank) return {};
  return beyond("%" + module.context->valueName(value) + " has too many axes", type.dims().size(),
                vm::kMaximumRank, place);
}

// Lists of tuples of lists ...: how deep, looked at level by level.
size_t nestingOf(Type type) {
  size_t depth = 0;
  for (std::vector<Type> level{type}; !level.empty(); ++depth) {
    std::vector<Type> next;
    for (Type t : level)
      if (t && t.kind() != TypeKind::function && t.kind() != TypeKind::data)
        next.insert(next.end(), t.elements().begin(), t.elements().end());
    std::sort(next.begin(), next.end(), [](Type a, Type b) { return a.id() < b.id(); });
    next.erase(std::unique(next.begin(), next.end()), next.end());
    level = std::move(next);
  }
  return depth;
}

Status checkNesting(Type type, const std::string& what) {
  const size_t depth = nestingOf(type);
  return depth <= vm::kMaximumContractDepth
             ? Status()
             : Status(beyond("the type of " + what + " nests too deep", depth, vm::kMaximumContractDepth));
}

}  // namespace

Status withinLimits(const Module& placed) {
  for (const FunctionVisit& visit : functionsOf(placed)) {
    const Function& function = *visit.function;
    for (const Parameter& p : function.parameters) DYN_CHECK(checkAxes(placed, p.id, p.type, function.place));
    if (function.results.size() > vm::kMaximumListLength)
      return beyond("@" + function.name + " has too many results", function.results.size(),
                    vm::kMaximumListLength, function.place);
    for (const Op* op : function.ops) {
      if (std::max(op->operands.size(), op->results.size()) > vm::kMaximumListLength)
        return beyond("an operation has too many operands or results",
                      std::max(op->operands.size(), op->results.size()), vm::kMaximumListLength, op->place);
      for (const ValueDef& r : op->results) DYN_CHECK(checkAxes(placed, r.id, r.type, op->place));
    }
  }
  const Function* main = placed.main();
  if (!main) return {};
  for (const Parameter& p : main->parameters)
    DYN_CHECK(checkNesting(p.type, "the input '" + placed.context->valueName(p.id) + "'"));
  for (Type type : main->resultTypes) DYN_CHECK(checkNesting(type, "a result"));
  return {};
}

Status withinLimits(const vm::Program& program) {
  for (const vm::Function& function : program.functions)
    if (const uint32_t registers = std::max(function.scalarCount, function.objectCount);
        registers > vm::kMaximumRegisters)
      return beyond("@" + function.name + " needs too many registers", registers, vm::kMaximumRegisters);
  if (program.globalCount > vm::kMaximumListLength)
    return beyond("too many packed weights", program.globalCount, vm::kMaximumListLength);
  for (const vm::KernelRow& kernel : program.kernels)
    if (const uint32_t operands = std::max(kernel.bufferCount, kernel.scalarCount);
        operands > vm::kMaximumKernelOperands)
      return beyond("the kernel " + kernel.name + " reads too many tensors or dims", operands,
                    vm::kMaximumKernelOperands);
  return {};
}

}  // namespace dyn
