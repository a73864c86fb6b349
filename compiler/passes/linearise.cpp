// Loops over the nodes of trees and of graphs without cycles, computed a level at a time.
//   needs: types.  establishes: nothing that others rely on.
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
// node_loop.h says which loops these are. The indices are looked at when the program runs: `levels` gives
// each node the height above those whose rows it reads, in one walk over them. Where an index points forward,
// or two turns write one row, it makes a level of each turn, in their order: then the loop is what it was. A
// cycle among nodes is such a case, as some node of it reads a row that is written later.
// What depends on the number of the turn alone, and holds a product, is one product of all turns before the
// loop. A result differs from that of the loop by the order in which its products are summed.
// Cost in IR size: the body once more, and about twenty operations.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/batched_turns.h"
#include "compiler/passes/node_loop.h"

namespace dyn::passes {

namespace {

using Types = std::unordered_map<ValueId, Type>;

class Lineariser {
 public:
  Lineariser(const InferredModule& inferred, const Types& types, const NodeLoop& loop)
      : ir_(*inferred.module.context),
        types_(types),
        loop_(loop),
        body_(*loop.body),
        turns_(ir_.newValue()),
        nodes_(ir_.newValue()),
        before_(inferred, types, turns_),
        level_(inferred, types, nodes_) {}

  // The operations in place of the loop go to `ops`; results of it that are other values now, to `replaced`.
  // "" or why not.
  std::string run(std::vector<const Op*>& ops, ValueMap& replaced) {
    choose();
    if (std::string why = emitBefore(); !why.empty()) return why;
    if (std::string why = emitLevel(); !why.empty()) return why;
    finish(replaced);
    ops.insert(ops.end(), before_.ops().begin(), before_.ops().end());
    return "";
  }

  int64_t hoisted() const { return static_cast<int64_t>(hoisted_.size()); }

 private:
  TurnDependence dependenceOf(ValueId v) const { return loop_.dependence.at(v); }
  size_t carried() const { return static_cast<size_t>(loop_.loop->attributes.integer("carried")); }
  size_t scans() const { return body_.results.size() - 1 - carried(); }
  ValueId scan(size_t k) const { return body_.results[1 + carried() + k]; }
  const Op* maker(ValueId v) const {
    const auto found = loop_.makers.find(v);
    return found == loop_.makers.end() ? nullptr : found->second;
  }

  // --- what is computed where

  void choose() {
    std::unordered_set<ValueId> products;  // of the turn alone, and made of a product
    for (const Op* op : body_.ops) {
      const bool product = op->def->cls == OpClass::contraction ||
                           std::any_of(op->operands.begin(), op->operands.end(),
                                       [&](ValueId v) { return products.count(v) != 0; });
      for (const ValueDef& r : op->results)
        if (product && dependenceOf(r.id) == TurnDependence::turn) products.insert(r.id);
    }
    std::vector<ValueId> inLevel, before;
    for (const NodeLoop::State& state : loop_.states) {
      inLevel.push_back(state.write->operands[2]);
      for (const Op* read : state.reads) before.push_back(read->operands[1]);
    }
    inLevel.push_back(loop_.writes());
    before.push_back(loop_.writes());
    for (size_t k = 0; k < scans(); ++k)
      (dependenceOf(scan(k)) == TurnDependence::state ? inLevel : before).push_back(scan(k));
    while (!inLevel.empty()) {
      const ValueId v = inLevel.back();
      inLevel.pop_back();
      const Op* op = v == kNoValue ? nullptr : maker(v);
      if (op && products.count(v)) {
        if (hoistedSet_.insert(v).second) hoisted_.push_back(v);
        before.push_back(v);
      } else if (op && levelOps_.insert(op).second) {
        inLevel.insert(inLevel.end(), op->operands.begin(), op->operands.end());
      }
    }
    std::sort(hoisted_.begin(), hoisted_.end());
    while (!before.empty()) {
      const Op* op = before.back() == kNoValue ? nullptr : maker(before.back());
      before.pop_back();
      if (op && beforeOps_.insert(op).second)
        before.insert(before.end(), op->operands.begin(), op->operands.end());
    }
  }

