#include "compiler/passes/analysis/batch_independence.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/element_bounds.h"
#include "compiler/passes/analysis/element_composer.h"
#include "compiler/passes/analysis/liveness.h"
#include "compiler/passes/analysis/operand_loads.h"
#include "compiler/passes/analysis/row_loads.h"

namespace dyn::passes {

namespace {

// The one axis whose size depends on the rows; nullopt if absent, or more than one (`several`).
std::optional<RowAxis> axisOf(Type type, SymbolId rows, bool* several) {
  std::optional<RowAxis> found;
  for (int axis = 0; type.isTensor() && axis < type.rank(); ++axis) {
    const Dim d = type.dims()[static_cast<size_t>(axis)];
    if (!mentions(d, rows)) continue;
    if (found) *several = true;
    found = RowAxis{axis, d};
  }
  return found;
}

class RowAnalysis {
 public:
  RowAnalysis(const InferredModule& inferred, SymbolId rows, RowsInBodies bodies, RowNumbers numbers)
      : inferred_(inferred),
        ir_(*inferred.module.context),
        rows_(rows),
        row_(ir_.dims().symbolById(rows)),
        bodies_(bodies),
        numbers_(numbers) {}

  BatchIndependence run() {
    const Function& main = *inferred_.module.main();
    for (const Parameter& p : main.parameters) {
      types_[p.id] = p.type;
      const std::string name = "the input " + ir_.valueName(p.id);
      if (!takeAxis(p.id, p.type, name)) return std::move(apart_);
      const auto axis = axisOfValue(p.id);
      if (axis && axis->extent != row_) return mixed(name + " has " + axis->extent.toString() + " rows");
      apart_.parameters.push_back(axis);
    }
    for (const Op* op : main.ops)
      if (!visit(*op)) return std::move(apart_);
    for (ValueId v : main.results) {
      if (sizes_.count(v)) return mixed("the result " + ir_.valueName(v) + " depends on how many there are");
      if (numbered_.count(v)) return mixed("the result " + ir_.valueName(v) + " depends on which row it is");
      apart_.results.push_back(axisOfValue(v));
    }
    return std::move(apart_);
  }

 private:
  BatchIndependence mixed(const std::string& why) {
    apart_.whyNot = why;
    return std::move(apart_);
  }
  bool mix(const std::string& why) {
    apart_.whyNot = why;
    return false;
  }

  std::optional<RowAxis> axisOfValue(ValueId v) const {
    const auto found = axes_.find(v);
    return found == axes_.end() ? std::nullopt : std::optional(found->second);
  }
  bool dependsOnRows(ValueId v) const { return axes_.count(v) != 0 || sizes_.count(v) != 0; }

  bool takeAxis(ValueId id, Type type, const std::string& what) {
    bool several = false;
    const std::optional<RowAxis> axis = axisOf(type, rows_, &several);
    if (several) return mix(what + " has several axes of " + row_.toString());
    if (!type.isTensor())
      return std::any_of(symbolsOf(type).begin(), symbolsOf(type).end(),
                         [&](SymbolId s) { return s == rows_; })
                 ? mix(what + " is not a tensor")
                 : true;
    if (axis) axes_[id] = *axis;
    return true;
  }

  std::string nameOf(const Op& op) const {
    const std::string where = op.place.known() ? " (" + op.place.toString() + ")" : "";
    return std::string(op.def->name) + (op.results.empty() ? "" : " %" + ir_.valueName(op.results[0].id)) +
           where;
  }

  bool visit(const Op& op) {
    for (const ValueDef& r : op.results) {
      types_[r.id] = r.type;
      madeBy_[r.id] = &op;
    }
    for (const auto& [name, value] : op.attributes.all()) {
      const Shape* dims = std::get_if<Shape>(&value);
      const bool aboutRows =
          dims && std::any_of(dims->begin(), dims->end(), [&](Dim d) { return d && mentions(d, rows_); });
      if (!aboutRows || isUpperBound(op)) continue;
      if (!op.def->traits.contentsKnown) return mix(nameOf(op) + " depends on how many there are");
      sizes_.insert(op.results[0].id);
      return true;
    }
    const bool none = std::none_of(op.operands.begin(), op.operands.end(),
                                   [&](ValueId v) { return v != kNoValue && dependsOnRows(v); });
    if (op.def->traits.readsShape) {
      if (!none && !knownApartFromRows(op.results[0].id)) sizes_.insert(op.results[0].id);
      return true;
    }
    if (!op.regions.empty() && readsNumbered(op)) return mix(nameOf(op) + " depends on which row it is");
    if (bodies_ == RowsInBodies::looked && !none && (op.def == &ops::ifOp || op.def == &ops::loopOp))
      return visitBodies(op);
    if (!op.regions.empty() || op.def->cls == OpClass::structural)
      return none ? true : mix(nameOf(op) + " is control flow or no operation on tensors");
    for (size_t i = 0; i < op.results.size(); ++i)
      if (!visitResult(op, i)) return false;
    return true;
  }

