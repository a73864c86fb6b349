#include "compiler/passes/recursion/loop_levels.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/op_table.h"
#include "compiler/passes/recursion/iteration_plan.h"
#include "compiler/passes/recursion/level_places.h"
#include "compiler/passes/rewrite/loop_captures.h"

namespace dyn::passes {

namespace {

using LevelTypes = std::unordered_map<ValueId, Type>;

class LevelBatcher {
 public:
  LevelBatcher(const InferredModule& inferred, const LevelTypes& types, const NodeLoop& loop)
      : ir_(*inferred.module.context),
        types_(types),
        contents_(inferred.contents),
        loop_(loop),
        body_(*loop.body),
        iterations_(ir_.newValue()),
        nodes_(ir_.newValue()),
        before_(inferred, types, iterations_),
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

  int64_t hoisted() const { return static_cast<int64_t>(plan_.hoisted.size()); }

 private:
  IterationDependence dependenceOf(ValueId v) const { return loop_.dependence.at(v); }
  size_t carried() const { return static_cast<size_t>(loop_.loop->attributes.integer("carried")); }
  size_t scans() const { return body_.results.size() - 1 - carried(); }
  ValueId scan(size_t k) const { return body_.results[1 + carried() + k]; }
  const Op* maker(ValueId v) const {
    const auto found = loop_.makers.find(v);
    return found == loop_.makers.end() ? nullptr : found->second;
  }

  // --- what is computed where

  void choose() {
    std::vector<ValueId> level, before;
    std::unordered_set<ValueId> given;
    for (const NodeLoop::State& state : loop_.states) {
      level.push_back(state.write->operands[2]);
      for (const Op* read : state.reads) {
        const ValueId index = read->operands[1];
        before.push_back(index);
        if (dependenceOf(index) == IterationDependence::iteration && maker(index) &&
            given.insert(index).second)
          indices_.push_back(index);
      }
    }
    before.push_back(loop_.writes());
    for (size_t k = 0; k < scans(); ++k)
      (dependenceOf(scan(k)) == IterationDependence::state ? level : before).push_back(scan(k));
    plan_ = planIterations(body_.ops, loop_.dependence, std::move(level), std::move(before), given);
  }

  std::string named(const Op& op, const std::string& why) const {
    const std::string where = op.place.known() ? " (" + op.place.toString() + ")" : "";
    return std::string(op.def->name) + " %" + ir_.valueName(op.results[0].id) + where + ": " + why;
  }

  // --- before the loop: the order, and what is computed for all iterations at once

  // As a value; it is the dim `rows_` as well, which all tables have.
  ValueId countOfIterations() {
    const ValueId given = loop_.loop->operands[0];
    const auto known = contents_.find(given);
    if (known != contents_.end() && known->second.size() == 1 && known->second[0]) {
      rows_ = known->second[0];
      return types_.at(given).rank() > 0 ? before_.make(ops::reshapeOp, {given, before_.integers({})})
                                         : given;
    }
    const ValueId count = before_.make(ops::maxOp, {given, before_.integer(0)});
    rows_ = numberOfIterations(ir_, before_, count);
    return before_.make(ops::dim_valueOp, {}, {{"value", Shape{rows_}}});
  }

