// Caches that grow: what joins an input with rows behind it becomes an append, which writes only the rows
// where the caller hands a growing tensor on.
//   requires: groups.  provides: nothing that others rely on.
//   before  %present = fused(%x, %past) {kind = "loop"} body { ... %new = add(...)  %y = concat(%past, %new) {axis = 2} }
//           %z = fused(%q, %present, ...) {kind = "attention"} ...      return %z, %present
//   after   %new = fused(%x) {kind = "loop"} body { ... %new = add(...) }
//           %present = append(%past, %new) {axis = 2}
//           %z = fused(%q, %present, ...) {kind = "attention"} ...      return %z, %present
// Rows that are only moved (transposed, cut) are read where they lie: the append moves them once.
// The same where a cache is padded and each batch has its rows at a place of its own, as GroupQueryAttention
// of onnxruntime says it: the append looks at the places, and writes in place where all lie behind the cache.
//   before  ... %room = pad(%past, (0, t - p), _, 2)  %y = tensor_scatter(%room, %new, %places) {axis = 2} }
//   after   %present = append(%past, %new, %places) {axis = 2, size = dims(t)}
// Only where the input has no other use, and its successor none but being a result and a factor of attention:
// these know tensors with room. In @main, and in the branches of an `if` there that take an input and return
// what becomes an output, as decoders of one file for the first step and the others have it. Cost: one sweep.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/view_places.h"

namespace dyn::passes {

namespace {

// What is joined: the past and its rows, in the words of the function that the operation stands in.
struct Join {
  const Op* op = nullptr;
  ValueId past = kNoValue, rows = kNoValue;
  // Of a cache that is padded first.
  const Op* pad = nullptr;
  ValueId places = kNoValue;
  int64_t axis = 0;

  const ValueDef& result() const { return op->results[0]; }
  bool isPart(const Op* other) const { return other == op || (pad && other == pad); }
};

bool isGroup(const Op& op, KernelKind kind) { return op.def == &ops::fusedOp && kernelKindOf(op) == kind; }

// What of a function comes from the caller of the program, for it alone, and goes back to him.
struct HandedOn {
  std::unordered_set<ValueId> inputs, results;
};

// Of @main, and of the branches of an `if` there that pass them on. By names of functions.
std::unordered_map<std::string, HandedOn> handedOnIn(const Module& module) {
  std::unordered_map<std::string, HandedOn> all;
  std::unordered_map<std::string, std::unordered_map<ValueId, size_t>> usesIn;  // results of it, too
  for (const FunctionVisit& visit : functionsOf(module)) {
    const Function& function = *visit.function;
    HandedOn own;
    if (function.name == "main") {
      for (const Parameter& p : function.parameters) own.inputs.insert(p.id);
      own.results.insert(function.results.begin(), function.results.end());
    } else if (visit.outer && visit.owner->def == &ops::ifOp && all.count(visit.outer->name) != 0) {
      const HandedOn& outer = all.at(visit.outer->name);
      const auto& uses = usesIn.at(visit.outer->name);
      for (size_t k = 0; k < function.parameters.size(); ++k) {
        const ValueId given = visit.owner->operands[k + 1];
        if (outer.inputs.count(given) != 0 && uses.at(given) == 1)
          own.inputs.insert(function.parameters[k].id);
      }
      for (size_t k = 0; k < function.results.size(); ++k) {
        const ValueId made = visit.owner->results[k].id;
        if (outer.results.count(made) != 0 && uses.at(made) == 1) own.results.insert(function.results[k]);
      }
    } else {
      continue;
    }
    auto& uses = usesIn[function.name];
    for (const Op* op : function.ops)
      for (ValueId v : op->operands)
        if (v != kNoValue && op->def != &ops::variantOp) ++uses[v];
    for (ValueId v : function.results) ++uses[v];
    all.emplace(function.name, std::move(own));
  }
  return all;
}

class Append {
 public:
  Append(const Function& function, const HandedOn& handedOn, IrContext& ir, PathFacts& facts)
      : function_(function),
        handedOn_(handedOn),
        ir_(ir),
        facts_(facts),
        places_(ir, facts),
        body_(facts.bodyOf(function)) {
    for (const Op* op : function.ops)
      for (ValueId v : op->operands)
        if (v != kNoValue && op->def != &ops::variantOp) users_[v].push_back(op);
    returned_.insert(function.results.begin(), function.results.end());
  }

  const Function* run() {
    std::vector<const Op*> ops;
    for (size_t i = 0; i < function_.ops.size(); ++i) {
      const Op* op = function_.ops[i];
      places_.note(*op);
      const std::optional<Join> join = joinIn(*op, {body_, i});
      if (!join || !isHandedOn(*op, *join)) {
        ops.push_back(op);
        continue;
      }
      ++count_;
      split(i, *join, ops);
    }
    if (count_ == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops);
    return ir_.own(std::move(result));
  }

  int64_t count() const { return count_; }