  // "rows <= 100": with as many as a bucket holds it is decided when that is compiled, and fewer satisfy it
  // then.
  bool isUpperBound(const Op& op) const {
    return op.def == &ops::checkOp && op.attributes.string("relation") == "le" &&
           op.attributes.dims("lhs").at(0) == row_ && op.attributes.dims("rhs").at(0).isConstant();
  }

  bool visitResult(const Op& op, size_t i) {
    const ValueDef& result = op.results[i];
    if (!takeAxis(result.id, result.type, nameOf(op))) return false;
    const bool rowsIn = std::any_of(op.operands.begin(), op.operands.end(),
                                    [&](ValueId v) { return v != kNoValue && axes_.count(v) != 0; });
    const auto axis = axisOfValue(result.id);
    if (!axis && !rowsIn) {
      const bool sized = std::any_of(op.operands.begin(), op.operands.end(),
                                     [&](ValueId v) { return v != kNoValue && sizes_.count(v) != 0; });
      if (sized && !knownApartFromRows(result.id)) sizes_.insert(result.id);
      return true;
    }
    if (readsNumbered(op)) numbered_.insert(result.id);
    if (op.def->traits.view) return visitView(op, axis);
    if (const auto along = alongAxis(op)) return visitAlong(op, i, *along);
    if (!op.def->lower) return mix(nameOf(op) + " has no definition in loops");
    return visitLoads(op, i, axis);
  }

  // All elements are known, and none of them is computed from the number of rows.
  bool knownApartFromRows(ValueId v) const {
    const auto known = inferred_.contents.find(v);
    return known != inferred_.contents.end() && std::all_of(known->second.begin(), known->second.end(),
                                                            [&](Dim d) { return d && !mentions(d, rows_); });
  }

  // The same elements in the same order: the rows are whole where as many elements stand before them.
  bool visitView(const Op& op, const std::optional<RowAxis>& axis) {
    const auto from = axisOfValue(op.operands[0]);
    if (!from || !axis) return mix(nameOf(op) + " does not keep the rows along one axis");
    const Dim before = product(types_.at(op.operands[0]), from->axis);
    const Dim after = product(op.results[0].type, axis->axis);
    const Dim perRow =
        substitute(axis->extent, [&](SymbolId s) { return s == rows_ ? ir_.dims().constant(1) : Dim(); });
    if (before != after || perRow * row_ != axis->extent)
      return mix(nameOf(op) + " joins the rows with an axis before them");
    return true;
  }

  // The axis of an operation without a definition in loops that computes along one and keeps the others.
  std::optional<int64_t> alongAxis(const Op& op) const {
    if (op.def == &ops::topkOp) return op.attributes.integer("axis", -1);
    if (op.def == &ops::matmul_nbitsOp) return -1;
    if (op.def != &ops::cumsumOp && op.def != &ops::cumprodOp) return std::nullopt;
    const auto known =
        op.operands.size() > 1 ? inferred_.contents.find(op.operands[1]) : inferred_.contents.end();
    if (known == inferred_.contents.end() || known->second.size() != 1 || !known->second[0])
      return std::nullopt;
    return known->second[0].constant();
  }

  bool visitAlong(const Op& op, size_t i, int64_t along) {
    const auto from = axisOfValue(op.operands[0]), axis = axisOfValue(op.results[i].id);
    if (along < 0) along += types_.at(op.operands[0]).rank();
    if (!from || !axis || *from != *axis || from->axis == along)
      return mix(nameOf(op) + " computes along the rows");
    for (size_t k = 1; k < op.operands.size(); ++k)
      if (op.operands[k] != kNoValue && dependsOnRows(op.operands[k]))
        return mix(nameOf(op) + " depends on how many there are");
    return true;
  }

  // Bodies see what the operation captures and carries; rows that go into a body come out along one axis.
  bool visitBodies(const Op& op) {
    const bool loop = op.def == &ops::loopOp;
    const size_t first = loop ? 2 : 1;  // of what the bodies' parameters are
    const auto carried = loop ? static_cast<size_t>(op.attributes.integer("carried")) : 0;
    for (size_t i = 0; i < first && i < op.operands.size(); ++i)
      if (op.operands[i] != kNoValue && dependsOnRows(op.operands[i]))
        return mix(nameOf(op) + " goes on as its rows say");
    for (size_t i = 0; i < op.results.size(); ++i) {
      types_[op.results[i].id] = op.results[i].type;
      if (!takeAxis(op.results[i].id, op.results[i].type, nameOf(op))) return false;
    }
    for (const Function* body : op.regions) {
      if (body->parameters.size() != op.operands.size() - first + (loop ? 1 : 0))
        return mix(nameOf(op) + " has other operands than its body");
      for (size_t i = 0; i < body->parameters.size(); ++i) {
        const Parameter& p = body->parameters[i];
        types_[p.id] = p.type;
        if (!p.type || !takeAxis(p.id, p.type, nameOf(op)))
          return mix(nameOf(op) + " has a body of no types");
        if (loop && i == 0) continue;
        const ValueId outer = op.operands[i + first - (loop ? 1 : 0)];
        if (outer == kNoValue || axisOfValue(outer) != axisOfValue(p.id) || sizes_.count(outer))
          return mix(nameOf(op) + " takes rows into its body along another axis");
      }
      for (const Op* inner : body->ops)
        if (!visit(*inner)) return false;
      for (size_t k = 0; k < body->results.size(); ++k)
        if (!visitBodyResult(op, body->results[k], k, loop, carried)) return false;
    }
    return true;
  }

