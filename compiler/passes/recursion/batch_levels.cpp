// Loops over the nodes of trees and of graphs without cycles, and functions that recurse over data values,
// computed a level at a time. recursion.h and recursion_levels.cpp show the second.
//   requires: types.  provides: nothing that others rely on.
//   before  %h = loop(%n, true, %h0, %left, %right) body (%i, %h, %left, %right) {
//             %a = gather(%h, gather(%left, %i))  %b = gather(%h, gather(%right, %i))
//             return true, scatter_nd(%h, %i, cell(%a, %b))
//           }
//   after   %order, %starts = levels(%rows, %i.., %left, %right)
//           %h = loop(%levels, _, %h0, %order, %starts, %left, %right) body (%k, %h, ...) {
//             %nodes = %order from %starts[%k] to %starts[%k + 1]                          [m]
//             %a = gather(%h, gather(%left, %nodes))  %b = gather(%h, gather(%right, %nodes))
//             return true, scatter_nd(%h, %nodes, cell(%a, %b))                            of m nodes at once
//           }
//   where what %order, %left and %right hold of a level are parts of tables: gather(%left, %order) is made
//   before the loop.
// node_loop.h says which loops these are. The indices are looked at when the program runs: `levels` gives
// each node the height above those whose rows it reads, in one walk over them. Where an index points forward,
// or two iterations write one row, it makes a level of each iteration, in their order: then the loop is what
// it was. A cycle among nodes is such a case, as some node of it reads a row that is written later.
// What depends on the number of the iteration alone, and holds a product, is one product of all iterations
// before the loop. A result differs from that of the loop by the order in which its products are summed.
// Cost in IR size: the body once more, and about twenty operations.
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/recursion/forest_calls.h"
#include "compiler/passes/recursion/loop_levels.h"
#include "compiler/passes/recursion/recursion_levels.h"

namespace dyn::passes {

namespace {

using LinearTypes = std::unordered_map<ValueId, Type>;

LinearTypes typesOf(const Module& module) {
  LinearTypes types;
  for (const FunctionVisit& visit : functionsOf(module)) {
    for (const Parameter& p : visit.function->parameters) types[p.id] = p.type;
    for (const Op* op : visit.function->ops)
      for (const ValueDef& r : op->results) types[r.id] = r.type;
  }
  return types;
}

// A step's module with types; the module as it was where they do not fit.
Module typedOr(const Module& before, const Module& changed, std::string_view counter, PassContext& context) {
  Result<InferredModule> typed = inferTypes(changed);
  if (typed.ok()) return typed->module;
  context.counters[std::string(counter)] = 0;
  context.remarks.push_back("not batched by level: " + typed.error().message);
  return before;
}

Result<Module> batchLoops(const Module& module, PassContext& context) {
  bool any = false;
  forEachOp(module, [&](const Function&, const Op& op) { any = any || op.def == &ops::loopOp; });
  if (!any) return module;
  DYN_TRY(InferredModule inferred, inferTypes(module));
  const LinearTypes types = typesOf(inferred.module);
  IrContext& ir = *module.context;
  int64_t loops = 0, hoisted = 0;
  const auto change = [&](const Function& function) -> Result<const Function*> {
    Function result = function;
    result.ops.clear();
    ValueMap replaced;
    std::unordered_map<ValueId, const Op*> makers;
    bool changed = false;
    for (const Op* op : function.ops) {
      for (const ValueDef& r : op->results) makers[r.id] = op;
      if (op->def == &ops::loopOp) {
        const NodeLoop loop = findNodeLoop(*op, inferred, types, makers);
        LoopLevels levels;
        levels.whyNot = loop.whyNot;
        if (levels.whyNot.empty()) levels = levelsOf(loop, inferred, types);
        if (levels.whyNot.empty()) {
          result.ops.insert(result.ops.end(), levels.ops.begin(), levels.ops.end());
          replaced.insert(levels.replaced.begin(), levels.replaced.end());
          changed = true;
          ++loops;
          hoisted += levels.hoisted;
          continue;
        }
        if (loop.looksLikeOne)
          context.remarks.push_back("not batched by level: loop %" + ir.valueName(op->results[0].id) + ": " +
                                    levels.whyNot);
      }
      result.ops.push_back(op);
    }
    if (!changed) return &function;
    return replaceValues(ir, *ir.own(std::move(result)), replaced);
  };
  DYN_TRY(Module changed, rewriteFunctions(inferred.module, change));
  context.counters["batched_loops"] = loops;
  if (loops == 0) return module;
  context.counters["products_before_the_loop"] += hoisted;
  return typedOr(module, changed, "batched_loops", context);
}

Result<Module> batchRecursions(const Module& module, PassContext& context) {
  if (module.dataTypes.empty()) return module;
  DYN_TRY(InferredModule inferred, inferTypes(module));
  const LinearTypes types = typesOf(inferred.module);
  Module changed = inferred.module;
  std::unordered_map<std::string, Forest> forests;
  int64_t hoisted = 0;
  for (const Function*& function : changed.functions) {
    const Recursion recursion = findRecursion(*function, inferred.module, types);
    if (!recursion.callsItself) continue;
    RecursionLevels levels;
    levels.whyNot = recursion.whyNot;
    if (levels.whyNot.empty()) levels = levelsOf(recursion, inferred, types);
    if (levels.whyNot.empty()) {
      forests[function->name] = {levels.forest, recursion.argument};
      hoisted += levels.hoisted;
      function = levels.single;
    } else {
      context.remarks.push_back("not batched by level: @" + function->name + ": " + levels.whyNot);
    }
  }
  if (forests.empty()) return module;
  context.counters["batched_functions"] = static_cast<int64_t>(forests.size());
  context.counters["products_before_the_loop"] += hoisted;
  for (const Function* function : inferred.module.functions)
    if (const auto forest = forests.find(function->name); forest != forests.end())
      changed.functions.push_back(forest->second.function);
  int64_t calls = 0;
  DYN_TRY(changed, rewriteFunctions(changed, [&](const Function& function) -> Result<const Function*> {
            return withForestCalls(*module.context, function, forests, calls);
          }));
  context.counters["calls_of_whole_lists"] = calls;
  return typedOr(module, changed, "batched_functions", context);
}

Result<Module> runBatchLevels(const Module& module, PassContext& context) {
  DYN_TRY(Module loops, batchLoops(module, context));
  return batchRecursions(loops, context);
}

}  // namespace

PassDef batch_levelsPass() {
  return {.name = "batch_levels",
          .summary = "computes loops over the nodes of trees and graphs one level at a time",
          .requiredProperties = Property::types,
          .providedProperties = {},
          .forbiddenProperties = Property::groups,
          .options = {},
          .run = runBatchLevels,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
