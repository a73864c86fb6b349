#include "compiler/passes/padding/padded_recurrence.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "compiler/dims/ragged_dim.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/batch_independence.h"
#include "compiler/passes/analysis/loop_body.h"
#include "compiler/passes/fusion/recurrent_cell.h"

namespace dyn::passes {

namespace {

// The values of a function.
struct Around {
  explicit Around(const Function& function) {
    for (const Parameter& p : function.parameters) types[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) {
        makers[r.id] = op;
        types[r.id] = r.type;
      }
  }
  Makers makers;
  std::unordered_map<ValueId, Type> types;
};

class PaddedRecurrenceFinder {
 public:
  PaddedRecurrenceFinder(const InferredModule& inferred, const Around& around, const Op& loop)
      : inferred_(inferred),
        ir_(*inferred.module.context),
        outerTypes_(around.types),
        loop_(loop),
        body_(inferred, around.makers, loop) {
    found_.loop = &loop;
  }

  // Does it ask of each sequence whether it has ended?
  bool looksLikeOne() {
    for (size_t k = 0; k < carried(); ++k)
      if (const Op* where = body_.maker(results()[1 + k], ops::whereOp); where && isRuns(where->operands[0]))
        return true;
    return false;
  }

  // "" or why it is none.
  std::string run() {
    if (std::string why = counted(); !why.empty()) return why;
    std::vector<ValueId> wanted;
    if (ofSequences_) {
      wanted.assign(results().begin() + 1, results().end());
      if (std::string why = sizes(); !why.empty()) return why;
      return cell(std::move(wanted));
    }
    for (size_t k = 0; k < carried(); ++k) {
      const ValueId result = results()[1 + k], state = body_.stateOf(k);
      const Op* where = body_.maker(result, ops::whereOp);
      if (!where || where->operands[2] != state || !isRuns(where->operands[0]))
        return "its state %" + ir_.valueName(state) + " goes on behind the end of a sequence";
      wanted.push_back(where->operands[1]);
    }
    for (size_t k = 1 + carried(); k < results().size(); ++k) {
      const Op* where = body_.maker(results()[k], ops::whereOp);
      if (!where || !isRuns(where->operands[0]) || !isZero(where->operands[2]))
        return "its stacked result is not 0 behind the end of a sequence";
      wanted.push_back(where->operands[1]);
    }
    if (std::string why = sizes(); !why.empty()) return why;
    if (std::string why = byPosition(); !why.empty()) return why;
    return cell(std::move(wanted));
  }

  // Each sequence has as many steps as positions, instead of none behind its end.
  std::string runOfSequences(Dim batch) {
    ofSequences_ = true;
    found_.inStepOrder = true;
    found_.batch = ir_.facts().canonical(batch);
    return run();
  }

  PaddedRecurrence& found() { return found_; }

 private:
  size_t carried() const { return body_.carried(); }
  const std::vector<ValueId>& results() const { return body_.function().results; }
  bool isZero(ValueId v) const {
    const HostTensor* value = body_.constantOf(v);
    if (!value) return false;
    for (int64_t i = 0; i < value->elementCount(); ++i)
      if (!isReal(value->dtype()) || value->realAt(i) != 0) return false;
    return true;
  }
  bool equal(Dim a, Dim b) const { return ir_.facts().equal(a, b) == Answer::yes; }

  std::string counted() {
    if (!body_.goesOn()) return "a step may end it";
    const std::optional<Dim> steps =
        loop_.operands[0] == kNoValue ? std::nullopt : body_.knownSize(loop_.operands[0]);
    if (!steps) return "its steps are not a size of an input";
    found_.sequence = ir_.facts().canonical(*steps);
    if (ofSequences_) return isRagged(found_.sequence) ? "" : "its steps are not the length of a sequence";
    // max(0, s) is s.
    const std::vector<SymbolId> symbols = symbolsOf(found_.sequence);
    if (symbols.size() == 1 && equal(found_.sequence, ir_.dims().symbolById(symbols[0])))
      found_.sequence = ir_.dims().symbolById(symbols[0]);
    return "";
  }

  // The number of the step, counted from either end; the first that is asked for decides which.
  bool isStep(ValueId v) {
    bool backward = false;
    if (const Op* difference = body_.maker(v, ops::subOp)) {
      const std::optional<Dim> last = body_.knownSize(body_.outerOf(difference->operands[0]));
      backward = true;
      if (!last || difference->operands[1] != body_.stepNumber()) return false;
      if (!found_.sequence || !equal(*last, found_.sequence - ir_.dims().constant(1))) return false;
    } else if (v != body_.stepNumber()) {
      return false;
    }
    if (!direction_) direction_ = backward;
    found_.backward = *direction_;
    return *direction_ == backward;
  }

