#include "compiler/passes/padding/split_heads.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/changed_main.h"

namespace dyn::passes {

namespace {

class HeadsApart {
 public:
  explicit HeadsApart(const Module& module) : module_(module), ir_(*module.context) {
    for (const Parameter& p : module.main()->parameters) {
      types_[p.id] = p.type;
      for (SymbolId s : symbolsOf(p.type)) given_.insert(s);
    }
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
    ValueId value = kNoValue;  // with an axis more
    Shape dims;
    size_t axis = 0;  // which of it is joined with the one behind
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
    if (std::optional<Apart> result = countsFromLeft(copy) ? std::nullopt : apartOf(copy)) {
      rejoin(op, *result);
      return;
    }
    ops_.push_back(other ? ir_.own(std::move(copy)) : &op);
  }

  // Is it dealt with? Of a joining one what it joins is noted.
  bool reshaped(const Op& op) {
    const Shape from = dimsOf(op.operands[0]), to = dimsOf(op.results[0].id);
    if (from.size() == to.size() + 1 && to.size() >= 2 && to.size() <= 3)
      for (size_t axis = 0; axis + 1 < to.size(); ++axis)
        if (joins(from, to, axis)) {
          apart_[op.results[0].id] = {op.operands[0], from, axis};
          return false;
        }
    const Apart* whole = apart(op.operands[0]);
    if (whole && from.size() == 3 && to.size() == 2 &&
        isGiven(to)) {  // what is joined already, and other axes
      const Apart all = *whole;
      if (!split(op, all.value, all.dims, to)) return false;
      reshape(op, apart(op.results[0].id)->value, to, op.results[0]);
      return changed_ = true;
    }
    if (whole && to.size() > whole->dims.size() &&
        isGiven(to)) {  // in the same order: of what is joined as well
      const ValueId v = whole->value;
      reshape(op, v, to, op.results[0]);
      return changed_ = true;
    }
    if (!whole || to.size() != whole->dims.size()) {
      split(op, op.operands[0], from, to);
      return false;
    }
    for (size_t axis = 0; axis < to.size(); ++axis)
      if (!equal(whole->dims[axis], to[axis])) return false;
    instead_[op.results[0].id] = whole->value;
    changed_ = true;
    return true;
  }

  // Does it follow from the sizes of the inputs? Other sizes are made known by the operation itself.
  bool isGiven(const Shape& dims) const {
    return std::all_of(dims.begin(), dims.end(), [&](Dim d) {
      const std::vector<SymbolId> symbols = symbolsOf(d);
      return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return given_.count(s) != 0; });
    });
  }

  // What joins an axis with a part of the one behind, or two axes, and all behind them: both steps apart. Is
  // it that?
  //   [s, b, h * d] -> [s, b, h, d] -> [s, b * h, d]        [s, b, h, d] -> [s, b, h * d] -> [s * b, h * d]
  bool split(const Op& op, ValueId v, const Shape& from, const Shape& to) {
    Shape between;
    size_t axis = 0;
    if (from.size() == 3 && to.size() == 3 && from[2].isConstant() && to[2].isConstant() &&
        *to[2].constant() > 0 && *from[2].constant() % *to[2].constant() == 0) {
      between = Shape{from[0], from[1], ir_.dims().constant(*from[2].constant() / *to[2].constant()), to[2]};
      axis = 1;
    } else if (from.size() > 3 && to.size() == 2) {
      between = Shape{from[0], from[1], to[1]};
    }
    if (between.empty() || !joins(between, to, axis) ||
        !equal(elementCount(ir_.dims(), from), elementCount(ir_.dims(), between)))
      return false;
    apart_[op.results[0].id] = {reshape(op, v, between), between, axis};
    return true;
  }

  // Operators that do not broadcast have one number for each of an axis from the left: channels.
  bool countsFromLeft(const Op& op) const {
    if (op.def->cls != OpClass::elementwise || !op.def->traits.keepsRank) return false;
    return std::any_of(op.operands.begin() + 1, op.operands.end(),
                       [&](ValueId v) { return v != kNoValue && !dimsOf(v).empty(); });
  }

  // All axes but these two stay what they are; axes of one element are not worth it.
  bool joins(const Shape& from, const Shape& to, size_t axis) const {
    if (from[axis].isConstant(1) || from[axis + 1].isConstant(1)) return false;
    for (size_t k = 0; k < to.size(); ++k)
      if (!equal(to[k], k == axis ? from[k] * from[k + 1] : from[k < axis ? k : k + 1])) return false;
    return true;
  }

  // The operation on what its operands join.
  std::optional<Apart> apartOf(const Op& op) {
    if (op.results.size() != 1 || op.operands.empty()) return std::nullopt;
    Op other = op;
    std::optional<Apart> result;
    const auto last = static_cast<int64_t>(dimsOf(op.results[0].id).size()) - 1;
    const int64_t axis = op.attributes.integer("axis", -1);
    if (op.def == &ops::matmulOp) {
      result = product(other);
    } else if (op.def->cls == OpClass::elementwise) {
      result = elementwise(other);
    } else if (const Apart* x = apart(op.operands[0])) {
      result = *x;
      other.operands[0] = x->value;
      if (op.def == &ops::transposeOp) {
        if (!turn(*result, other)) return std::nullopt;
      } else if (op.def == &ops::softmaxOp && (axis == -1 || axis == last)) {
        other.attributes.set("axis", int64_t{-1});
      } else {
        return std::nullopt;
      }
    }
    if (!result) return std::nullopt;
    result->value = ir_.newValue();
    types_[result->value] = ir_.tensorType(result->dims, op.results[0].type.dtype());
    other.results = {{result->value, Type()}};
    ops_.push_back(ir_.own(std::move(other)));
    return result;
  }

