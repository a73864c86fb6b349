// What is made of
//
//   fn @f(%t: Tree, %w: ...) -> (Tensor[(8), f32]) { %h = match(%t, %w) case Leaf(...) ... case Node(...) ... }
//
//   fn @f.nodes(%trees: List[Tree], %w: ...) -> (Tensor[(m, 8), f32]) {
//     %roots, %leaves, %x, %nodes, %starts, %a, %b = node_tables(%trees)
//     %h0 = the body of Leaf, of all leaves at once, and room for the other nodes
//     %h = loop(heights, _, %h0, ...) body (%k, %h, ...) {
//       %here = the places of height 1 + %k in the tables of Node
//       %ha = gather(%h, gather(%a, %here))  %hb = ...
//       return true, scatter_nd(%h, gather(%nodes, %here), the body of Node, of all of them at once)
//     }
//     return gather(%h, %roots)
//   }
//   fn @f(%t: Tree, %w: ...) { return gather(@f.nodes(list(%t), %w), 0) }
#include "compiler/passes/recursion/recursion_levels.h"

#include <algorithm>

#include "compiler/ops/index/node_table_ops.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/recursion/iteration_plan.h"
#include "compiler/passes/recursion/level_places.h"

namespace dyn::passes {

namespace {

using RecursionLevelTypes = std::unordered_map<ValueId, Type>;

// Values of the function that a body reads: its captures.
class Captures {
 public:
  explicit Captures(IrContext& ir) : ir_(ir) {}
  ValueId operator()(ValueId outer) {
    const auto [found, fresh] = inside_.try_emplace(outer, kNoValue);
    if (fresh) {
      found->second = ir_.newValue();
      order_.push_back(outer);
    }
    return found->second;
  }
  const std::vector<ValueId>& order() const { return order_; }

 private:
  IrContext& ir_;
  std::unordered_map<ValueId, ValueId> inside_;
  std::vector<ValueId> order_;
};

class Emitter {
 public:
  Emitter(const Recursion& recursion, const InferredModule& inferred, const RecursionLevelTypes& types)
      : ir_(*inferred.module.context),
        recursion_(recursion),
        function_(*recursion.function),
        inferred_(inferred),
        types_(types),
        once_(inferred, types, kNoValue),
        captured_(ir_) {}

  RecursionLevels run() {
    RecursionLevels made;
    made.whyNot = emit();
    if (!made.whyNot.empty()) return made;
    made.forest = finish();
    made.single = single(*made.forest);
    made.hoisted = hoisted_;
    return made;
  }

 private:
  // The tables of one constructor's nodes, and what is computed of all of them before the levels.
  struct Tables {
    ValueId rows = kNoValue, starts = kNoValue, counts = kNoValue;  // of nodes by level
    Dim count;
    std::vector<ValueId> fields;
    IterationPlan plan;
    std::unique_ptr<BatchedIterations> before;
  };
  struct Buffer {
    ValueId initial = kNoValue, inside = kNoValue, after = kNoValue, result = kNoValue;
  };

  std::string named(const Op& op, const std::string& why) const {
    const std::string where = op.place.known() ? " (" + op.place.toString() + ")" : "";
    const std::string name = op.results.empty() ? "" : " %" + ir_.valueName(op.results[0].id);
    return std::string(op.def->name) + name + where + ": " + why;
  }
  size_t results() const { return function_.results.size(); }
  static bool isInner(const Tables& tables) { return tables.starts != kNoValue; }

  void flush(BatchedIterations& iterations) {
    ops_.insert(ops_.end(), iterations.ops().begin(), iterations.ops().end());
    iterations.ops().clear();
  }

  std::string emit() {
    once_.setPlace(function_.place);
    list_ = ir_.newValue(ir_.valueName(function_.parameters[recursion_.argument].id) + "s");
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      const Parameter& p = function_.parameters[i];
      const bool data = i == recursion_.argument;
      parameters_.push_back(
          {data ? list_ : ir_.newValue(ir_.valueName(p.id)), data ? ir_.listType(p.type) : p.type});
      if (!data) once_.bind(p.id, parameters_.back().id, false);
    }
    for (const Op* op : recursion_.shared)
      if (std::string why = once_.emit(*op); !why.empty()) return named(*op, why);
    makeTables();
    flush(once_);
    for (size_t c = 0; c < recursion_.cases.size(); ++c)
      if (std::string why = beforeLevels(c); !why.empty()) return why;
    makeBuffers();
    return emitLevels();
  }

