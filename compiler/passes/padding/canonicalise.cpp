#include "compiler/passes/padding/canonicalise.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/changed_main.h"
#include "compiler/passes/simplify/regrouped_rows.h"

namespace dyn::passes {

namespace {

constexpr size_t kMostFormsBetween = 16;  // values between a softmax and the scores it is of

class CanonicalForms {
 public:
  explicit CanonicalForms(const InferredModule& inferred)
      : module_(inferred.module),
        ir_(*module_.context),
        contents_(inferred.contents),
        rows_(
            ir_, *module_.main(), types_, made_,
            [this](Dim a, Dim b) { return ir_.facts().equal(a, b) == Answer::yes; },
            RegroupedRows::Repeats::kept) {
    const Module& module = module_;
    for (const Parameter& p : module.main()->parameters) {
      types_[p.id] = p.type;
      for (SymbolId s : symbolsOf(p.type)) given_.insert(s);
    }
    for (const Op* op : module.main()->ops)
      for (const ValueDef& r : op->results) {
        types_[r.id] = r.type;
        madeBy_[r.id] = op;
      }
  }

  // Null: nothing is written otherwise.
  const Function* run() {
    const Function& main = *module_.main();
    if (std::any_of(main.ops.begin(), main.ops.end(), [](const Op* op) { return !op->regions.empty(); }))
      return nullptr;
    const std::unordered_set<const Op*> scores = madeForScores();
    for (const Op* op : main.ops)
      if (const ValueId source = viewedBack(*op); source != kNoValue) {
        instead_[op->results[0].id] = source;
        changed_ = true;
      } else if (isSame(*op) || (scores.count(op) && isTimesOne(*op))) {
        instead_[op->results[0].id] = now(op->operands[scaledOperand(*op)]);
        changed_ = true;
      } else {
        emit(*op, scores.count(op) != 0);
      }
    if (!changed_) return nullptr;
    Function result = main;
    result.ops = std::move(ops_);
    for (ValueId& v : result.results) v = now(v);
    return ir_.own(std::move(result));
  }

 private:
  ValueId now(ValueId v) const {
    const auto other = instead_.find(v);
    return other == instead_.end() ? v : other->second;
  }

  void emit(const Op& op, bool ofScores) {
    Op copy = op;
    bool other = false;
    for (ValueId& v : copy.operands) {
      if (v == kNoValue || now(v) == v) continue;
      v = now(v);
      other = true;
    }
    if (ofScores && op.def == &ops::subOp && hasFourAxes(op.operands[0])) {
      copy.def = &ops::addOp;
      copy.operands[1] = make(ops::negOp, {copy.operands[1]}, types_.at(op.operands[1]), op.place);
      other = changed_ = true;
    } else if (ofScores && factorOf(op)) {
      other = distribute(copy) || other;
    }
    const Op* now = other ? ir_.own(std::move(copy)) : &op;
    if (const Op* regrouped = rows_.of(*now, ops_)) {
      now = regrouped;
      changed_ = true;
    }
    ops_.push_back(now);
    made_[now->results.empty() ? kNoValue : now->results[0].id] = now;
  }

  // (a + b) * c = a * c + b * c, also of a and b that are sums: each is scaled by itself.
  bool distribute(Op& op) {
    const size_t at = scaledOperand(op);
    const auto sum = made_.find(op.operands[at]);
    if (sum == made_.end() || sum->second->def != &ops::addOp) return false;
    const auto scaled = [&](const auto& self, ValueId v, int depth) -> ValueId {
      const auto made = made_.find(v);
      const bool isSum = made != made_.end() && made->second->def == &ops::addOp && depth < 4;
      std::vector<ValueId> parts;
      if (isSum)
        for (ValueId part : made->second->operands) parts.push_back(self(self, part, depth + 1));
      else
        parts = op.operands;
      if (!isSum) parts[at] = v;
      return make(isSum ? ops::addOp : *op.def, parts, types_.at(v), op.place);
    };
    const std::vector<ValueId> terms = sum->second->operands;
    const ValueId left = scaled(scaled, terms[0], 0), right = scaled(scaled, terms[1], 0);
    op.def = &ops::addOp;
    op.operands = {left, right};
    op.attributes = {};
    return changed_ = true;
  }

  ValueId make(const OpDef& def, std::vector<ValueId> operands, Type type, const SourceLocation& place) {
    Op op;
    op.def = &def;
    op.place = place;
    op.operands = std::move(operands);
    op.results = {{ir_.newValue(), type}};
    types_[op.results[0].id] = type;
    ops_.push_back(ir_.own(std::move(op)));
    return ops_.back()->results[0].id;
  }