  std::string named(const Op& op, const std::string& why) const {
    const std::string where = op.place.known() ? " (" + op.place.toString() + ")" : "";
    return std::string(op.def->name) + " %" + ir_.valueName(op.results[0].id) + where + ": " + why;
  }

  // --- before the loop: the order, and what is computed for all turns at once

  std::string emitBefore() {
    const std::vector<ValueId>& operands = loop_.loop->operands;
    BatchedTurns& b = before_;
    b.setPlace(loop_.loop->place);
    ValueId count = operands[0];
    if (types_.at(count).rank() > 0) count = b.make(ops::reshapeOp, {count, b.integers({})});
    b.makeAs(turns_, ops::rangeOp, {b.integer(0), count, b.integer(1)});
    b.bind(body_.parameters[0].id, turns_, true);
    for (size_t i = 1; i < body_.parameters.size(); ++i)
      b.bind(body_.parameters[i].id, operands[i + 1], false);
    for (const Op* op : body_.ops) {
      if (!beforeOps_.count(op)) continue;
      if (std::string why = b.emit(*op); !why.empty()) return named(*op, why);
    }
    b.setPlace(loop_.loop->place);
    const ValueId buffer = operands[2 + loop_.states[0].carried];
    const ValueId rows =
        b.make(ops::gatherOp, {b.make(ops::shapeOp, {buffer}), b.integer(0)}, {{"axis", int64_t{0}}});
    std::vector<ValueId> given{rows, b.make(ops::reshapeOp, {numbers(loop_.writes()), b.integers({-1})})};
    std::vector<ValueId> indices;
    for (const NodeLoop::State& state : loop_.states)
      for (const Op* read : state.reads)
        if (std::find(indices.begin(), indices.end(), read->operands[1]) == indices.end())
          indices.push_back(read->operands[1]);
    for (ValueId index : indices) given.push_back(numbers(index));
    Op levels;
    levels.def = &ops::levelsOp;
    levels.place = loop_.loop->place;
    levels.operands = std::move(given);
    levels.results = {{ir_.newValue("order"), Type()}, {ir_.newValue("starts"), Type()}};
    order_ = levels.results[0].id;
    starts_ = levels.results[1].id;
    b.ops().push_back(ir_.own(std::move(levels)));
    return "";
  }

  // For all turns, as i64.
  ValueId numbers(ValueId ofBody) {
    const ValueId many = before_.manyOf(ofBody);
    if (types_.at(ofBody).dtype() == Dtype::i64) return many;
    return before_.make(ops::castOp, {many}, {{"to", Dtype::i64}});
  }

  // --- a level

  ValueId captured(ValueId outer) {
    const auto [found, fresh] = captures_.try_emplace(outer, kNoValue);
    if (fresh) {
      found->second = ir_.newValue();
      captureOrder_.push_back(outer);
    }
    return found->second;
  }

  // A buffer of the loop, and what a level makes of it.
  struct Carried {
    ValueId initial, inside, after, result;
    Type type;
  };