  void makeTables() {
    Op op;
    op.def = &ops::node_tablesOp;
    op.place = function_.place;
    op.operands = {list_};
    op.attributes = {{"type", recursion_.data->name}, {"fields", fieldNumbers(*recursion_.data)}};
    const auto result = [&](const std::string& name) {
      op.results.push_back({ir_.newValue(name), Type()});
      return op.results.back().id;
    };
    roots_ = result("roots");
    for (const Recursion::Case& of : recursion_.cases) {
      Tables tables;
      tables.rows = result(of.constructor->name + "_rows");
      if (hasChildren(*of.constructor, *recursion_.data))
        tables.starts = result(of.constructor->name + "_starts");
      for (ValueId field : of.fields) tables.fields.push_back(result(ir_.valueName(field) + "_of"));
      tables_.push_back(std::move(tables));
    }
    once_.ops().push_back(ir_.own(std::move(op)));
    for (size_t c = 0; c < tables_.size(); ++c)
      if (isInner(tables_[c])) countRows(tables_[c], recursion_.cases[c]);
  }

  // All tables of the constructor have one dim then.
  void countRows(Tables& tables, const Recursion::Case& of) {
    tables.count = numberOfIterations(ir_, once_, once_.make(ops::shapeOp, {tables.rows}));
    const auto counted = [&](ValueId& table, const Shape& behind) {
      Shape dims{tables.count};
      dims.insert(dims.end(), behind.begin(), behind.end());
      table = once_.make(ops::reshapeOp, {table, once_.make(ops::dims_valueOp, {}, {{"value", dims}})},
                         {{"allowzero", int64_t{1}}});
    };
    tables.counts = countsOfLevels(once_, tables.starts);
    counted(tables.rows, {});
    for (size_t i = 0; i < of.fields.size(); ++i) {
      const Type type = types_.at(of.fields[i]);
      counted(tables.fields[i], type.isTensor() ? type.dims() : Shape{});
    }
  }

  // Values of the function's own scope are the same in all iterations.
  void bindShared(const Op& op, BatchedIterations& iterations, bool inside) {
    for (ValueId v : op.operands)
      if (v != kNoValue) bindShared(v, iterations, inside);
  }
  void bindShared(ValueId v, BatchedIterations& iterations, bool inside) {
    if (iterations.isBound(v) || !once_.isBound(v)) return;
    iterations.bind(v, inside ? captured_(once_.at(v)) : once_.at(v), false);
  }

  // Of leaves everything, of other nodes the products that need no other node.
  std::string beforeLevels(size_t c) {
    const Recursion::Case& of = recursion_.cases[c];
    Tables& tables = tables_[c];
    tables.before = std::make_unique<BatchedIterations>(inferred_, types_, tables.rows);
    BatchedIterations& iterations = *tables.before;
    for (size_t i = 0; i < of.fields.size(); ++i) iterations.bind(of.fields[i], tables.fields[i], true);
    std::vector<ValueId> wanted = of.results;
    tables.plan = isInner(tables) ? planIterations(of.ops, of.dependence, std::move(wanted), {})
                                  : planIterations(of.ops, of.dependence, {}, std::move(wanted));
    for (const Op* op : of.ops) {
      const bool check = op->def == &ops::checkOp && !isInner(tables);
      if (!tables.plan.before.count(op) && !check) continue;
      bindShared(*op, iterations, false);
      if (std::string why = iterations.emit(*op); !why.empty()) return named(*op, why);
    }
    hoisted_ += static_cast<int64_t>(tables.plan.hoisted.size());
    if (!isInner(tables))
      for (size_t k = 0; k < results(); ++k) {
        bindShared(of.results[k], iterations, false);
        leaves_.resize(results());
        leaves_[k].push_back(iterations.manyOf(of.results[k]));
      }
    flush(iterations);
    return "";
  }