  std::string emitBefore() {
    const std::vector<ValueId>& operands = loop_.loop->operands;
    BatchedIterations& b = before_;
    b.setPlace(loop_.loop->place);
    b.makeAs(iterations_, ops::rangeOp, {b.integer(0), countOfIterations(), b.integer(1)});
    b.bind(body_.parameters[0].id, iterations_, true);
    for (size_t i = 1; i < body_.parameters.size(); ++i)
      b.bind(body_.parameters[i].id, operands[i + 1], false);
    for (const Op* op : body_.ops) {
      if (!plan_.before.count(op)) continue;
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
    order_ = ir_.newValue("order");
    starts_ = ir_.newValue("starts");
    levels.results.push_back({order_, Type()});
    levels.results.push_back({starts_, Type()});
    const ValueId writes = levels.operands[1];
    b.ops().push_back(ir_.own(std::move(levels)));
    counts_ = countsOfLevels(b, starts_);
    writes_ = b.make(ops::reshapeOp, {inOrder(writes), b.integers({-1, 1})});
    for (ValueId index : indices_) indexTables_.push_back(inOrder(b.manyOf(index)));
    return "";
  }

  // Of all iterations, in the order of the levels: then a level's are side by side.
  ValueId inOrder(ValueId ofIterations) {
    return before_.make(ops::gatherOp, {ofIterations, order_}, {{"axis", int64_t{0}}});
  }

  // For all iterations, as i64.
  ValueId numbers(ValueId ofBody) {
    const ValueId many = before_.manyOf(ofBody);
    if (types_.at(ofBody).dtype() == Dtype::i64) return many;
    return before_.make(ops::castOp, {many}, {{"to", Dtype::i64}});
  }

  // --- a level

  // Does a level need the numbers of its nodes? What is read and written where, tables say.
  bool readsNodes() const {
    const ValueId number = body_.parameters[0].id;
    const auto isNumber = [&](ValueId v) { return v == number; };
    if (!plan_.hoisted.empty()) return true;
    for (size_t k = 0; k < scans(); ++k)
      if (dependenceOf(scan(k)) == IterationDependence::state) return true;
    for (const NodeLoop::State& state : loop_.states)
      if (isNumber(state.write->operands[2])) return true;
    return std::any_of(plan_.level.begin(), plan_.level.end(), [&](const Op* op) {
      return std::any_of(op->operands.begin(), op->operands.end(), isNumber);
    });
  }

  // A buffer of the loop, and what a level makes of it.
  struct Carried {
    ValueId initial, inside, after, result;
    Type type;
  };

  std::string emitLevel() {
    const std::vector<ValueId>& operands = loop_.loop->operands;
    BatchedIterations& b = level_;
    b.setPlace(loop_.loop->place);
    number_ = ir_.newValue();
    const LevelPart part =
        partOfLevel(ir_, b, {captures_.of(starts_), captures_.of(counts_)}, number_, rows_);
    b.setCount(part.count);
    if (readsNodes()) {
      b.makeAs(nodes_, ops::reshapeOp, {rowsOfLevel(b, captures_.of(order_), part), b.integers({-1})});
      b.bind(body_.parameters[0].id, nodes_, true);
    }
    for (size_t i = 0; i < indices_.size(); ++i)
      b.bind(indices_[i], rowsOfLevel(b, captures_.of(indexTables_[i]), part), true);
    for (const NodeLoop::State& state : loop_.states) {
      states_.push_back({operands[2 + state.carried], ir_.newValue(), kNoValue,
                         loop_.loop->results[state.carried].id, loop_.loop->results[state.carried].type});
      b.bind(state.buffer, states_.back().inside, false);
    }
    for (ValueId v : plan_.hoisted)
      b.bind(v, b.make(ops::gatherOp, {captures_.of(before_.at(v)), nodes_}, {{"axis", int64_t{0}}}), true);
    for (const Op* op : body_.ops) {
      if (!plan_.level.count(op) && op->def != &ops::checkOp) continue;
      for (ValueId v : op->operands) bindCapture(v);
      if (std::string why = b.emit(*op); !why.empty()) return named(*op, why);
    }
    b.setPlace(loop_.loop->place);
    const ValueId rows = rowsOfLevel(b, captures_.of(writes_), part);
    for (size_t k = 0; k < loop_.states.size(); ++k) {
      const ValueId update = loop_.states[k].write->operands[2];
      bindCapture(update);
      const Shape& dims = types_.at(loop_.states[k].buffer).dims();
      const ValueId written = b.reshaped(b.manyOf(update), Shape(dims.begin() + 1, dims.end()));
      states_[k].after = b.make(ops::scatter_ndOp, {states_[k].inside, rows, written});
    }
    for (size_t k = 0; k < scans(); ++k) {
      if (dependenceOf(scan(k)) != IterationDependence::state) continue;
      const ValueId iterations = b.make(ops::reshapeOp, {nodes_, b.integers({-1, 1})});
      const Type type = types_.at(scan(k));
      const ValueId inside = ir_.newValue();
      const ValueDef& result = loop_.loop->results[carried() + k];
      states_.push_back({zeros(type), inside,
                         b.make(ops::scatter_ndOp, {inside, iterations, b.manyOf(scan(k))}), result.id,
                         result.type});
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
      if (body_.parameters[i].id == v) level_.bind(v, captures_.of(loop_.loop->operands[i + 1]), false);
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
    captures_.addTo(body, loop);
    loop.attributes = {{"carried", static_cast<int64_t>(states_.size())}};
    body.ops = std::move(level_.ops());
    body.resultTypes.resize(body.results.size());
    loop.regions = {ir_.own(std::move(body))};
    before_.ops().push_back(ir_.own(std::move(loop)));
    for (size_t k : loop_.handedOn) replaced[loop_.loop->results[k].id] = loop_.loop->operands[2 + k];
    for (size_t k = 0; k < scans(); ++k)
      if (dependenceOf(scan(k)) != IterationDependence::state)
        replaced[loop_.loop->results[carried() + k].id] = before_.manyOf(scan(k));
  }

  IrContext& ir_;
  const LevelTypes& types_;
  const decltype(InferredModule::contents)& contents_;
  const NodeLoop& loop_;
  const Function& body_;
  const ValueId iterations_, nodes_;
  BatchedIterations before_, level_;
  IterationPlan plan_;
  LoopCaptures captures_{ir_};
  std::vector<Carried> states_;
  ValueId order_ = kNoValue, starts_ = kNoValue, counts_ = kNoValue, number_ = kNoValue, writes_ = kNoValue;
  std::vector<ValueId> indices_, indexTables_;  // of rows that are read; and these in the order of the levels
  Dim rows_;
};

}  // namespace

LoopLevels levelsOf(const NodeLoop& loop, const InferredModule& inferred, const LevelTypes& types) {
  LevelBatcher batcher(inferred, types, loop);
  LoopLevels levels;
  levels.whyNot = batcher.run(levels.ops, levels.replaced);
  levels.hoisted = batcher.hoisted();
  return levels;
}

}  // namespace dyn::passes
