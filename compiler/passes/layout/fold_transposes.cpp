// Transposes around a matrix product become the order in which it reads and writes.
//   requires: types.  provides: no f32 product of stacks of matrices has a transposed operand, or a transposed result whose last axis stays the last.
//   before  %k = transpose(%x) {perm = [0, 2, 3, 1]}  %s = matmul(%q, %k)        after  %s = matmul_permuted(%q, %x) {order_b = [0, 2, 3, 1], ...}
// The transposes that nothing else reads are dead afterwards: dce removes them. Products with packed matrices
// read their left side row by row and are left alone.
// Cost in IR size: none.
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/shape_rules.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

using AxisOrder = std::vector<int64_t>;

AxisOrder identity(int rank) {
  AxisOrder order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

class Absorber {
 public:
  Absorber(const Function& function, IrContext& ir, const Uses& uses)
      : function_(function), ir_(ir), uses_(uses) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) {
        types_[r.id] = r.type;
        definitions_[r.id] = op;
      }
  }

  const Function* run() {
    Function result = function_;
    result.ops.clear();
    std::unordered_set<const Op*> gone;
    for (const Op* op : function_.ops) {
      if (gone.count(op)) continue;
      bool writesTransposed = false;
      const Op* changed = op->def == &ops::matmulOp ? absorb(*op, writesTransposed) : nullptr;
      result.ops.push_back(changed ? changed : op);
      if (writesTransposed)  // its own result is no more: the transpose, and what nothing reads
        for (const Use& use : uses_.of(op->results[0].id)) gone.insert(use.op);
      absorbed_ += changed != nullptr;
    }
    return absorbed_ ? ir_.own(std::move(result)) : &function_;
  }

  int64_t absorbed() const { return absorbed_; }

 private:
  // The order of a transpose, or nullopt.
  std::optional<AxisOrder> permutation(const Op& op) const {
    if (op.def != &ops::transposeOp) return std::nullopt;
    return transposeOrder(op.attributes, types_.at(op.operands[0]).rank());
  }

  // The operand with its transpose taken off, and the order in which the product then reads it.
  std::pair<ValueId, AxisOrder> operand(ValueId value, bool swapped, bool& any) const {
    AxisOrder order = identity(types_.at(value).rank());
    if (auto it = definitions_.find(value); it != definitions_.end())
      if (std::optional<AxisOrder> perm = permutation(*it->second)) {
        order = *perm;
        value = it->second->operands[0];
        any = true;
      }
    if (swapped) std::swap(order[order.size() - 1], order[order.size() - 2]);
    return {value, order};
  }

  // The operation that reads it besides those that nothing reads; null: more do, or the function returns it.
  const Op* onlyReader(ValueId value) const {
    const Op* reader = nullptr;
    for (const Use& use : uses_.of(value)) {
      if (use.op && !use.op->def->hasEffects && use.op->results.size() == 1 &&
          uses_.of(use.op->results[0].id).empty())
        continue;
      if (!use.op || reader) return nullptr;
      reader = use.op;
    }
    return reader;
  }

  const Op* absorb(const Op& matmul, bool& writesTransposed) const {
    const Type type = matmul.results[0].type;
    const int rank = type.rank();
    if (rank < 3 || type.dtype() != Dtype::f32) return nullptr;
    for (ValueId v : matmul.operands)
      if (types_.at(v).rank() != rank) return nullptr;
    bool any = false;
    const auto [a, orderA] = operand(matmul.operands[0], matmul.attributes.integer("transpose_a") != 0, any);
    const auto [b, orderB] = operand(matmul.operands[1], matmul.attributes.integer("transpose_b") != 0, any);
    AxisOrder orderC = identity(rank);
    ValueDef result = matmul.results[0];
    if (const Op* reader = onlyReader(result.id))
      if (std::optional<AxisOrder> perm = permutation(*reader); perm && perm->back() == rank - 1) {
        for (size_t i = 0; i < perm->size(); ++i)
          orderC[static_cast<size_t>((*perm)[i])] = static_cast<int64_t>(i);
        result = reader->results[0];
        writesTransposed = any = true;
      }
    if (!any) return nullptr;
    Op op;
    op.def = &ops::matmul_permutedOp;
    op.operands = {a, b};
    op.results = {result};
    op.attributes = {{"order_a", orderA}, {"order_b", orderB}, {"order_c", orderC}};
    op.place = matmul.place;
    return ir_.own(std::move(op));
  }

  const Function& function_;
  IrContext& ir_;
  const Uses& uses_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> definitions_;
  int64_t absorbed_ = 0;
};

Result<Module> runAbsorb(const Module& module, PassContext& context) {
  const Uses uses(module);
  int64_t absorbed = 0;
  // Values do not cross functions, and only operations with bodies are remade on the way: what `uses` says of
  // a product and its transpose still holds.
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    Absorber absorber(function, *module.context, uses);
    const Function* result = absorber.run();
    absorbed += absorber.absorbed();
    return result;
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["absorbed_transposes"] = absorbed;
  return result;
}

}  // namespace

PassDef fold_transposesPass() {
  return {.name = "fold_transposes",
          .summary = "folds the transposes around matrix products into the order that they read and write",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runAbsorb,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