 private:
  // The join that makes the result of `op`: the operation itself, or the last of a group.
  std::optional<Join> joinIn(const Op& op, PathFacts::Place here) {
    if (op.def == &ops::concatOp) return joinOf(op, nullptr, here);
    if (!isGroup(op, KernelKind::loop) || op.results.size() != 1) return std::nullopt;
    const Function& body = *op.regions[0];
    for (const Op* inner : body.ops)
      if (!inner->results.empty() && inner->results[0].id == body.results[0])
        return joinOf(*inner, &op, here);
    return std::nullopt;
  }

  // `group`: it stands in the body of this one; null: in the function.
  std::optional<Join> joinOf(const Op& op, const Op* group, PathFacts::Place here) {
    if (op.def == &ops::concatOp && op.operands.size() == 2)
      return Join{&op, op.operands[0], op.operands[1], nullptr, kNoValue, op.attributes.integer("axis")};
    if (op.def != &ops::tensor_scatterOp || !group || op.operands.size() < 3 || op.operands[2] == kNoValue ||
        op.attributes.string("mode", "linear") != "linear" || !op.results[0].type.isTensor())
      return std::nullopt;
    const Function& body = *group->regions[0];
    for (size_t k = 0; k < body.parameters.size(); ++k)
      places_.standsFor(body.parameters[k].id, group->operands[k]);
    int64_t axis = op.attributes.integer("axis", -2);
    if (axis < 0) axis += op.results[0].type.rank();
    for (const Op* pad : body.ops)
      if (!pad->results.empty() && pad->results[0].id == op.operands[0] && padsBehind(*pad, axis, here))
        return Join{&op, pad->operands[0], op.operands[1], pad, op.operands[2], axis};
    return std::nullopt;
  }

  // Is it zeros behind the elements of this axis, and nothing else? A pad by less than nothing cuts.
  bool padsBehind(const Op& op, int64_t axis, PathFacts::Place here) {
    if (op.def != &ops::padOp || op.attributes.string("mode", "constant") != "constant") return false;
    if (op.operands.size() > 2 && op.operands[2] != kNoValue) return false;
    const int64_t rank = op.results[0].type.rank();
    const std::optional<Contents> amounts = places_.contentsOf(op.operands[1]);
    if (!amounts) return false;
    std::vector<int64_t> axes;
    if (op.operands.size() > 3 && op.operands[3] != kNoValue) {
      const std::optional<Contents> given = places_.contentsOf(op.operands[3]);
      if (!given) return false;
      for (Dim each : *given) {
        const std::optional<int64_t> number = each ? each.constant() : std::nullopt;
        if (!number) return false;
        axes.push_back(*number < 0 ? *number + rank : *number);
      }
    } else {
      for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
    }
    if (amounts->size() != 2 * axes.size()) return false;
    for (size_t k = 0; k < amounts->size(); ++k) {
      const Dim amount = (*amounts)[k], zero = ir_.dims().constant(0);
      const bool isBehind = k >= axes.size() && axes[k - axes.size()] == axis;
      if (!amount || (isBehind ? !facts_.lessEqual(zero, amount, here) : amount != zero)) return false;
    }
    return true;
  }

  // The operand of `op` that its join reads as `inner`; kNoValue when it is made inside.
  static ValueId operandOf(const Op& op, const Join& join, ValueId inner) {
    if (&op == join.op) return inner;
    const Function& body = *op.regions[0];
    for (size_t i = 0; i < body.parameters.size(); ++i)
      if (body.parameters[i].id == inner) return op.operands[i];
    return kNoValue;
  }

  bool isHandedOn(const Op& op, const Join& join) const {
    const Type type = join.result().type;
    const ValueId past = operandOf(op, join, join.past), present = op.results[0].id;
    if (!type.isTensor() || type.dtype() != Dtype::f32 || join.past == join.rows) return false;
    if (past == kNoValue || handedOn_.inputs.count(past) == 0 || returned_.count(past) != 0) return false;
    if (join.pad && operandOf(op, join, join.places) == kNoValue) return false;
    if (users_.at(past).size() != 1 || handedOn_.results.count(present) == 0) return false;
    // Inside its group nothing else reads it.
    if (&op != join.op)
      for (const Op* inner : op.regions[0]->ops)
        if (!join.isPart(inner) && (reads(*inner, join.past) || reads(*inner, join.result().id) ||
                                    (join.pad && reads(*inner, join.pad->results[0].id))))
          return false;
    auto users = users_.find(present);
    return users != users_.end() &&
           std::all_of(users->second.begin(), users->second.end(), [&](const Op* user) {
             return isFactorOfAttention(*user, present) || isFactorWithOnes(*user, type);
           });
  }

  // The same tensor with more or fewer axes of one element (keys that groups of heads share), for attention
  // alone.
  bool isFactorWithOnes(const Op& view, Type type) const {
    if (!view.def->traits.view || !view.results[0].type.isTensor()) return false;
    const ValueId result = view.results[0].id;
    const auto users = users_.find(result);
    return withoutOnes(view.results[0].type) == withoutOnes(type) && returned_.count(result) == 0 &&
           users != users_.end() &&
           std::all_of(users->second.begin(), users->second.end(),
                       [&](const Op* user) { return isFactorOfAttention(*user, result); });
  }

