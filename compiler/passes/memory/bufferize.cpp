// Placement: memory becomes explicit.
//   requires: types.  provides: every kernel is destination-passing (`into`), every buffer has an `alloc`, every value a `kill` after its last use.
//   before  %y = relu(%x) : T                    after  %y = alloc() : T
//           return %y                                   into(%x, %y) {kind = "loop", outputs = 1} body (%p: T) -> (T) {...}
//                                                       kill(%x)      (not for parameters of main and of regions)
// What can update its first operand takes that one's memory, where this is its last use: %y = alloc(%x)
// {reuse = 1}. A value keeps its id: only where its memory comes from is new. Operations whose
// result size depends on values, and structural ones, stay as they are: they make their own results.
// Cost in IR size: about three operations per kernel.
#include <algorithm>
#include <optional>

#include "compiler/ir/walk.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/liveness.h"

namespace dyn::passes {

namespace {

// A region that holds `op` alone, over fresh values.
const Function* bodyOf(const Op& op, const std::vector<Type>& operandTypes, IrContext& ir) {
  Function body;
  body.name = ir.uniqueFunctionName(std::string(op.def->name));
  body.place = op.place;
  Op inner = op;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i] == kNoValue) continue;
    const ValueId parameter = ir.newValue();
    body.parameters.push_back({parameter, operandTypes[i]});
    inner.operands[i] = parameter;
  }
  for (ValueDef& result : inner.results) {
    result.id = ir.newValue();
    body.results.push_back(result.id);
    body.resultTypes.push_back(result.type);
  }
  body.ops.push_back(ir.own(std::move(inner)));
  return ir.own(std::move(body));
}

const Op* makeOp(IrContext& ir, const OpDef& def, std::vector<ValueId> operands,
                 std::vector<ValueDef> results, Attributes attributes, SourceLocation place) {
  Op op;
  op.def = &def;
  op.operands = std::move(operands);
  op.results = std::move(results);
  op.attributes = std::move(attributes);
  op.place = std::move(place);
  return ir.own(std::move(op));
}

// Its result may be left in its first operand's memory: by a builtin, or by the kernel of a device that such
// an operation is alone in, which skips the copy then.
bool updatesFirst(const Op& op, KernelKind kind) {
  if (kind == KernelKind::builtin) return op.def->traits.updatesFirst;
  if (op.def != &ops::fusedOp || !op.attributes.has("device") || op.regions[0]->ops.size() != 1) return false;
  const Function& body = *op.regions[0];
  return body.ops[0]->def->traits.updatesFirst && body.ops[0]->operands[0] == body.parameters[0].id;
}

class Placer {
 public:
  Placer(const Module& module, PassContext& context)
      : ir_(*module.context), module_(module), context_(context) {}

  // `own`: parameters that no other value stands for, as those that a loop carries.
  Result<const Function*> place(const Function& function, const std::unordered_set<ValueId>& own) {
    std::unordered_map<ValueId, Type> types;
    std::optional<Liveness> live;        // where an update in place asks for it
    std::unordered_set<ValueId> others;  // whose memory is not this body's to write
    // On a device only what a loop carries has memory that can be taken: the plan places all other values
    // into one arena.
    std::unordered_set<ValueId> carried = own;
    for (const Parameter& p : function.parameters)
      if (!own.count(p.id)) others.insert(p.id);
    for (const Parameter& p : function.parameters) types[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) types[r.id] = r.type;

    Function placed = function;
    placed.ops.clear();
    for (size_t at = 0; at < function.ops.size(); ++at) {
      const Op* op = function.ops[at];
      std::vector<ValueId> operands;
      std::vector<Type> operandTypes;
      for (ValueId v : op->operands) {
        operandTypes.push_back(v == kNoValue ? Type() : types[v]);
        if (v != kNoValue) operands.push_back(v);
      }
      const bool group = op->def == &ops::fusedOp;
      std::optional<KernelKind> kind;
      if (group) {
        kind = kernelKindOf(*op);
      } else {
        DYN_TRY(kind, chooseLowering(*op, operandTypes, context_.target));
      }
      if (!kind) {
        if (op->def->traits.contentsKnown) others.insert(op->results[0].id);
        placed.ops.push_back(op);
        continue;
      }
      ++kernels_;
      const std::string device = group ? op->attributes.string("device") : std::string();
      const Function* body = group ? op->regions[0] : bodyOf(*op, operandTypes, ir_);
      bool reuse = updatesFirst(*op, *kind) && !others.count(op->operands[0]) &&
                   (device.empty() || carried.count(op->operands[0]));
      if (reuse) {
        if (!live) live = computeLiveness(function);
        // A view of it may be read later, and what is written may be read from it.
        const ValueId root = live->rootOf(op->operands[0]);
        const auto isOfIt = [&](ValueId v) { return v != kNoValue && live->rootOf(v) == root; };
        reuse = live->lastUse.at(root) == at &&
                std::none_of(op->operands.begin() + 1, op->operands.end(), isOfIt);
      }
      for (const ValueDef& result : op->results) {
        Attributes where;
        if (reuse) where.set("reuse", int64_t{1});
        if (reuse) carried.insert(result.id);
        if (!device.empty()) where.set("device", device);
        placed.ops.push_back(makeOp(ir_, ops::allocOp,
                                    reuse ? std::vector<ValueId>{op->operands[0]} : std::vector<ValueId>(),
                                    {result}, std::move(where), op->place));
        operands.push_back(result.id);
      }
      Op into;
      into.def = &ops::intoOp;
      into.operands = std::move(operands);
      into.attributes = {{"outputs", static_cast<int64_t>(op->results.size())}};
      setKernelKind(into, *kind);
      if (!device.empty()) into.attributes.set("device", device);
      into.regions = {body};
      into.place = op->place;
      placed.ops.push_back(ir_.own(std::move(into)));
    }
    insertKills(placed, isRegion(function));
    return ir_.own(std::move(placed));
  }