  // Rows of leaves, and behind them room for the others.
  void makeBuffers() {
    BatchedIterations& b = once_;
    ValueId inner = kNoValue;
    for (const Tables& tables : tables_) {
      if (!isInner(tables)) continue;
      const ValueId count = b.make(ops::shapeOp, {tables.rows});
      inner = inner == kNoValue ? count : b.make(ops::addOp, {inner, count});
    }
    for (size_t k = 0; k < results(); ++k) {
      const Type type = function_.resultTypes[k];
      std::vector<ValueId> sizes{inner};
      if (type.rank() > 0) sizes.push_back(b.make(ops::dims_valueOp, {}, {{"value", type.dims()}}));
      const ValueId shape = sizes.size() == 1 ? inner : b.make(ops::concatOp, sizes, {{"axis", int64_t{0}}});
      HostTensor zero =
          isReal(type.dtype()) ? HostTensor::scalar(type.dtype(), 0) : HostTensor::scalarInt(type.dtype(), 0);
      std::vector<ValueId> parts = leaves_[k];
      parts.push_back(b.make(ops::constant_of_shapeOp, {shape}, {{"value", zero.reshaped({1})}}));
      Buffer buffer;
      buffer.initial = b.make(ops::concatOp, parts, {{"axis", int64_t{0}}});
      buffer.inside = ir_.newValue();
      buffer.after = buffer.inside;
      buffer.result = ir_.newValue();
      buffers_.push_back(buffer);
    }
    flush(b);
  }

  std::string emitLevels() {
    number_ = ir_.newValue();
    for (size_t c = 0; c < recursion_.cases.size(); ++c)
      if (isInner(tables_[c]))
        if (std::string why = emitLevel(c); !why.empty()) return why;
    return "";
  }

  // The nodes of one constructor that are of this height.
  std::string emitLevel(size_t c) {
    const Recursion::Case& of = recursion_.cases[c];
    const Tables& tables = tables_[c];
    const ValueId nodes = ir_.newValue();
    BatchedIterations b(inferred_, types_, nodes);
    b.setPlace(function_.place);
    const LevelPart part =
        partOfLevel(ir_, b, {captured_(tables.starts), captured_(tables.counts)}, number_, tables.count);
    b.setCount(part.count);
    const auto ofLevel = [&](ValueId table) { return rowsOfLevel(b, captured_(table), part); };
    b.makeAs(nodes, ops::reshapeOp, {ofLevel(tables.rows), b.integers({-1})});
    for (size_t i = 0; i < of.fields.size(); ++i) b.bind(of.fields[i], ofLevel(tables.fields[i]), true);
    for (ValueId v : tables.plan.hoisted) b.bind(v, ofLevel(tables.before->manyOf(v)), true);
    for (const Op* op : of.ops) {
      if (!tables.plan.level.count(op) && op->def != &ops::checkOp) continue;
      if (const auto call = of.calls.find(op); call != of.calls.end()) {
        for (size_t k = 0; k < op->results.size(); ++k)
          b.bind(op->results[k].id,
                 b.make(ops::gatherOp, {buffers_[k].after, b.at(of.fields[call->second])},
                        {{"axis", int64_t{0}}}),
                 true);
        continue;
      }
      bindShared(*op, b, true);
      if (std::string why = b.emit(*op); !why.empty()) return named(*op, why);
    }
    b.setPlace(function_.place);
    const ValueId rows = b.make(ops::reshapeOp, {nodes, b.integers({-1, 1})});
    for (size_t k = 0; k < results(); ++k) {
      bindShared(of.results[k], b, true);
      buffers_[k].after = b.make(ops::scatter_ndOp, {buffers_[k].after, rows, b.manyOf(of.results[k])});
    }
    level_.insert(level_.end(), b.ops().begin(), b.ops().end());
    return "";
  }