  std::string emitLevel() {
    const std::vector<ValueId>& operands = loop_.loop->operands;
    BatchedTurns& b = level_;
    b.setPlace(loop_.loop->place);
    number_ = ir_.newValue();
    const ValueId starts = captured(starts_);
    const auto start = [&](ValueId level) {
      return b.make(ops::gatherOp, {starts, level}, {{"axis", int64_t{0}}});
    };
    const ValueId first = start(number_), behind = start(b.make(ops::addOp, {number_, b.integer(1)}));
    const Dim count = ir_.dims().any("the nodes of a level");
    b.effect(ops::bind_dimsOp, {b.make(ops::subOp, {behind, first})},
             {{"dims", Shape{count}}, {"elements", std::vector<int64_t>{0}}});
    b.effect(ops::checkOp, {},
             {{"lhs", Shape{ir_.dims().constant(0)}},
              {"relation", std::string("le")},
              {"rhs", Shape{count}},
              {"what", std::string("a level has nodes")}});
    const ValueId places = b.make(
        ops::rangeOp, {b.integer(0), b.make(ops::dim_valueOp, {}, {{"value", Shape{count}}}), b.integer(1)});
    b.makeAs(nodes_, ops::gatherOp, {captured(order_), b.make(ops::addOp, {places, first})},
             {{"axis", int64_t{0}}});
    b.bind(body_.parameters[0].id, nodes_, true);
    for (const NodeLoop::State& state : loop_.states) {
      states_.push_back({operands[2 + state.carried], ir_.newValue(), kNoValue,
                         loop_.loop->results[state.carried].id, loop_.loop->results[state.carried].type});
      b.bind(state.buffer, states_.back().inside, false);
    }
    for (ValueId v : hoisted_)
      b.bind(v, b.make(ops::gatherOp, {captured(before_.at(v)), nodes_}, {{"axis", int64_t{0}}}), true);
    for (const Op* op : body_.ops) {
      if (!levelOps_.count(op) && op->def != &ops::checkOp) continue;
      for (ValueId v : op->operands) bindCapture(v);
      if (std::string why = b.emit(*op); !why.empty()) return named(*op, why);
    }
    b.setPlace(loop_.loop->place);
    bindCapture(loop_.writes());
    const ValueId rows = b.make(ops::reshapeOp, {b.manyOf(loop_.writes()), b.integers({-1, 1})});
    for (size_t k = 0; k < loop_.states.size(); ++k) {
      const ValueId update = loop_.states[k].write->operands[2];
      bindCapture(update);
      const Shape& dims = types_.at(loop_.states[k].buffer).dims();
      const ValueId written = b.reshaped(b.manyOf(update), Shape(dims.begin() + 1, dims.end()));
      states_[k].after = b.make(ops::scatter_ndOp, {states_[k].inside, rows, written});
    }
    const ValueId turns = b.make(ops::reshapeOp, {nodes_, b.integers({-1, 1})});
    for (size_t k = 0; k < scans(); ++k) {
      if (dependenceOf(scan(k)) != TurnDependence::state) continue;
      const Type type = types_.at(scan(k));
      const ValueId inside = ir_.newValue();
      const ValueDef& result = loop_.loop->results[carried() + k];
      states_.push_back({zeros(type), inside, b.make(ops::scatter_ndOp, {inside, turns, b.manyOf(scan(k))}),
                         result.id, result.type});
    }
    return "";
  }

  ValueId zeros(Type type) {
    HostTensor zero =
        isReal(type.dtype()) ? HostTensor::scalar(type.dtype(), 0) : HostTensor::scalarInt(type.dtype(), 0);
    return before_.expanded(before_.make(ops::constantOp, {}, {{"value", std::move(zero)}}), type.dims());
  }

  // A capture of the old body, where the new one reads it.
  void bindCapture(ValueId v) {
    if (v == kNoValue || level_.isBound(v) || maker(v)) return;
    for (size_t i = 1; i < body_.parameters.size(); ++i)
      if (body_.parameters[i].id == v) level_.bind(v, captured(loop_.loop->operands[i + 1]), false);
  }