  // less(step, lengths) [b], with axes of size 1 behind.
  bool isRuns(ValueId v) {
    if (!found_.sequence && !counted().empty()) return false;
    const Op* view = body_.maker(v);
    while (view && view->def->traits.view) {
      const Shape &from = body_.typeOf(view->operands[0]).dims(), to = view->results[0].type.dims();
      if (from.empty() || to.empty() || !equal(from[0], to[0])) return false;
      v = view->operands[0];
      view = body_.maker(v);
    }
    const Op* less = body_.maker(v, ops::lessOp);
    if (!less || less->results[0].type.rank() != 1 || !isStep(less->operands[0])) return false;
    const ValueId lengths = body_.outerOf(less->operands[1]);
    if (lengths == kNoValue || body_.typeOf(less->operands[1]).rank() != 1 ||
        body_.typeOf(less->operands[1]).dtype() != Dtype::i64)
      return false;
    if (found_.lengths == kNoValue) found_.lengths = lengths;
    return found_.lengths == lengths;
  }

  std::string sizes() {
    if (carried() == 0) return "it has no state";
    if (!ofSequences_) {
      found_.batch = ir_.facts().canonical(outerTypes_.at(found_.lengths).dims()[0]);
      if (!found_.batch.isSymbol() || !found_.sequence.isSymbol() || found_.batch == found_.sequence)
        return "batch and sequence are not two sizes of the inputs: " + found_.batch.toString() + ", " +
               found_.sequence.toString();
    }
    for (size_t k = 0; k < carried(); ++k) {
      const Type state = outerTypes_.at(loop_.operands[2 + k]);
      if (!state.isTensor() || state.rank() < 1 || !equal(state.dims()[0], found_.batch))
        return "the first axis of its states is not that of the sequences";
    }
    return "";
  }

  // What counts its steps from the last is stacked in that order: its reader reverses it.
  std::string byPosition() {
    const Function& main = *inferred_.module.main();
    for (size_t k = carried(); k < loop_.results.size(); ++k) {
      const ValueId result = loop_.results[k].id;
      found_.stacked.push_back(found_.backward ? kNoValue : result);
      if (!found_.backward) continue;
      if (std::find(main.results.begin(), main.results.end(), result) != main.results.end())
        return "its stacked result is read in the order of its steps";
      for (const Op* op : main.ops) {
        if (std::find(op->operands.begin(), op->operands.end(), result) == op->operands.end()) continue;
        if (!isReversal(*op) || found_.stacked.back() != kNoValue)
          return "its stacked result is read in the order of its steps";
        found_.stacked.back() = op->results[0].id;
        found_.reversals.push_back(op);
      }
    }
    return "";
  }

  // slice from -1 down along the first axis.
  bool isReversal(const Op& op) const {
    if (op.def != &ops::sliceOp || op.operands.size() < 5) return false;
    const auto is = [&](size_t operand, auto holds) {
      const auto known = inferred_.contents.find(op.operands[operand]);
      if (known == inferred_.contents.end() || known->second.size() != 1 || !known->second[0]) return false;
      const std::optional<int64_t> value = known->second[0].constant();
      return value && holds(*value);
    };
    const auto isOne = [](int64_t what) { return [what](int64_t value) { return value == what; }; };
    return is(1, isOne(-1)) && is(2, [](int64_t end) { return end < -INT32_MAX; }) && is(3, isOne(0)) &&
           is(4, isOne(-1));
  }

  bool mentions(Dim d) const {
    const std::vector<SymbolId> symbols = symbolsOf(ir_.facts().canonical(d));
    const std::vector<SymbolId> steps = symbolsOf(found_.sequence);
    return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) {
      return s == found_.batch.symbol() || std::find(steps.begin(), steps.end(), s) != steps.end() ||
             (ofSequences_ && isRagged(ir_.dims().symbolById(s)));
    });
  }
  bool mentions(Type type) const {
    return !type.isTensor() ||
           std::any_of(type.dims().begin(), type.dims().end(), [&](Dim d) { return mentions(d); });
  }
  std::string nameOf(const Op& op) const {
    return std::string(op.def->name) + (op.results.empty() ? "" : " %" + ir_.valueName(op.results[0].id));
  }

  // The row of each sequence at the step.
  bool isRowsOfStep(const Op& op) {
    const int64_t axis = op.attributes.integer("axis", 0);
    if (op.def != &ops::gatherOp || (axis != 0 && (axis != 1 || !ofSequences_))) return false;
    const ValueId from = body_.outerOf(op.operands[0]);
    if (from == kNoValue || body_.typeOf(op.operands[1]).rank() != 0 || !isStep(op.operands[1])) return false;
    const Shape& dims = body_.typeOf(op.operands[0]).dims();
    const auto steps = static_cast<size_t>(axis);
    return dims.size() >= 2 && equal(dims[steps], found_.sequence) && equal(dims[1 - steps], found_.batch) &&
           std::none_of(dims.begin() + 2, dims.end(), [&](Dim d) { return mentions(d); });
  }