  // Of values that join the same axes, and of others that are taken apart for it or do not reach these axes.
  std::optional<Apart> elementwise(Op& op) {
    const auto guide =
        std::find_if(op.operands.begin(), op.operands.end(), [&](ValueId v) { return apart(v) != nullptr; });
    if (guide == op.operands.end()) return std::nullopt;
    Apart result = *apart(*guide);
    const size_t axis = result.axis;
    const Dim outer = result.dims[axis], inner = result.dims[axis + 1];
    const Shape joined = dimsOf(op.results[0].id);
    if (joined.size() + 1 != result.dims.size() || !equal(joined[axis], outer * inner)) return std::nullopt;
    const auto split = [&](const Shape& dims, size_t at) {
      const bool one = dims[at].isConstant(1);
      Shape to = dims;
      to[at] = one ? dims[at] : outer;
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(at) + 1, one ? dims[at] : inner);
      return to;
    };
    std::vector<Shape> shapes;  // of operands that are taken apart; empty: as it is
    for (ValueId v : op.operands) {
      const Apart* x = apart(v);
      const auto type = types_.find(v);
      if (!x && (type == types_.end() || !type->second || !type->second.isTensor())) return std::nullopt;
      const Shape dims = dimsOf(v);
      shapes.emplace_back();
      if (x && x->axis == axis && x->dims.size() == result.dims.size() && equal(x->dims[axis], outer))
        continue;
      if (dims.size() + axis < joined.size()) continue;  // along the axes behind
      const size_t at = dims.size() + axis - joined.size();
      if (!dims[at].isConstant(1) && !equal(dims[at], joined[axis])) return std::nullopt;
      shapes.back() = split(dims, at);
    }
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (ValueId& v = op.operands[i]; !shapes[i].empty())
        v = reshape(op, v, shapes[i]);
      else if (const Apart* x = apart(v))
        v = x->value;
    result.dims = split(joined, axis);
    return result;
  }

  // Of two that join the same first axes, or of one with a matrix.
  std::optional<Apart> product(Op& op) const {
    const Apart *a = apart(op.operands[0]), *b = apart(op.operands[1]);
    if (!a || op.attributes.integer("transpose_a", 0) != 0) return std::nullopt;
    const Shape joined = dimsOf(op.results[0].id), right = dimsOf(op.operands[1]);
    Apart result = *a;
    op.operands[0] = a->value;
    if (!b && right.size() == 2) {
      result.dims.back() = joined.back();
      return result;
    }
    if (!b || a->axis != 0 || b->axis != 0 || a->dims.size() != 4 || b->dims.size() != 4 ||
        !equal(a->dims[0], b->dims[0]) || !equal(a->dims[1], b->dims[1]))
      return std::nullopt;
    op.operands[1] = b->value;
    result.dims = Shape{a->dims[0], a->dims[1], joined[1], joined[2]};
    return result;
  }

  // A transpose with the two joined axes side by side, and not the last.
  static bool turn(Apart& of, Op& op) {
    std::vector<int64_t> order;
    const Shape before = of.dims;
    size_t axis = of.axis;
    for (int64_t from : op.attributes.integers("perm")) {
      const auto k = static_cast<size_t>(from);
      if (k == of.axis) axis = order.size();
      order.push_back(static_cast<int64_t>(k <= of.axis ? k : k + 1));
      if (k == of.axis) order.push_back(static_cast<int64_t>(k + 1));
    }
    for (size_t k = 0; k < order.size(); ++k) of.dims[k] = before[static_cast<size_t>(order[k])];
    of.axis = axis;
    op.attributes = {{"perm", order}};
    return axis + 2 < order.size();
  }

  // The result of `op` from what it is joined from.
  void rejoin(const Op& op, const Apart& from) {
    reshape(op, from.value, dimsOf(op.results[0].id), op.results[0]);
    apart_[op.results[0].id] = from;
  }

  ValueId reshape(const Op& op, ValueId v, const Shape& to) {
    const ValueDef result{ir_.newValue(), Type()};
    types_[result.id] = ir_.tensorType(to, op.results[0].type.dtype());
    reshape(op, v, to, result);
    return result.id;
  }
  void reshape(const Op& op, ValueId v, const Shape& to, const ValueDef& result) {
    Op shape;
    shape.def = &ops::dims_valueOp;
    shape.place = op.place;
    shape.attributes = {{"value", to}};
    shape.results = {{ir_.newValue(), Type()}};
    Op joined;
    joined.def = &ops::reshapeOp;
    joined.place = op.place;
    joined.operands = {v, shape.results[0].id};
    joined.attributes = {{"allowzero", int64_t{1}}};
    joined.results = {result};
    ops_.push_back(ir_.own(std::move(shape)));
    ops_.push_back(ir_.own(std::move(joined)));
  }

  const Module& module_;
  IrContext& ir_;
  std::vector<const Op*> ops_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_set<SymbolId> given_;            // sizes of the inputs
  std::unordered_map<ValueId, Apart> apart_;      // by the joined value
  std::unordered_map<ValueId, ValueId> instead_;  // values that are read in place of others
  bool changed_ = false;
};

}  // namespace

Module withHeadsApart(const Module& module) { return replacedMain(module, HeadsApart(module).run()); }

}  // namespace dyn::passes
