// Constant folding.
//   requires: types.  provides: no operation without effects has constant operands only (within a size limit).
//   before  %w = constant {...}  %t = transpose(%w) {perm = [1, 0]}        after  %t = constant {...}
// A constant that the body of an if or a loop captures becomes one of the body's own, so that what the body
// makes of it folds too. Evaluation is the operators' reference evaluation. A result much larger than its
// operands stays an operation (a small file must not become a large model; filters of convolutions may grow
// to what they were before they were quantised), and so does one whose evaluation fails: the error belongs
// to the run. Cost: time of one evaluation per folded operation.
#include <algorithm>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/contraction/contraction.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/reference/reference_interpreter.h"

namespace dyn::passes {

namespace {

constexpr int64_t kAlwaysAllowedBytes = 64 << 10;
constexpr int64_t kMaxGrowth = 2;
constexpr int64_t kMaxFilterGrowth = 8;  // f32 of 4 bits

class Folder {
 public:
  Folder(const Module& module, PassContext& context) : module_(module), uses_(module), context_(context) {}

  Result<Module> run() {
    for (const FunctionVisit& visit : functionsOf(module_))  // outer before inner: constants flow into bodies
      for (const Op* op : visit.function->ops) {
        if (context_.isCancelled()) return makeError(DiagnosticId::cancelled, "interrupted");
        if (op->def == &ops::constantOp) constants_[op->results[0].id] = op;
        if (foldable(*op)) DYN_CHECK(fold(*op));
        if (op->def == &ops::sizeOp) foldSize(*op);
        if (!op->regions.empty()) bindCaptures(*op);
      }
    DYN_TRY(Module result, rewriteFunctions(module_, [&](const Function& f) { return rewrite(f); }));
    context_.counters["folded_ops"] = static_cast<int64_t>(folded_.size());
    return result;
  }

 private:
  bool foldable(const Op& op) const {
    if (op.def == &ops::constantOp || op.def->hasEffects || !op.def->evaluate || !op.regions.empty() ||
        op.operands.empty())
      return false;
    if (op.def->traits.packsWeights) return false;  // the layout is the machine's, not the module's
    int64_t operandBytes = 0;
    for (ValueId v : op.operands) {
      if (v == kNoValue) continue;
      auto it = constants_.find(v);
      if (it == constants_.end()) return false;
      operandBytes += it->second->attributes.tensor("value")->sizeBytes();
    }
    if (operandBytes > kAlwaysAllowedBytes && isTakenByPacking(op)) return false;
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
      const int64_t growth = isDequantisedFilter(op) ? kMaxFilterGrowth : kMaxGrowth;
      if (bytes > kAlwaysAllowedBytes && bytes / growth > operandBytes) return false;
    }
    return true;
  }

  // Convolutions read filters of f32 alone: each run would dequantise them and pack them anew.
  bool isDequantisedFilter(const Op& op) const {
    if (op.def != &ops::dequantize_linearOp) return false;
    const std::span<const Use> uses = uses_.of(op.results[0].id);
    return std::all_of(uses.begin(), uses.end(), [](const Use& use) {
      return use.op && (use.op->def == &ops::convOp || use.op->def == &ops::conv_transposeOp) &&
             use.index == 1;
    });
  }