  void report() { context_.counters["kernel_launches"] = kernels_; }

 private:
  // Bodies of regions share the registers of the function around them: their parameters are not theirs to
  // kill.
  bool isRegion(const Function& function) const {
    return function.name == "main" || module_.find(function.name) == nullptr;
  }

  void insertKills(Function& function, bool keepParameters) {
    // Only the value's own uses count here: a view holds its memory by itself at run time.
    std::unordered_map<ValueId, size_t> lastUse;
    for (size_t i = 0; i < function.ops.size(); ++i) {
      for (const ValueDef& r : function.ops[i]->results) lastUse[r.id] = i;
      for (ValueId v : function.ops[i]->operands)
        if (v != kNoValue) lastUse[v] = i;
    }
    std::unordered_set<ValueId> outlives(function.results.begin(), function.results.end());
    if (keepParameters)
      for (const Parameter& p : function.parameters) outlives.insert(p.id);
    std::vector<std::vector<ValueId>> endsAt(function.ops.size());
    for (const auto& [value, index] : lastUse)
      if (!outlives.count(value)) endsAt[index].push_back(value);
    std::vector<const Op*> ops;
    for (size_t i = 0; i < function.ops.size(); ++i) {
      ops.push_back(function.ops[i]);
      std::sort(endsAt[i].begin(), endsAt[i].end());
      for (ValueId v : endsAt[i])
        ops.push_back(makeOp(ir_, ops::killOp, {v}, {}, {}, function.ops[i]->place));
    }
    function.ops = std::move(ops);
  }

  IrContext& ir_;
  const Module& module_;
  PassContext& context_;
  int64_t kernels_ = 0;
};

// Kernel bodies stay as they are; control-flow bodies are placed.
Result<Module> runPlace(const Module& module, PassContext& context) {
  bool done = false;
  forEachOp(module, [&](const Function&, const Op& op) { done = done || op.def == &ops::intoOp; });
  if (done) return module;
  Placer placer(module, context);
  std::unordered_set<const Function*> kernelBodies;
  std::unordered_map<const Function*, std::unordered_set<ValueId>> own;
  std::vector<const Function*> work(module.functions.begin(), module.functions.end());
  while (!work.empty()) {
    const Function* function = work.back();
    work.pop_back();
    for (const Op* op : function->ops)
      for (const Function* region : op->regions) {
        if (op->def == &ops::fusedOp)
          kernelBodies.insert(region);
        else
          work.push_back(region);
        if (op->def != &ops::loopOp) continue;
        const auto carried = static_cast<size_t>(op->attributes.integer("carried"));
        for (size_t k = 1; k <= carried; ++k)
          own[region].insert(region->parameters.at(k).id);  // after the counter
      }
  }
  auto place = [&](const Function& function) -> Result<const Function*> {
    if (kernelBodies.count(&function)) return &function;
    return placer.place(function, own[&function]);
  };
  DYN_TRY(Module placed, rewriteFunctions(module, place));
  placer.report();
  return placed;
}

}  // namespace

PassDef bufferizePass() {
  return {.name = "bufferize",
          .summary = "makes memory explicit: alloc, destination-passing kernels, kill",
          .requiredProperties = Property::types,
          .providedProperties = Property::destinations,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runPlace,
          .required = true};
}

}  // namespace dyn::passes
