#include "compiler/passes/layout/refused_copies.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/view_places.h"

namespace dyn {

namespace {

// Of one function or body that is no kernel.
class CopyFinder {
 public:
  CopyFinder(const Module& module, PathFacts& facts, ViewPlaces& places, const FunctionVisit& visit)
      : ir_(*module.context),
        facts_(facts),
        places_(places),
        visit_(visit),
        function_(*visit.function),
        body_(facts.bodyOf(function_)),
        results_(function_.results.begin(), function_.results.end()) {}

  void find(std::vector<RefusedCopy>& to) {
    indexValues();
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      const Op& op = *function_.ops[i];
      places_.note(op);
      if (op.def != &ops::intoOp || op.operands.size() > kMostOperands) continue;
      const Function& kernel = *op.regions[0];
      if (!onlyMoves(op, kernel)) continue;
      const Moved moved = placesIn(kernel, i);
      if (moved.gathers) continue;
      const size_t first = op.operands.size() - kernel.results.size();
      for (size_t r = 0; r < kernel.results.size(); ++r) {
        RefusedCopy copy{&function_, &op, op.operands[first + r], bytesOf(kernel.resultTypes[r]), {}};
        if (const auto& place = moved.places[r])
          addReaders(copy, copy.value, *place, 0);
        else
          add(copy, std::string(moved.parted), CopyReason::noStrides);
        if (!copy.refusals.empty()) to.push_back(std::move(copy));
      }
    }
  }

 private:
  struct Reader {
    size_t op;  // index
    size_t operand;
  };
  // Where the results of a kernel lie in the memory of its operands.
  struct Moved {
    std::vector<std::optional<StridedPlace>> places;
    std::string_view parted;  // the first operator that no strides can say
    bool gathers = false;     // reads where an operand's elements say: that is work
  };

  void indexValues() {
    for (const Parameter& p : function_.parameters) types_[p.id] = p.type;
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      const Op& op = *function_.ops[i];
      for (const ValueDef& r : op.results) types_[r.id] = r.type;
      for (size_t k = 0; k < op.operands.size(); ++k) readers_[op.operands[k]].push_back({i, k});
    }
  }

  Dim bytesOf(Type type) const { return elementCount(ir_.dims(), type.dims()) * storageBytes(type.dtype()); }

  static std::vector<Type> typesOf(const Op& op, const std::unordered_map<ValueId, Type>& types) {
    std::vector<Type> all;
    for (ValueId v : op.operands) all.push_back(v == kNoValue ? Type() : types.at(v));
    return all;
  }

  static bool onlyMoves(const Op& op, const Function& kernel) {
    const KernelKind kind = kernelKindOf(op);
    if (kind != KernelKind::loop && kind != KernelKind::builtin) return false;
    return !kernel.ops.empty() && std::all_of(kernel.ops.begin(), kernel.ops.end(), [](const Op* inner) {
      return inner->def->viewRule || inner->def->traits.contentsKnown;
    });
  }

  Moved placesIn(const Function& kernel, size_t index) {
    const auto views = places_.viewsIn(kernel, function_.ops[index]->operands, {body_, index});
    Moved moved;
    for (const Op* inner : kernel.ops) {
      if (!inner->def->viewRule || views.count(inner->results[0].id) != 0) continue;
      moved.gathers |= inner->def->traits.gathers;
      if (moved.parted.empty()) moved.parted = inner->def->name;
    }
    for (ValueId result : kernel.results) {
      const auto view = views.find(result);
      moved.places.push_back(view == views.end() ? std::nullopt : std::optional(view->second.place));
    }
    return moved;
  }

  static void add(RefusedCopy& copy, std::string by, CopyReason reason) {
    const bool known =
        std::any_of(copy.refusals.begin(), copy.refusals.end(),
                    [&](const CopyRefusal& refusal) { return refusal.reason == reason && refusal.by == by; });
    if (!known) copy.refusals.push_back({std::move(by), reason});
  }

