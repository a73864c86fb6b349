#include "compiler/passes/heads_apart.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

class HeadsApart {
 public:
  explicit HeadsApart(const Module& module) : module_(module), ir_(*module.context) {
    for (const Parameter& p : module.main()->parameters) types_[p.id] = p.type;
  }

  // Null: nothing is joined.
  const Function* run() {
    const Function& main = *module_.main();
    for (const Op* op : main.ops) {
      if (!op->regions.empty()) return nullptr;
      for (const ValueDef& r : op->results) types_[r.id] = r.type;
      emit(*op);
    }
    if (!changed_) return nullptr;
    Function result = main;
    result.ops = std::move(ops_);
    for (ValueId& v : result.results) v = now(v);
    return ir_.own(std::move(result));
  }

 private:
  struct Apart {
    ValueId value = kNoValue;  // of four axes
    Shape dims;
  };

  ValueId now(ValueId v) const {
    const auto other = instead_.find(v);
    return other == instead_.end() ? v : other->second;
  }
  const Apart* apart(ValueId v) const {
    const auto found = apart_.find(v);
    return found == apart_.end() ? nullptr : &found->second;
  }
  bool equal(Dim a, Dim b) const { return ir_.facts().equal(a, b) == Answer::yes; }
  Shape dimsOf(ValueId v) const {
    const auto type = types_.find(v);
    return type != types_.end() && type->second && type->second.isTensor() ? type->second.dims() : Shape();
  }

  void emit(const Op& op) {
    Op copy = op;
    bool other = false;
    for (ValueId& v : copy.operands) {
      if (v == kNoValue || now(v) == v) continue;
      v = now(v);
      other = true;
    }
    if (op.def == &ops::reshapeOp && reshaped(copy)) return;
    if (std::optional<Apart> result = fourAxesOf(copy)) {
      rejoin(op, *result);
      return;
    }
    ops_.push_back(other ? ir_.own(std::move(copy)) : &op);
  }

  // Is it dealt with? Of a joining one what it joins is noted.
  bool reshaped(const Op& op) {
    const Shape from = dimsOf(op.operands[0]), to = dimsOf(op.results[0].id);
    if (from.size() == 4 && to.size() == 3 && equal(from[2], to[1]) && equal(from[3], to[2])) {
      apart_[op.results[0].id] = {op.operands[0], from};
      return false;
    }
    const Apart* whole = apart(op.operands[0]);
    if (!whole || to.size() != 4) return false;
    for (size_t axis = 0; axis < 4; ++axis)
      if (!equal(whole->dims[axis], to[axis])) return false;
    instead_[op.results[0].id] = whole->value;
    changed_ = true;
    return true;
  }

  // The operation on what its operands join.
  std::optional<Apart> fourAxesOf(const Op& op) {
    if (op.results.size() != 1) return std::nullopt;
    Op four = op;
    std::optional<Shape> dims;
    if (op.def == &ops::matmulOp) {
      const Apart *a = apart(op.operands[0]), *b = apart(op.operands[1]);
      if (!a || !b || !equal(a->dims[0], b->dims[0]) || !equal(a->dims[1], b->dims[1])) return std::nullopt;
      const Shape joined = dimsOf(op.results[0].id);
      dims = Shape{a->dims[0], a->dims[1], joined[1], joined[2]};
      four.operands = {a->value, b->value};
    } else if (const Apart* x = op.operands.empty() ? nullptr : apart(op.operands[0])) {
      dims = x->dims;
      four.operands[0] = x->value;
      const int64_t axis = op.attributes.integer("axis", -1);
      if (op.def == &ops::transposeOp && op.attributes.integers("perm") == std::vector<int64_t>{0, 2, 1}) {
        four.attributes = {{"perm", std::vector<int64_t>{0, 1, 3, 2}}};
        std::swap((*dims)[2], (*dims)[3]);
      } else if (op.def == &ops::softmaxOp && (axis == -1 || axis == 2)) {
        four.attributes.set("axis", int64_t{-1});
      } else if ((op.def != &ops::mulOp && op.def != &ops::divOp) || !isNumber(op.operands[1])) {
        return std::nullopt;
      }
    }
    if (!dims) return std::nullopt;
    const ValueId made = ir_.newValue();
    four.results = {{made, Type()}};
    ops_.push_back(ir_.own(std::move(four)));
    return Apart{made, *dims};
  }
  bool isNumber(ValueId v) const {
    const auto type = types_.find(v);
    return type != types_.end() && type->second && type->second.isTensor() && type->second.rank() == 0;
  }

  // The result of `op` from what it is joined from.
  void rejoin(const Op& op, const Apart& from) {
    Op shape;
    shape.def = &ops::dims_valueOp;
    shape.place = op.place;
    shape.attributes = {{"value", dimsOf(op.results[0].id)}};
    shape.results = {{ir_.newValue(), Type()}};
    Op joined;
    joined.def = &ops::reshapeOp;
    joined.place = op.place;
    joined.operands = {from.value, shape.results[0].id};
    joined.attributes = {{"allowzero", int64_t{1}}};
    joined.results = op.results;
    ops_.push_back(ir_.own(std::move(shape)));
    ops_.push_back(ir_.own(std::move(joined)));
    apart_[op.results[0].id] = from;
  }

  const Module& module_;
  IrContext& ir_;
  std::vector<const Op*> ops_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, Apart> apart_;      // by the joined value
  std::unordered_map<ValueId, ValueId> instead_;  // values that are read in place of others
  bool changed_ = false;
};

}  // namespace

Module withHeadsApart(const Module& module) {
  const Function* changed = HeadsApart(module).run();
  if (!changed) return module;
  Module result = module;
  for (const Function*& function : result.functions)
    if (function == module.main()) function = changed;
  return result;
}

}  // namespace dyn::passes