  // Packing takes the transpose of a product's right matrix, and what widens its f16 or bf16, for itself: a
  // transposed copy would be work for nothing, a wide one twice the memory.
  bool isTakenByPacking(const Op& op) const {
    if (!isTransposeOrWidening(op)) return false;
    const auto isPacked = [](const Use& use) {
      return use.op && (use.op->def == &ops::matmulOp || use.op->def == &ops::matmul_integerOp) &&
             use.index == 1 && use.op->attributes.integer("transpose_a", 0) == 0;
    };
    const std::span<const Use> uses = uses_.of(op.results[0].id);
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      if (isPacked(use)) return true;
      if (!use.op || use.op->def == op.def || !isTransposeOrWidening(*use.op)) return false;
      const std::span<const Use> next = uses_.of(use.op->results[0].id);
      return std::all_of(next.begin(), next.end(), isPacked);
    });
  }

  bool isTransposeOrWidening(const Op& op) const {
    if (op.def == &ops::transposeOp) return true;
    if (op.def != &ops::castOp || !context_.target.prefersBuiltins()) return false;
    const Type from = uses_.definition(op.operands[0]).type;
    return from.isTensor() && from.rank() == 2 && isHalf(from.dtype()) &&
           op.results[0].type.dtype() == Dtype::f32;
  }

  // An evaluation that fails is an error of the run: the operation stays.
  Status fold(const Op& op) {
    std::vector<Value> operands;
    for (ValueId v : op.operands)
      operands.push_back(v == kNoValue ? Value() : Value(*constants_.at(v)->attributes.tensor("value")));
    InterpreterOptions options;
    options.cancelled = context_.cancelled;
    Result<std::vector<Value>> values = interpretOp(module_, op, operands, options);
    if (!values.ok()) {
      context_.remarks.push_back("not folded: " + values.error().message);
      return {};
    }
    for (size_t i = 0; i < op.results.size(); ++i) become(op, i, (*values)[i].tensor());
    return {};
  }

  // The number of elements may be known where the elements are not: exporters take the rank of a value as
  // size(shape(x)).
  void foldSize(const Op& op) {
    const Type type = uses_.definition(op.operands[0]).type;
    if (folded_.count(&op) || !type.isTensor()) return;
    std::optional<int64_t> count = 1;
    for (Dim d : type.dims()) {
      count = d.constant() ? checkedMul(*count, *d.constant()) : std::nullopt;
      if (!count) return;
    }
    become(op, 0, HostTensor::scalarInt(Dtype::i64, *count));
  }

  void become(const Op& op, size_t result, HostTensor value) {
    const Op* made = constant(op.results[result], std::move(value), op.place);
    folded_[&op].push_back(made);
    constants_[op.results[result].id] = made;
  }

  void bindCaptures(const Op& op) {
    const size_t count = static_cast<size_t>(captureCount(op));
    for (const Function* region : op.regions)
      for (size_t i = 1; i <= count; ++i) {
        auto it = constants_.find(op.operands[op.operands.size() - i]);
        if (it != constants_.end())
          constants_[region->parameters[region->parameters.size() - i].id] = it->second;
      }
  }

  // Folded operations become constants; a captured constant that is still read is one of the body's own.
  Result<const Function*> rewrite(const Function& function) {
    IrContext& ir = *module_.context;
    Function result = function;
    result.ops.clear();
    bool changed = false;
    for (const Op* op : function.ops) {
      auto it = folded_.find(op);
      if (it == folded_.end()) {
        result.ops.push_back(op);
        continue;
      }
      result.ops.insert(result.ops.end(), it->second.begin(), it->second.end());
      changed = true;
    }
    std::unordered_set<ValueId> read(result.results.begin(), result.results.end());
    for (const Op* op : result.ops) read.insert(op->operands.begin(), op->operands.end());
    ValueMap own;
    std::vector<const Op*> first;
    for (const Parameter& p : function.parameters) {
      auto it = constants_.find(p.id);
      if (it == constants_.end() || !read.count(p.id)) continue;
      own[p.id] = ir.newValue();
      const HostTensor* value = it->second->attributes.tensor("value");
      first.push_back(constant({own[p.id], it->second->results[0].type}, *value, it->second->place));
      changed = true;
    }
    if (!changed) return &function;
    result.ops.insert(result.ops.begin(), first.begin(), first.end());
    const Function* made = ir.own(std::move(result));
    return own.empty() ? made : replaceValues(ir, *made, own);
  }

  const Op* constant(ValueDef result, HostTensor value, SourceLocation place) {
    Op op;
    op.def = &ops::constantOp;
    op.results = {std::move(result)};
    op.attributes.set("value", std::move(value));
    op.place = std::move(place);
    return module_.context->own(std::move(op));
  }

  const Module& module_;
  const Uses uses_;
  PassContext& context_;
  std::unordered_map<ValueId, const Op*> constants_;  // results and captures whose value is known
  std::unordered_map<const Op*, std::vector<const Op*>> folded_;
};

Result<Module> runFold(const Module& module, PassContext& context) { return Folder(module, context).run(); }

}  // namespace

PassDef foldPass() {
  return {.name = "fold",
          .summary = "evaluates operations on constants",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runFold};
}

}  // namespace dyn::passes