  static Shape withoutOnes(Type type) {
    Shape sizes;
    for (Dim d : type.dims())
      if (!d.isConstant(1)) sizes.push_back(d);
    return sizes;
  }

  static bool reads(const Op& op, ValueId value) {
    return std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
  }

  // Is `value` the right matrix of both products, or of one, and nothing else?
  static bool isFactorOfAttention(const Op& op, ValueId value) {
    if (!isGroup(op, KernelKind::attention)) return false;
    const Function& body = *op.regions[0];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] != value) continue;
      for (const Op* inner : body.ops)
        for (size_t k = 0; k < inner->operands.size(); ++k)
          if (inner->operands[k] == body.parameters[i].id &&
              (k != 1 || (inner->def != &ops::matmulOp && inner->def != &ops::matmul_permutedOp)))
            return false;
    }
    return true;
  }

  void split(size_t index, const Join& join, std::vector<const Op*>& ops) {
    const Op& op = *function_.ops[index];
    ValueId rows = operandOf(op, join, join.rows);
    if (rows == kNoValue) {
      rows = ir_.newValue();
      const Op* view = rowsWhereTheyLie(index, join, rows);
      ops.push_back(view ? view : withoutJoin(op, join, rows));
    }
    Op append;
    append.def = &ops::appendOp;
    append.place = join.op->place;
    append.operands = {operandOf(op, join, join.past), rows};
    append.results = op.results;
    append.attributes = {{"axis", join.axis}};
    if (join.pad) {
      append.operands.push_back(operandOf(op, join, join.places));
      append.attributes.set("size", Shape{join.result().type.dims()[static_cast<size_t>(join.axis)]});
    }
    ops.push_back(ir_.own(std::move(append)));
  }

  // Rows that the group only moves are read in the memory of its operand; null: it computes them.
  const Op* rowsWhereTheyLie(size_t index, const Join& join, ValueId result) {
    const Op& group = *function_.ops[index];
    const auto views = places_.viewsIn(*group.regions[0], group.operands, {body_, index});
    const auto view = views.find(join.rows);
    if (view == views.end()) return nullptr;
    const Type type = typeIn(*group.regions[0], join.rows);
    Type base;
    for (size_t k = 0; k < group.operands.size(); ++k)
      if (group.operands[k] == view->second.base) base = group.regions[0]->parameters[k].type;
    if (!sizesAreThere(type, view->second.place, base)) return nullptr;
    Op strided;
    strided.def = &ops::stridedOp;
    strided.place = join.op->place;
    strided.operands = {view->second.base};
    strided.results = {{result, type}};
    strided.attributes = {{"offset", Shape{view->second.place.offset}},
                          {"strides", view->second.place.strides}};
    return ir_.own(std::move(strided));
  }

  static Type typeIn(const Function& body, ValueId value) {
    for (const Op* inner : body.ops)
      for (const ValueDef& r : inner->results)
        if (r.id == value) return r.type;
    return {};
  }

  // The group without the join; its result is what that one put behind the input.
  const Op* withoutJoin(const Op& op, const Join& join, ValueId result) {
    const Function& old = *op.regions[0];
    Function body = old;
    body.name = ir_.uniqueFunctionName("rows");
    body.ops.clear();
    for (const Op* inner : old.ops)
      if (!join.isPart(inner)) body.ops.push_back(inner);
    Op group = op;
    group.operands.clear();
    body.parameters.clear();
    for (size_t i = 0; i < old.parameters.size(); ++i) {
      const ValueId parameter = old.parameters[i].id;
      if (std::none_of(body.ops.begin(), body.ops.end(),
                       [&](const Op* inner) { return reads(*inner, parameter); }))
        continue;
      body.parameters.push_back(old.parameters[i]);
      group.operands.push_back(op.operands[i]);
    }
    const Type type = typeIn(old, join.rows);
    body.results = {join.rows};
    body.resultTypes = {type};
    group.results = {{result, type}};
    group.regions = {ir_.own(std::move(body))};
    return ir_.own(std::move(group));
  }

  const Function& function_;
  const HandedOn& handedOn_;
  IrContext& ir_;
  PathFacts& facts_;
  ViewPlaces places_;
  size_t body_;
  std::unordered_map<ValueId, std::vector<const Op*>> users_;
  std::unordered_set<ValueId> returned_;
  int64_t count_ = 0;
};

Result<Module> runAppend(const Module& module, PassContext& context) {
  PathFacts facts(module);
  const std::unordered_map<std::string, HandedOn> handedOn = handedOnIn(module);
  int64_t count = 0;
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    const auto own = handedOn.find(function.name);
    if (own == handedOn.end()) return &function;
    Append append(function, own->second, *module.context, facts);
    const Function* result = append.run();
    count += append.count();
    return result;
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["appends"] = count;
  return result;
}

}  // namespace

PassDef appendPass() {
  return {.name = "append",
          .summary = "appends to inputs that one run passes to the next, in place where they have room",
          .requiredProperties = Property::groups,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runAppend,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
