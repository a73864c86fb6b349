#include "compiler/passes/recursion/node_loop.h"

#include <algorithm>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

constexpr int kMostNodeSteps = 64;  // of an index, compared with another

class NodeLoopFinder {
 public:
  NodeLoopFinder(const Op& loop, const InferredModule& inferred,
                 const std::unordered_map<ValueId, Type>& types,
                 const std::unordered_map<ValueId, const Op*>& makers)
      : inferred_(inferred), ir_(*inferred.module.context), types_(types), outer_(makers) {
    found_.loop = &loop;
    found_.body = loop.regions[0];
  }

  NodeLoop run() {
    const std::string why = search();
    found_.whyNot = why;
    return std::move(found_);
  }

 private:
  const Function& body() const { return *found_.body; }
  size_t carried() const { return static_cast<size_t>(found_.loop->attributes.integer("carried")); }
  std::string named(const Op& op) const {
    const std::string where = op.place.known() ? " (" + op.place.toString() + ")" : "";
    return std::string(op.def->name) + (op.results.empty() ? "" : " %" + ir_.valueName(op.results[0].id)) +
           where;
  }
  std::string named(ValueId v) const { return "%" + ir_.valueName(v); }

  std::string search() {
    for (const Op* op : body().ops)
      for (const ValueDef& r : op->results) found_.makers[r.id] = op;
    if (const std::string why = carriedValues(); !why.empty()) return why;
    if (found_.states.empty()) return "it writes no rows";
    if (!isTrue(body().results[0], found_.makers)) return "an iteration may end it";
    const std::vector<ValueId>& operands = found_.loop->operands;
    if (operands[0] == kNoValue) return "its iterations are not counted";
    if (types_.at(operands[0]).dtype() != Dtype::i64) return "its iterations are not counted in i64";
    if (operands[1] != kNoValue && !isTrue(operands[1], outer_)) return "whether it begins is not known";
    if (const std::string why = rows(); !why.empty()) return why;
    for (size_t k = 1 + carried(); k < body().results.size(); ++k)
      if (const Dtype of = types_.at(body().results[k]).dtype(); !isReal(of) && !isInteger(of))
        return "it stacks values that are not numbers";
    for (const Op* op : body().ops)
      if (const std::string why = visit(*op); !why.empty()) return why;
    return writes();
  }

  static bool isTrue(ValueId v, const std::unordered_map<ValueId, const Op*>& makers) {
    const auto maker = makers.find(v);
    if (maker == makers.end() || maker->second->def != &ops::constantOp) return false;
    const HostTensor* value = maker->second->attributes.tensor("value");
    return value && value->elementCount() == 1 && value->intAt(0) != 0;
  }

  // Each carried value is written one row an iteration, or handed on.
  std::string carriedValues() {
    found_.dependence[body().parameters[0].id] = IterationDependence::iteration;
    for (size_t i = 1; i < body().parameters.size(); ++i)
      found_.dependence[body().parameters[i].id] = IterationDependence::none;
    std::string why;
    for (size_t k = 0; k < carried(); ++k) {
      const ValueId parameter = body().parameters[1 + k].id, result = body().results[1 + k];
      if (parameter == result) {
        found_.handedOn.push_back(k);
        continue;
      }
      const auto maker = found_.makers.find(result);
      const Op* write = maker == found_.makers.end() ? nullptr : maker->second;
      if (!write || write->def != &ops::scatter_ndOp || write->operands[0] != parameter) {
        if (why.empty())
          why = "its carried value " + named(parameter) + " is not a buffer that a row is written of";
        continue;
      }
      found_.looksLikeOne = true;
      found_.states.push_back({k, parameter, write, {}});
      found_.dependence[parameter] = IterationDependence::state;
    }
    return why;
  }

  // All buffers have as many rows, and a write is of one of them.
  std::string rows() {
    const auto rowsOf = [&](const NodeLoop::State& state) {
      return types_.at(found_.loop->operands[2 + state.carried]).dims()[0];
    };
    for (const NodeLoop::State& state : found_.states) {
      const Op& write = *state.write;
      if (write.attributes.string("reduction", "none") != "none")
        return named(write) + " adds to what stands there";
      const Type indices = types_.at(write.operands[1]);
      for (Dim d : indices.dims())
        if (!d.isConstant(1)) return named(write) + " does not write one row";
      if (ir_.facts().equal(rowsOf(state), rowsOf(found_.states[0])) != Answer::yes)
        return "its buffers " + named(state.buffer) + " and " + named(found_.states[0].buffer) +
               " are not known to have as many rows";
    }
    return "";
  }