  bool visitBodyResult(const Op& op, ValueId v, size_t k, bool loop, size_t carried) {
    if (sizes_.count(v)) return mix(nameOf(op) + " depends on how many there are");
    if (numbered_.count(v)) return mix(nameOf(op) + " depends on which row it is");
    std::optional<RowAxis> axis = axisOfValue(v);
    if (loop && k == 0) return axis ? mix(nameOf(op) + " goes on as its rows say") : true;
    if (loop && k > carried && axis) ++axis->axis;  // it is stacked
    if (axis != axisOfValue(op.results[k - (loop ? 1 : 0)].id))
      return mix(nameOf(op) + " gives rows from its body along another axis");
    return true;
  }

  Dim product(Type type, int axes) const {
    Dim result = ir_.dims().constant(1);
    for (int k = 0; k < axes; ++k) result = result * type.dims()[static_cast<size_t>(k)];
    return result;
  }

  bool visitLoads(const Op& op, size_t i, const std::optional<RowAxis>& axis) {
    std::vector<Type> types;
    for (ValueId v : op.operands) types.push_back(v == kNoValue ? Type() : types_.at(v));
    const ValueId result = op.results[i].id;
    // What is right wherever rows lie is right where they are.
    const std::string whyMoved = whyRowsMix(op, i, axis, types, questionOf(numbers_));
    const bool isNumbered = !whyMoved.empty() && axis && numbers_ == RowNumbers::changed;
    const std::string why =
        isNumbered ? whyRowsMix(op, i, axis, types, questionOf(RowNumbers::kept)) : whyMoved;
    if (isNumbered) numbered_.insert(result);
    if (why.empty() && numbered_.count(result) == 0) return true;
    if (axis && isOwnRowOfMakers(op.results[i], *axis))
      numbered_.erase(result);
    else if (!why.empty())
      return mix(nameOf(op) + why);
    return true;
  }
  RowQuestion questionOf(RowNumbers numbers) const {
    RowQuestion question{inferred_, rows_, [this](ValueId v) { return axisOfValue(v); },
                         [this](ValueId v) { return sizes_.count(v) != 0; }};
    question.whereverTheyLie = numbers == RowNumbers::changed;
    return question;
  }
  bool readsNumbered(const Op& op) const {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return v != kNoValue && numbered_.count(v) != 0; });
  }

  // The same asked of an element written in those of the inputs: what is looked up by running numbers, as
  // exporters write masks, is the row's own again.
  //   flat[b * seq + s] is mask[b, s]
  bool isOwnRowOfMakers(const ValueDef& result, const RowAxis& axis) {
    ElementComposer composer(inferred_, madeBy_, types_);
    loop::LoopContext& loops = composer.loops();
    std::vector<loop::Expr> index;
    for (const Dim d : result.type.dims()) {
      index.push_back(d.isConstant(1) ? loops.integer(0) : loops.variable("i"));
      if (!d.isConstant(1)) loops.bound(index.back(), loops.dim(d));
    }
    const Result<loop::Expr> composed = composer.element(result.id, index);
    if (!composed.ok()) return false;
    const loop::Expr element = decided(*composed, composer.facts());
    RowQuestion question = questionOf(numbers_);
    question.isSize = [this](ValueId v) { return sizes_.count(v) != 0 || numbered_.count(v) != 0; };
    question.looksAtChecks = false;
    return whyElementMixes(
               element, index[static_cast<size_t>(axis.axis)], axis,
               [&](const loop::Buffer* buffer) { return composer.valueOf(buffer); }, question)
        .empty();
  }

  const InferredModule& inferred_;
  IrContext& ir_;
  const SymbolId rows_;
  const Dim row_;
  const RowsInBodies bodies_;
  const RowNumbers numbers_;
  BatchIndependence apart_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> madeBy_;
  std::unordered_map<ValueId, RowAxis> axes_;
  std::unordered_set<ValueId> sizes_;     // computed from the number of rows
  std::unordered_set<ValueId> numbered_;  // each row from its number
};

}  // namespace

BatchIndependence batchIndependence(const InferredModule& inferred, SymbolId rows, RowsInBodies bodies,
                                    RowNumbers numbers) {
  return RowAnalysis(inferred, rows, bodies, numbers).run();
}

}  // namespace dyn::passes