  const Function* finish() {
    BatchedIterations& b = once_;
    Function body;
    body.name = ir_.uniqueFunctionName(function_.name + ".level");
    body.place = function_.place;
    body.parameters.push_back({number_, ir_.tensorType(Shape{}, Dtype::i64)});
    BatchedIterations end(inferred_, types_, kNoValue);
    body.results.push_back(
        end.make(ops::constantOp, {}, {{"value", HostTensor::scalarInt(Dtype::boolean, 1)}}));
    level_.insert(level_.end(), end.ops().begin(), end.ops().end());
    Op loop;
    loop.def = &ops::loopOp;
    loop.place = function_.place;
    const auto inner = std::find_if(tables_.begin(), tables_.end(), isInner);
    const ValueId heights = b.make(
        ops::subOp,
        {b.make(ops::gatherOp, {b.make(ops::shapeOp, {inner->starts}), b.integer(0)}, {{"axis", int64_t{0}}}),
         b.integer(1)});
    loop.operands = {heights, kNoValue};
    for (const Buffer& buffer : buffers_) {
      body.parameters.push_back({buffer.inside, Type()});
      body.results.push_back(buffer.after);
      loop.operands.push_back(buffer.initial);
      loop.results.push_back({buffer.result, Type()});
    }
    for (ValueId v : captured_.order()) {
      body.parameters.push_back({captured_(v), Type()});
      loop.operands.push_back(v);
    }
    loop.attributes = {{"carried", static_cast<int64_t>(buffers_.size())}};
    body.ops = std::move(level_);
    body.resultTypes.resize(body.results.size());
    loop.regions = {ir_.own(std::move(body))};
    b.ops().push_back(ir_.own(std::move(loop)));

    Function forest;
    forest.name = ir_.uniqueFunctionName(function_.name + ".nodes");
    forest.place = function_.place;
    forest.parameters = parameters_;
    const Dim count = ir_.dims().any("the values of a list");
    for (size_t k = 0; k < results(); ++k) {
      const Type type = function_.resultTypes[k];
      Shape dims{count};
      dims.insert(dims.end(), type.dims().begin(), type.dims().end());
      forest.results.push_back(b.make(ops::gatherOp, {buffers_[k].result, roots_}, {{"axis", int64_t{0}}}));
      forest.resultTypes.push_back(ir_.tensorType(std::move(dims), type.dtype()));
    }
    flush(b);
    forest.ops = std::move(ops_);
    return ir_.own(std::move(forest));
  }

  const Function* single(const Function& forest) {
    Function made = function_;
    BatchedIterations b(inferred_, types_, kNoValue);
    b.setPlace(function_.place);
    Op call;
    call.def = &ops::callOp;
    call.place = function_.place;
    call.attributes = {{"callee", forest.name}};
    for (size_t i = 0; i < function_.parameters.size(); ++i) {
      const ValueId v = function_.parameters[i].id;
      call.operands.push_back(i == recursion_.argument ? b.make(ops::listOp, {v}) : v);
    }
    for (size_t k = 0; k < results(); ++k) call.results.push_back({ir_.newValue(), Type()});
    const std::vector<ValueDef> rows = call.results;
    b.ops().push_back(ir_.own(std::move(call)));
    const ValueId first = b.integer(0);
    for (size_t k = 0; k < results(); ++k)
      made.results[k] = b.make(ops::gatherOp, {rows[k].id, first}, {{"axis", int64_t{0}}});
    made.ops = std::move(b.ops());
    return ir_.own(std::move(made));
  }

  IrContext& ir_;
  const Recursion& recursion_;
  const Function& function_;
  const InferredModule& inferred_;
  const RecursionLevelTypes& types_;
  BatchedIterations once_;
  Captures captured_;
  std::vector<Parameter> parameters_;
  ValueId list_ = kNoValue, roots_ = kNoValue, number_ = kNoValue;
  std::vector<Tables> tables_;
  std::vector<std::vector<ValueId>> leaves_;  // of each result: those of each constructor that is a leaf
  std::vector<Buffer> buffers_;
  std::vector<const Op*> ops_, level_;
  int64_t hoisted_ = 0;
};

}  // namespace

RecursionLevels levelsOf(const Recursion& recursion, const InferredModule& inferred,
                         const RecursionLevelTypes& types) {
  return Emitter(recursion, inferred, types).run();
}

}  // namespace dyn::passes