  NodeLoop::State* stateOf(ValueId buffer) {
    for (NodeLoop::State& state : found_.states)
      if (state.buffer == buffer) return &state;
    return nullptr;
  }

  std::string visit(const Op& op) {
    if (op.def->traits.readsShape) {
      for (const ValueDef& r : op.results) found_.dependence[r.id] = IterationDependence::none;
      return "";
    }
    IterationDependence most = IterationDependence::none;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] == kNoValue) continue;
      const IterationDependence of = found_.dependence.at(op.operands[i]);
      most = std::max(most, of);
      NodeLoop::State* state = stateOf(op.operands[i]);
      if (!state || (state->write == &op && i == 0)) continue;
      const int rank = types_.at(state->buffer).rank();
      const int64_t axis = op.attributes.integer("axis", 0);
      if (op.def != &ops::gatherOp || i != 0 || (axis != 0 && axis != -rank))
        return named(op) + " reads more of " + named(state->buffer) + " than rows";
      if (found_.dependence.at(op.operands[1]) == IterationDependence::state)
        return named(op) + " reads a row that other rows decide";
      state->reads.push_back(&op);
    }
    for (const NodeLoop::State& state : found_.states)
      for (ValueId v : op.operands)
        if (v == state.write->results[0].id) return named(op) + " reads a buffer that is written already";
    if (!op.regions.empty()) return named(op) + " is control flow";
    if (op.def->hasEffects && (!op.operands.empty() || op.def != &ops::checkOp))
      return named(op) + " has effects";
    for (const ValueDef& r : op.results) found_.dependence[r.id] = most;
    return "";
  }

  std::string writes() {
    for (const NodeLoop::State& state : found_.states) {
      if (found_.dependence.at(state.write->operands[1]) != IterationDependence::iteration)
        return named(*state.write) + " writes a row that the number of the iteration does not decide";
      if (!same(state.write->operands[1], found_.writes()))
        return named(*state.write) + " and " + named(*found_.states[0].write) +
               " are not known to write one row";
      for (size_t k = 0; k < body().results.size(); ++k)
        if (k != 1 + state.carried && body().results[k] == state.write->results[0].id)
          return named(*state.write) + " is a result twice";
      for (size_t k = 0; k < body().results.size(); ++k)
        if (body().results[k] == state.buffer) return named(state.buffer) + " is a result";
    }
    return "";
  }

  // Computed alike.
  bool same(ValueId a, ValueId b) const {
    std::vector<std::pair<ValueId, ValueId>> pending{{a, b}};
    for (int step = 0; !pending.empty(); ++step) {
      const auto [x, y] = pending.back();
      pending.pop_back();
      if (x == y) continue;
      const auto u = found_.makers.find(x), v = found_.makers.find(y);
      if (step == kMostNodeSteps || u == found_.makers.end() || v == found_.makers.end()) return false;
      const Op &p = *u->second, &q = *v->second;
      if (p.def != q.def || p.results.size() != 1 || p.operands.size() != q.operands.size() ||
          p.def->hasEffects || !(p.attributes == q.attributes))
        return false;
      for (size_t i = 0; i < p.operands.size(); ++i) pending.emplace_back(p.operands[i], q.operands[i]);
    }
    return true;
  }

  const InferredModule& inferred_;
  IrContext& ir_;
  const std::unordered_map<ValueId, Type>& types_;
  const std::unordered_map<ValueId, const Op*>& outer_;
  NodeLoop found_;
};

}  // namespace

NodeLoop findNodeLoop(const Op& loop, const InferredModule& inferred,
                      const std::unordered_map<ValueId, Type>& types,
                      const std::unordered_map<ValueId, const Op*>& makers) {
  return NodeLoopFinder(loop, inferred, types, makers).run();
}

}  // namespace dyn::passes