  void finish(ValueMap& replaced) {
    const ValueId yes =
        level_.make(ops::constantOp, {}, {{"value", HostTensor::scalarInt(Dtype::boolean, 1)}});
    Function body;
    body.name = ir_.uniqueFunctionName(body_.name + ".level");
    body.place = body_.place;
    body.parameters.push_back({number_, ir_.tensorType(Shape{}, Dtype::i64)});
    body.results.push_back(yes);
    Op loop;
    loop.def = &ops::loopOp;
    loop.place = loop_.loop->place;
    const ValueId count = before_.make(
        ops::subOp, {before_.make(ops::gatherOp, {before_.make(ops::shapeOp, {starts_}), before_.integer(0)},
                                  {{"axis", int64_t{0}}}),
                     before_.integer(1)});
    loop.operands = {count, kNoValue};
    for (const Carried& state : states_) {
      body.parameters.push_back({state.inside, Type()});
      body.results.push_back(state.after);
      loop.operands.push_back(state.initial);
      loop.results.push_back({state.result, state.type});
    }
    for (ValueId v : captureOrder_) {
      body.parameters.push_back({captures_.at(v), Type()});
      loop.operands.push_back(v);
    }
    loop.attributes = {{"carried", static_cast<int64_t>(states_.size())}};
    body.ops = std::move(level_.ops());
    body.resultTypes.resize(body.results.size());
    loop.regions = {ir_.own(std::move(body))};
    before_.ops().push_back(ir_.own(std::move(loop)));
    for (size_t k : loop_.handedOn) replaced[loop_.loop->results[k].id] = loop_.loop->operands[2 + k];
    for (size_t k = 0; k < scans(); ++k)
      if (dependenceOf(scan(k)) != TurnDependence::state)
        replaced[loop_.loop->results[carried() + k].id] = before_.manyOf(scan(k));
  }

  IrContext& ir_;
  const Types& types_;
  const NodeLoop& loop_;
  const Function& body_;
  const ValueId turns_, nodes_;
  BatchedTurns before_, level_;
  std::unordered_set<const Op*> levelOps_, beforeOps_;
  std::unordered_set<ValueId> hoistedSet_;
  std::vector<ValueId> hoisted_;
  std::unordered_map<ValueId, ValueId> captures_;
  std::vector<ValueId> captureOrder_;
  std::vector<Carried> states_;
  ValueId order_ = kNoValue, starts_ = kNoValue, number_ = kNoValue;
};

Types typesOf(const Module& module) {
  Types types;
  for (const FunctionVisit& visit : functionsOf(module)) {
    for (const Parameter& p : visit.function->parameters) types[p.id] = p.type;
    for (const Op* op : visit.function->ops)
      for (const ValueDef& r : op->results) types[r.id] = r.type;
  }
  return types;
}

Result<Module> runLinearise(const Module& module, PassContext& context) {
  bool any = false;
  forEachOp(module, [&](const Function&, const Op& op) { any = any || op.def == &ops::loopOp; });
  if (!any) return module;
  DYN_TRY(InferredModule inferred, inferTypes(module));
  const Types types = typesOf(inferred.module);
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
      std::string why;
      if (op->def == &ops::loopOp) {
        const NodeLoop loop = findNodeLoop(*op, inferred, types, makers);
        why = loop.whyNot;
        if (why.empty()) {
          Lineariser lineariser(inferred, types, loop);
          why = lineariser.run(result.ops, replaced);
          if (why.empty()) {
            changed = true;
            ++loops;
            hoisted += lineariser.hoisted();
            continue;
          }
        }
        if (loop.looksLikeOne)
          context.remarks.push_back("not linearised: loop %" + ir.valueName(op->results[0].id) + ": " + why);
      }
      result.ops.push_back(op);
    }
    if (!changed) return &function;
    return replaceValues(ir, *ir.own(std::move(result)), replaced);
  };
  DYN_TRY(Module changed, rewriteFunctions(inferred.module, change));
  context.counters["linearised_loops"] = loops;
  if (loops == 0) return module;
  Result<InferredModule> typed = inferTypes(changed);
  if (!typed.ok()) {
    context.counters["linearised_loops"] = 0;
    context.remarks.push_back("not linearised: " + typed.error().message);
    return module;
  }
  context.counters["products_before_the_loop"] = hoisted;
  return typed->module;
}

}  // namespace

PassDef linearisePass() {
  return {.name = "linearise",
          .summary = "computes loops over the nodes of trees and graphs a level at a time",
          .needs = Property::types,
          .establishes = {},
          .before = Property::groups,
          .options = {},
          .run = runLinearise,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