  // The operations that the wanted values are made by, as a function.
  std::string cell(std::vector<ValueId> wanted) {
    Function cell;
    cell.name = "main";
    cell.place = body_.function().place;
    cell.results = wanted;
    for (size_t k = 0; k < carried(); ++k) cell.parameters.push_back(body_.function().parameters[1 + k]);
    std::vector<Parameter> captures;
    std::unordered_set<ValueId> reached(wanted.begin(), wanted.end());
    std::vector<const Op*> backwards;
    for (size_t i = body_.function().ops.size(); i-- > 0;) {
      const Op& op = *body_.function().ops[i];
      if (op.def->hasEffects) return nameOf(op) + " is a check in each step";
      if (std::none_of(op.results.begin(), op.results.end(),
                       [&](const ValueDef& r) { return reached.count(r.id) != 0; }))
        continue;
      if (isRowsOfStep(op)) {
        cell.parameters.push_back({op.results[0].id, op.results[0].type});
        found_.steps.push_back(body_.outerOf(op.operands[0]));
        continue;
      }
      if (!op.regions.empty()) return nameOf(op) + " has a body";
      for (const auto& [name, value] : op.attributes.all())
        if (const Shape* dims = std::get_if<Shape>(&value);
            dims && std::any_of(dims->begin(), dims->end(), [&](Dim d) { return d && mentions(d); }))
          return nameOf(op) + " depends on how many sequences there are";
      backwards.push_back(&op);
      for (ValueId v : op.operands)
        if (v != kNoValue) reached.insert(v);
    }
    if (reached.count(body_.stepNumber())) return "it depends on the number of the step";
    for (size_t i = 1 + carried(); i < body_.function().parameters.size(); ++i) {
      const Parameter& p = body_.function().parameters[i];
      if (!reached.count(p.id)) continue;
      if (mentions(p.type)) return "each step reads all of %" + ir_.valueName(loop_.operands[i + 1]);
      captures.push_back(p);
      found_.captures.push_back(loop_.operands[i + 1]);
    }
    cell.parameters.insert(cell.parameters.end(), captures.begin(), captures.end());
    cell.ops.assign(backwards.rbegin(), backwards.rend());
    for (ValueId v : cell.results) cell.resultTypes.push_back(body_.typeOf(v));
    found_.cell = ir_.own(std::move(cell));
    return rowByRow();
  }

  std::string rowByRow() {
    InferredModule alone;
    alone.module = inferred_.module;
    alone.module.functions = {found_.cell};
    alone.contents = inferred_.contents;
    const BatchIndependence apart = batchIndependence(alone, found_.batch.symbol());
    if (!apart.whyNot.empty()) return apart.whyNot;
    for (size_t k = 0; k < apart.results.size(); ++k)
      if (!apart.results[k] || apart.results[k]->axis != 0 || apart.results[k]->extent != found_.batch)
        return "a result of its steps has no row for each sequence";
    for (Type type : found_.cell->resultTypes)
      if (!isReal(type.dtype())) return "its states are not real numbers";
    return "";
  }

  const InferredModule& inferred_;
  IrContext& ir_;
  const std::unordered_map<ValueId, Type>& outerTypes_;
  const Op& loop_;
  const LoopBody body_;
  std::optional<bool> direction_;
  bool ofSequences_ = false;
  PaddedRecurrence found_;
};

// A value as the casts that make it, and what they are made of.
std::string sourceOf(ValueId v, const Makers& makers) {
  std::string casts;
  for (auto made = makers.find(v); made != makers.end() && made->second->def == &ops::castOp;
       made = makers.find(v)) {
    casts += " " + std::string(toString(made->second->results[0].type.dtype()));
    v = made->second->operands[0];
  }
  return std::to_string(v) + casts;
}

}  // namespace

std::string findRaggedRecurrence(const InferredModule& inferred, const Op& loop, Dim batch,
                                 PaddedRecurrence* site) {
  const Around around(*inferred.module.main());
  PaddedRecurrenceFinder finder(inferred, around, loop);
  std::string why = finder.runOfSequences(batch);
  if (why.empty()) *site = std::move(finder.found());
  return why;
}

RecurrenceSearch findPaddedRecurrences(const InferredModule& inferred) {
  RecurrenceSearch all;
  const Function& main = *inferred.module.main();
  const Around around(main);
  std::optional<PathFacts> facts;
  for (size_t i = 0; i < main.ops.size(); ++i) {
    const Op* op = main.ops[i];
    if (op->def != &ops::loopOp) continue;
    PaddedRecurrenceFinder finder(inferred, around, *op);
    if (!finder.looksLikeOne()) continue;
    if (std::string why = finder.run(); why.empty()) {
      if (!facts) facts.emplace(inferred.module);
      all.found.push_back(std::move(finder.found()));
      all.found.back().isKernel =
          willBeRecurrentCell(inferred, around.makers, *op, *facts, {facts->bodyOf(main), i});
    } else
      all.refusals.push_back("loop %" + inferred.module.context->valueName(op->results[0].id) + ": " + why);
  }
  // Each node of a file may have cast the same lengths for itself.
  std::unordered_map<std::string, ValueId> first;
  for (PaddedRecurrence& one : all.found) {
    one.mask = "lengths " + sourceOf(one.lengths, around.makers);
    one.lengths = first.try_emplace(one.mask, one.lengths).first->second;
  }
  return all;
}

}  // namespace dyn::passes
