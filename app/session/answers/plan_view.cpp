#include "app/session/answers/plan_view.h"

#include <algorithm>
#include <unordered_set>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/graph/node_ids.h"
#include "app/session/views/memory_views.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/liveness.h"
#include "compiler/passes/layout/refused_copies.h"

namespace dyn {

namespace {

DimBinding bindingOf(const IrContext& ir, const DimValues& dims) {
  DimBinding binding;
  DimContext& context = const_cast<IrContext&>(ir).dims();
  for (SymbolId s = 0; s < context.symbolCount(); ++s) {
    auto it = dims.find(context.symbolName(s));
    if (it != dims.end()) binding.set(s, it->second);
  }
  return binding;
}

Dim planBytesOf(const Module& module, Type type) {
  return elementCount(module.context->dims(), type.dims()) * storageBytes(type.dtype());
}

// A `?` that is provably an expression of the inputs' dims has its value.
std::optional<int64_t> planValueOf(const Module& module, Dim dim, const DimBinding& binding) {
  Result<int64_t> value = evaluate(dim, binding);
  if (!value.ok()) value = evaluate(module.context->facts().canonical(dim), binding);
  if (!value.ok()) return std::nullopt;
  return *value;
}

// Does the operation make a tensor of its own that neither an arena nor another operation accounts for?
bool makesTensor(const Op& op, const std::unordered_set<ValueId>& constants) {
  if (!op.def || op.def->traits.view || op.def == &ops::constantOp || op.def == &ops::arenaOp) return false;
  if (op.def->traits.packsWeights && constants.count(op.operands[0])) return false;  // once, at load
  if (op.def == &ops::allocOp) return op.operands.empty() || op.attributes.integer("reuse") != 0;
  if (op.def == &ops::ifOp || op.def == &ops::loopOp || op.def == &ops::matchOp || op.def == &ops::callOp ||
      op.def == &ops::invokeOp)
    return false;
  return op.def->cls != OpClass::structural && op.def->cls != OpClass::check;
}

// Behind the name of a function: each memory has offsets of its own.
std::string whereOf(const Op& op) {
  const std::string device = op.attributes.string("device");
  return device.empty() ? "" : " on " + device;
}

std::unordered_set<ValueId> constantsOf(const Function& function) {
  std::unordered_set<ValueId> constants;
  for (const Op* op : function.ops)
    if (op->def == &ops::constantOp)
      for (const ValueDef& r : op->results) constants.insert(r.id);
  return constants;
}

// Where most of @main's buffers live at once, and which these are.
void findPeakStep(PlanView& view) {
  std::map<int, int64_t> changes;
  for (const PlanBuffer& b : view.buffers) {
    if (b.function != "main" || !b.sizeBytes) continue;
    changes[b.begin] += *b.sizeBytes;
    changes[b.end + 1] -= *b.sizeBytes;
  }
  int64_t living = 0;
  for (const auto& [step, change] : changes) {
    living += change;
    if (living <= view.peakStepBytes) continue;
    view.peakStepBytes = living;
    view.peakStep = step;
  }
  for (size_t i = 0; i < view.buffers.size(); ++i) {
    const PlanBuffer& b = view.buffers[i];
    if (b.function == "main" && b.sizeBytes && b.begin <= view.peakStep && view.peakStep <= b.end)
      view.peakBuffers.push_back(i);
  }
  std::stable_sort(view.peakBuffers.begin(), view.peakBuffers.end(), [&](size_t a, size_t b) {
    return *view.buffers[a].sizeBytes > *view.buffers[b].sizeBytes;
  });
}

}  // namespace

PlanView planView(const Module& placed, const DimValues& dims) {
  PlanView view;
  view.dims = dims;
  const DimBinding binding = bindingOf(*placed.context, dims);
  std::string peak;
  for (const FunctionVisit& visit : functionsOf(placed)) {
    const Function& function = *visit.function;
    if (visit.owner && (visit.owner->def == &ops::fusedOp || visit.owner->def == &ops::intoOp))
      continue;  // runs in registers
    const Liveness live = computeLiveness(function);
    const std::unordered_set<ValueId> constants = constantsOf(function);
    std::unordered_map<ValueId, size_t> lastUse;
    for (const auto& [value, index] : live.lastUse) {
      size_t& latest = lastUse[live.rootOf(value)];
      latest = std::max(latest, index);
    }
    std::unordered_map<ValueId, std::vector<std::string>> views;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results)
        if (r.id != kNoValue && live.rootOf(r.id) != r.id)
          views[live.rootOf(r.id)].push_back(placed.context->valueName(r.id));
    std::map<std::pair<ValueId, std::string>, int> slots;  // by arena and offset
    std::unordered_map<ValueId, size_t> arenas;
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op& op = *function.ops[i];
      if (op.def == &ops::constantOp) {
        if (const HostTensor* tensor = op.attributes.tensor("value"))
          view.constantsBytes += tensor->sizeBytes();
        continue;
      }
      if (op.def == &ops::arenaOp) {
        const Dim bytes = planBytesOf(placed, op.results[0].type);
        arenas[op.results[0].id] = view.arenas.size();
        view.arenas.push_back({function.name + whereOf(op), bytes.toString(),
                               planValueOf(placed, bytes, binding), 0,
                               static_cast<int>(function.ops.size())});
        if (!visit.owner && function.name == "main") peak += (peak.empty() ? "" : " + ") + bytes.toString();
        continue;
      }
      if (!makesTensor(op, constants) && !(op.def == &ops::allocOp)) continue;
      for (const ValueDef& r : op.results) {
        if (!r.type || !r.type.isTensor()) continue;
        PlanBuffer buffer;
        buffer.name = placed.context->valueName(r.id);
        buffer.function = function.name + whereOf(op);
        buffer.node = NodeIds::ofValue(r.id);  // of what fills it, before and after placement
        buffer.dtype = std::string(toString(r.type.dtype()));
        for (Dim d : r.type.dims()) buffer.shape.push_back(d.toString());
        const Dim bytes = planBytesOf(placed, r.type);
        buffer.bytes = bytes.toString();
        buffer.sizeBytes = planValueOf(placed, bytes, binding);
        const Shape offset = op.attributes.dims("offset");
        buffer.pooled = op.operands.empty() || offset.empty();
        if (!buffer.pooled) {
          buffer.offset = offset[0].toString();
          buffer.offsetBytes = planValueOf(placed, offset[0], binding);
          auto [slot, isNew] =
              slots.emplace(std::pair{op.operands[0], buffer.offset}, static_cast<int>(slots.size()));
          buffer.slot = slot->second;
          const auto arena = arenas.find(op.operands[0]);
          if (isNew && arena != arenas.end()) ++view.arenas[arena->second].slotsCount;
        }
        buffer.begin = static_cast<int>(i);
        buffer.end = static_cast<int>(std::min(lastUse.count(r.id) ? lastUse[r.id] : i, function.ops.size()));
        if (const auto seen = views.find(r.id); seen != views.end()) buffer.views = seen->second;
        if (buffer.pooled && function.name == "main") peak += (peak.empty() ? "" : " + ") + buffer.bytes;
        view.buffers.push_back(std::move(buffer));
      }
    }
  }
  view.peak = peak.empty() ? "0" : peak;
  findPeakStep(view);
  const std::vector<RefusedCopy> copies = refusedCopies(placed);
  const Dim copied = bytesOf(placed, copies);
  view.copiesCount = static_cast<int64_t>(copies.size());
  view.copied = copied.toString();
  view.copiedBytes = planValueOf(placed, copied, binding);
  return view;
}

std::vector<CopyRow> copyRows(const Module& placed, const DimValues& dims) {
  const DimBinding binding = bindingOf(*placed.context, dims);
  std::vector<CopyRow> rows;
  for (const RefusedCopy& copy : refusedCopies(placed)) {
    CopyRow row{placed.context->valueName(copy.value),
                copy.function->name,
                copy.op->place.toString(),
                copy.bytes.toString(),
                planValueOf(placed, copy.bytes, binding),
                {}};
    for (const CopyRefusal& refusal : copy.refusals)
      row.refusals.push_back({refusal.by, toString(refusal.reason)});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace dyn
