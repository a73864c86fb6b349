// Constant folding.
//   needs: types.  establishes: no operation without effects has constant operands only (within a size limit).
//   before  %w = constant {...}  %t = transpose(%w) {perm = [1, 0]}        after  %t = constant {...}
// Evaluation is the operators' reference evaluation. A result much larger than its operands stays an operation (a small file must not become a large
// model), and so does one whose evaluation fails: the error belongs to the run.
// Cost: time of one evaluation per folded operation.
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/reference_interpreter.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

constexpr int64_t kAlwaysAllowedBytes = 64 << 10;
constexpr int64_t kMaxGrowth = 2;

bool foldable(const Op& op, const std::unordered_map<ValueId, const Op*>& constants) {
  if (op.def == &ops::constantOp || op.def->hasEffects || !op.def->evaluate || !op.regions.empty() ||
      op.operands.empty())
    return false;
  if (op.def == &ops::pack_bOp) return false;  // the layout is the machine's, not the module's
  int64_t operandBytes = 0;
  for (ValueId v : op.operands) {
    if (v == kNoValue) continue;
    auto it = constants.find(v);
    if (it == constants.end()) return false;
    operandBytes += it->second->attributes.tensor("value")->sizeBytes();
  }
  for (const ValueDef& r : op.results) {
    if (!r.type.isTensor()) return false;
    int64_t bytes = storageBytes(r.type.dtype());
    for (Dim d : r.type.dims()) {
      std::optional<int64_t> extent = d.constant();
      if (!extent) return false;
      std::optional<int64_t> product = checkedMul(bytes, *extent);
      if (!product) return false;
      bytes = *product;
    }
    if (bytes > kAlwaysAllowedBytes && bytes / kMaxGrowth > operandBytes) return false;
  }
  return true;
}

Result<Module> runFold(const Module& module, PassContext& context) {
  int64_t folded = 0;
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    std::unordered_map<ValueId, const Op*> constants;
    std::vector<const Op*> ops;
    bool changed = false;
    for (const Op* op : function.ops) {
      if (context.isCancelled()) return makeError(DiagnosticId::cancelled, "interrupted");
      if (op->def == &ops::constantOp) constants[op->results[0].id] = op;
      if (!foldable(*op, constants)) {
        ops.push_back(op);
        continue;
      }
      std::vector<Value> operands;
      for (ValueId v : op->operands)
        operands.push_back(v == kNoValue ? Value() : Value(*constants.at(v)->attributes.tensor("value")));
      InterpreterOptions options;
      options.cancelled = context.cancelled;
      Result<std::vector<Value>> values = interpretOp(module, *op, operands, options);
      if (!values.ok()) {
        context.remarks.push_back("not folded: " + values.error().message);
        ops.push_back(op);
        continue;
      }
      ++folded;
      changed = true;
      for (size_t i = 0; i < op->results.size(); ++i) {
        Op constant;
        constant.def = &ops::constantOp;
        constant.results = {op->results[i]};
        constant.attributes.set("value", (*values)[i].tensor());
        constant.place = op->place;
        ops.push_back(module.context->own(std::move(constant)));
        constants[op->results[i].id] = ops.back();
      }
    }
    if (!changed) return &function;
    Function result = function;
    result.ops = std::move(ops);
    return module.context->own(std::move(result));
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["folded_ops"] = folded;
  return result;
}

}  // namespace

PassDef foldPass() {
  return {.name = "fold",
          .summary = "evaluates operations whose operands are constants",
          .needs = "types",
          .establishes = "constants where values are known",
          .options = {},
          .run = runFold};
}

}  // namespace dyn::passes