  // Who reads `value`, which is the copy or has its memory under another shape.
  void addReaders(RefusedCopy& copy, ValueId value, const StridedPlace& place, size_t depth) {
    if (results_.count(value) != 0) addResult(copy);
    const auto readers = readers_.find(value);
    if (readers == readers_.end()) return;
    for (const Reader& reader : readers->second) {
      const Op& op = *function_.ops[reader.op];
      if (&op == copy.op || op.def == &ops::killOp || op.def == &ops::allocOp || op.def->traits.readsShape)
        continue;
      const bool isViewed = op.def->traits.view && op.def->viewRule && reader.operand == 0;
      if (isViewed && depth < kMostViews) {
        auto next = places_.placeOf(op, typesOf(op, types_), 0, place, {body_, reader.op});
        if (next)
          addReaders(copy, op.results[0].id, *next, depth + 1);
        else
          add(copy, std::string(op.def->name), CopyReason::noStrides);
      } else {
        addReader(copy, op, reader.operand);
        // The sizes that a view takes.
        if (op.def->traits.view && reader.operand != 0)
          add(copy, std::string(op.def->name), CopyReason::denseBuiltin);
      }
    }
  }

  void addReader(RefusedCopy& copy, const Op& op, size_t operand) {
    const std::string name(op.def->name);
    if (op.def == &ops::intoOp) return addKernel(copy, op, operand);
    if (op.def == &ops::callOp) return add(copy, "@" + op.attributes.string("callee"), CopyReason::boundary);
    if (!op.regions.empty() || op.def == &ops::invokeOp || op.def == &ops::closureOp)
      return add(copy, name, CopyReason::boundary);
    if (op.def->cls == OpClass::structural) return add(copy, name, CopyReason::stored);
    if (op.def->lowering == LoweringKind::builtin) addBuiltin(copy, op, operand);
  }

  void addKernel(RefusedCopy& copy, const Op& op, size_t operand) {
    const Function& kernel = *op.regions[0];
    if (operand >= kernel.parameters.size()) return;
    const ValueId parameter = kernel.parameters[operand].id;
    for (const Op* inner : kernel.ops)
      for (size_t k = 0; k < inner->operands.size(); ++k) {
        if (inner->operands[k] != parameter) continue;
        if (kernelKindOf(op) != KernelKind::loop && inner->def->lowering == LoweringKind::builtin)
          addBuiltin(copy, *inner, k);
        else
          add(copy, std::string(inner->def->name), CopyReason::generatedKernel);
      }
  }

  static void addBuiltin(RefusedCopy& copy, const Op& op, size_t operand) {
    const bool takes = operand < op.def->builtin.strided(op) && op.def->builtinOf(op) == op.def->builtin.row;
    add(copy, std::string(op.def->name), takes ? CopyReason::sharedCopy : CopyReason::denseBuiltin);
  }

  void addResult(RefusedCopy& copy) {
    if (visit_.owner)
      return add(copy, "a body of " + std::string(visit_.owner->def->name), CopyReason::boundary);
    if (function_.name == "main") return add(copy, "a result of @main", CopyReason::output);
    add(copy, "a result of @" + function_.name, CopyReason::boundary);
  }

  static constexpr size_t kMostViews = 64;
  // Kernels with more (a split into very many) are not looked at: each of their results is asked for alone.
  static constexpr size_t kMostOperands = 256;

  IrContext& ir_;
  PathFacts& facts_;
  ViewPlaces& places_;
  const FunctionVisit& visit_;
  const Function& function_;
  size_t body_;
  std::unordered_set<ValueId> results_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, std::vector<Reader>> readers_;
};

}  // namespace

const char* toString(CopyReason reason) {
  switch (reason) {
    case CopyReason::denseBuiltin:
      return "reads elements side by side";
    case CopyReason::generatedKernel:
      return "is a generated kernel that the view was not composed into";
    case CopyReason::output:
      return "is handed out with elements side by side";
    case CopyReason::boundary:
      return "takes and gives elements side by side";
    case CopyReason::stored:
      return "keeps elements side by side";
    case CopyReason::noStrides:
      return "needs an order that strides cannot express";
    case CopyReason::sharedCopy:
      return "takes strides, and reads the copy that others need";
  }
  return "";
}

std::vector<RefusedCopy> refusedCopies(const Module& placed) {
  PathFacts facts(placed);
  ViewPlaces places(*placed.context, facts);
  std::vector<RefusedCopy> copies;
  for (const FunctionVisit& visit : functionsOf(placed)) {
    if (visit.owner && (visit.owner->def == &ops::fusedOp || visit.owner->def == &ops::intoOp)) continue;
    CopyFinder(placed, facts, places, visit).find(copies);
  }
  return copies;
}

Dim bytesOf(const Module& module, const std::vector<RefusedCopy>& copies) {
  Dim bytes = module.context->dims().constant(0);
  for (const RefusedCopy& copy : copies) bytes = bytes + copy.bytes;
  return bytes;
}

}  // namespace dyn
