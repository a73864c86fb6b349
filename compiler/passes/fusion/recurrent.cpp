// Loops over the steps of LSTM, GRU and RNN as one hand-written kernel.
//   requires: types.  provides: nothing that others rely on.
//   before  %h, %y = loop(%s, _, %h0, %x) {carried = 1} body (%i, %h, %x) {
//             %u = gemm_packed(%h, %packed)  %n = tanh(add(gather(%x, %i), %u))  return true, %n, %n
//           }
//   after   %h, %y = recurrence(%x, %packed, %h0) {cell = "tanh", stacks = 1}
// What the inputs make of the gates is one product before the loop already. Only where the weights of the
// state are packed, or come from around the loop (the kernel packs them once), and a step is a cell that the
// kernel knows (recurrent_cell.h); all others stay loops, whose steps are kernels of their own. Two of them
// that do not see each other, as both directions of a layer, are one operation: two threads then take one
// each.
// Cost: one sweep per function; IR size falls.
#include <algorithm>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/fusion/recurrent_cell.h"

namespace dyn::passes {

namespace {

constexpr size_t kLengths = recurrence::kLengths, kSecond = recurrence::kSecond;

class Recurrences {
 public:
  Recurrences(const InferredModule& inferred, PathFacts& facts)
      : inferred_(inferred), ir_(*inferred.module.context), facts_(facts) {}

  Result<const Function*> run(const Function& function) {
    types_.clear();
    Makers makers;
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    std::vector<const Op*> ops;
    const size_t before = count_, body = facts_.bodyOf(function);
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op* op = function.ops[i];
      for (const ValueDef& r : op->results) {
        makers[r.id] = op;
        types_[r.id] = r.type;
      }
      RecurrentCell cell;
      if (op->def == &ops::loopOp &&
          findRecurrentCell(inferred_, makers, *op, facts_, {body, i}, cell).empty()) {
        ops.insert(ops.end(), cell.inside.begin(), cell.inside.end());
        for (const Op* made : cell.inside)
          for (const ValueDef& r : made->results) types_[r.id] = r.type;
        op = operation(*op, cell);
        ++count_;
      }
      ops.push_back(op);
    }
    if (count_ == before) return &function;
    joinDirections(ops);
    Function result = function;
    result.ops = std::move(ops);
    return ir_.own(std::move(result));
  }

  size_t count() const { return count_; }
  size_t joined() const { return joined_; }

 private:
  const Op* operation(const Op& loop, const RecurrentCell& cell) {
    Op op;
    op.def = &ops::recurrenceOp;
    op.place = loop.place;
    op.operands = {cell.gates, cell.weights, cell.state, cell.inner, cell.bias, cell.lengths};
    while (op.operands.back() == kNoValue) op.operands.pop_back();
    op.results = loop.results;
    op.attributes.set("cell", std::string(recurrence::kCellNames[static_cast<size_t>(cell.cell)]));
    if (cell.backward) op.attributes.set("backward", int64_t{1});
    if (cell.stacks) op.attributes.set("stacks", int64_t{1});
    if (cell.transposed) op.attributes.set("transpose_b", int64_t{1});
    return ir_.own(std::move(op));
  }

  static ValueId operandOf(const Op& op, size_t i) {
    return i < op.operands.size() ? op.operands[i] : kNoValue;
  }

  // Both are one direction, of the same cell and sizes.
  bool fit(const Op& a, const Op& b) const {
    if (a.def != &ops::recurrenceOp || b.def != &ops::recurrenceOp || a.operands.size() > kSecond ||
        b.operands.size() > kSecond || a.attributes.string("cell") != b.attributes.string("cell") ||
        a.attributes.integer("stacks", 0) != b.attributes.integer("stacks", 0) ||
        a.attributes.integer("transpose_b", 0) != b.attributes.integer("transpose_b", 0) ||
        operandOf(a, kLengths) != operandOf(b, kLengths))
      return false;
    const auto sameType = [&](size_t i) { return types_.at(a.operands[i]) == types_.at(b.operands[i]); };
    return sameType(0) && sameType(2) &&
           types_.at(a.operands[1]).dtype() == types_.at(b.operands[1]).dtype() &&
           types_.at(a.operands[1]).rank() == types_.at(b.operands[1]).rank();
  }

  static bool reads(const Op& op, const Op& from) {
    return std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
      return std::any_of(from.results.begin(), from.results.end(),
                         [&](const ValueDef& r) { return v != kNoValue && r.id == v; });
    });
  }

  // One stands where the later of the two did: nothing before may read what the earlier one makes.
  void joinDirections(std::vector<const Op*>& ops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i]->def != &ops::recurrenceOp) continue;
      for (size_t k = i + 1; k < ops.size() && !reads(*ops[k], *ops[i]); ++k) {
        if (!fit(*ops[i], *ops[k])) continue;
        ops[k] = both(*ops[i], *ops[k]);
        ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(i));
        ++joined_;
        --i;
        break;
      }
    }
  }

  const Op* both(const Op& a, const Op& b) {
    Op op = a;
    op.operands.resize(kSecond, kNoValue);
    for (size_t i = 0; i < recurrence::kOfDirection; ++i) op.operands.push_back(operandOf(b, i));
    while (op.operands.back() == kNoValue) op.operands.pop_back();
    op.results.insert(op.results.end(), b.results.begin(), b.results.end());
    if (b.attributes.integer("backward", 0) != 0) op.attributes.set("second_backward", int64_t{1});
    return ir_.own(std::move(op));
  }

  const InferredModule& inferred_;
  IrContext& ir_;
  PathFacts& facts_;
  std::unordered_map<ValueId, Type> types_;
  size_t count_ = 0, joined_ = 0;
};

Result<Module> runRecurrent(const Module& module, PassContext& context) {
  bool anyLoops = false;
  forEachOp(module, [&](const Function&, const Op& op) { anyLoops |= op.def == &ops::loopOp; });
  if (!anyLoops || !context.target.isHostOnly()) return module;
  DYN_TRY(InferredModule inferred, inferTypes(module));
  PathFacts facts(inferred.module);
  Recurrences recurrences(inferred, facts);
  DYN_TRY(Module result,
          rewriteFunctions(inferred.module, [&](const Function& f) { return recurrences.run(f); }));
  context.counters["recurrences"] = static_cast<int64_t>(recurrences.count());
  context.counters["joined_directions"] = static_cast<int64_t>(recurrences.joined());
  return result;
}

}  // namespace

PassDef recurrentPass() {
  return {.name = "recurrent",
          .summary = "turns LSTM, GRU and RNN loops into one kernel for all steps",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runRecurrent,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