  const HostTensor* constantOf(ValueId v) const {
    const auto made = madeBy_.find(v);
    return made == madeBy_.end() || made->second->def != &ops::constantOp
               ? nullptr
               : made->second->attributes.tensor("value");
  }
  // One number for all.
  std::optional<double> numberOf(ValueId v) const {
    const HostTensor* tensor = constantOf(v);
    if (!tensor || tensor->elementCount() != 1 || !isReal(tensor->dtype())) return std::nullopt;
    return tensor->rank() == 0 || tensor->rank() == 1 ? std::optional(tensor->realAt(0)) : std::nullopt;
  }
  // x * c, c * x or x / c.
  std::optional<double> factorOf(const Op& op) const {
    if (op.def != &ops::mulOp && op.def != &ops::divOp) return std::nullopt;
    const std::optional<double> second = numberOf(op.operands[1]);
    return second || op.def == &ops::divOp ? second : numberOf(op.operands[0]);
  }
  size_t scaledOperand(const Op& op) const {
    return op.def == &ops::mulOp && !numberOf(op.operands[1]) && numberOf(op.operands[0]) ? 1 : 0;
  }
  bool isTimesOne(const Op& op) const {
    return factorOf(op) == 1.0 && hasSameShape(op.operands[scaledOperand(op)], op.results[0].type);
  }

  bool hasFourAxes(ValueId v) const {
    const Type type = types_.at(v);
    return type && type.isTensor() && type.rank() == 4;
  }
  bool hasSameShape(ValueId v, Type to) const {
    const Type from = types_.at(v);
    return from && from.isTensor() && to && to.isTensor() && from.rank() == to.rank() && isGiven(to) &&
           ir_.facts().equalShapes(from.dims(), to.dims()) == Answer::yes;
  }

  // Does every size of it follow from those of the inputs? Another is made known by the operation itself.
  bool isGiven(Type type) const {
    const std::vector<SymbolId> symbols = symbolsOf(type);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return given_.count(s) != 0; });
  }

  // What views lead back to, in the shape that it had.
  ValueId viewedBack(const Op& op) const {
    if (!op.def->traits.view) return kNoValue;
    for (auto made = made_.find(now(op.operands[0])); made != made_.end() && made->second->def->traits.view;
         made = made_.find(made->second->operands[0]))
      if (hasSameShape(made->second->operands[0], op.results[0].type)) return made->second->operands[0];
    return kNoValue;
  }

  bool addsNothing(const Op& pad) const {
    const auto pads = contents_.find(pad.operands[1]);
    return pads != contents_.end() && !pads->second.empty() &&
           std::all_of(pads->second.begin(), pads->second.end(), [](Dim d) { return d && d.isConstant(0); });
  }

  // Is the result the first operand?
  bool isSame(const Op& op) const {
    if (op.def == &ops::padOp) return addsNothing(op) && hasSameShape(op.operands[0], op.results[0].type);
    if ((op.def != &ops::sliceOp && op.def != &ops::reshapeOp) ||
        !hasSameShape(op.operands[0], op.results[0].type))
      return false;
    if (op.def == &ops::reshapeOp || op.operands.size() < 5 || op.operands[4] == kNoValue) return true;
    const HostTensor* steps = constantOf(op.operands[4]);
    if (!steps) return false;
    for (int64_t i = 0; i < steps->elementCount(); ++i)
      if (steps->intAt(i) != 1) return false;
    return true;
  }

  // Operations on elements that lead to a softmax, by way of each other.
  std::unordered_set<const Op*> madeForScores() const {
    std::unordered_set<const Op*> found;
    for (const Op* softmax : module_.main()->ops) {
      if (softmax->def != &ops::softmaxOp) continue;
      std::vector<ValueId> pending{softmax->operands[0]};
      for (size_t k = 0; k < pending.size() && k < kMostFormsBetween; ++k) {
        const auto made = madeBy_.find(pending[k]);
        if (made == madeBy_.end() || made->second->def->cls != OpClass::elementwise) continue;
        const Op& op = *made->second;
        const Type type = op.results[0].type;
        if (!type || !type.isTensor() || type.rank() < 3 || type.dtype() != Dtype::f32) continue;
        found.insert(&op);
        for (ValueId v : op.operands)
          if (v != kNoValue) pending.push_back(v);
      }
    }
    return found;
  }

  const Module& module_;
  IrContext& ir_;
  const std::unordered_map<ValueId, Contents>& contents_;
  std::vector<const Op*> ops_;
  std::unordered_set<SymbolId> given_;  // sizes of the inputs
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> madeBy_;  // in the module
  std::unordered_map<ValueId, const Op*> made_;    // in what is written
  std::unordered_map<ValueId, ValueId> instead_;   // values that are read in place of others
  bool changed_ = false;
  RegroupedRows rows_;
};

}  // namespace

Module withCanonicalForms(const InferredModule& inferred) {
  return replacedMain(inferred.module, CanonicalForms(inferred).run());
}

}  // namespace dyn::passes
