#include "compiler/passes/ragged/ragged_apart.h"

#include <algorithm>
#include <map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/analysis/batch_independence.h"
#include "compiler/passes/rewrite/loop_captures.h"

namespace dyn::passes {

namespace {

HostTensor zeroOf(Dtype dtype) {
  return isReal(dtype) ? HostTensor::scalar(dtype, 0) : HostTensor::scalarInt(dtype, 0);
}

}  // namespace

// The loop over the sequences, whose body is the function with one sequence.
class RaggedApart::Body {
 public:
  Body(RaggedApart& apart, const Function& function) : a_(apart), ir_(apart.ir_), function_(function) {
    body_.standAt(function.place);
  }

  void run() {
    findLengths();
    std::unordered_map<ValueId, ValueId> taken;
    for (const Parameter& p : function_.parameters) taken[p.id] = partOf(p.id);
    const std::vector<ValueId> made = operations(taken);
    for (size_t i = 0; i < made.size(); ++i) giveBack(function_.results[i], made[i]);
    finish();
  }

 private:
  Dim one() const { return ir_.dims().constant(1); }
  Dim zero() const { return ir_.dims().constant(0); }

  // An element of a table [b], as a dim of the body.
  Dim bound(ValueId table, const std::string& what) {
    const Dim dim = ir_.dims().any(what);
    body_.check(ops::bind_dimsOp, {captures_.of(table), number_},
                {{"dims", Shape{dim}}, {"elements", std::vector<int64_t>{0}}});
    atMost(zero(), dim, what);
    return dim;
  }
  void atMost(Dim lhs, Dim rhs, const std::string& what) {
    body_.check(ops::checkOp, {},
                {{"lhs", Shape{lhs}}, {"relation", std::string("le")}, {"rhs", Shape{rhs}}, {"what", what}});
  }

  // The lengths that the function speaks of, of the sequence at hand.
  void findLengths() {
    const auto see = [&](SymbolId id) {
      const Dim symbol = ir_.dims().symbolById(id);
      if (!raggedDim(symbol) || lengths_.count(id)) return Dim();
      const Dim length = bound(a_.prelude_.lengths(symbol), "the length " + symbol.toString());
      const Interval known = ir_.facts().interval(symbol);
      if (known.low || known.high)
        (void)ir_.facts().addRange(length, known.low, known.high,
                                   Reason{"what is said of " + symbol.toString(), function_.place});
      lengths_[id] = length;
      return Dim();
    };
    (void)substituteDims(moduleOf(function_), see);
  }

  Module moduleOf(const Function& function) const {
    Module module = a_.inferred_.module;
    module.functions = {&function};
    return module;
  }

  Dim replaced(SymbolId id) const {
    if (ir_.dims().symbolById(id) == a_.rows_.batch()) return one();
    const auto length = lengths_.find(id);
    return length == lengths_.end() ? Dim() : length->second;
  }
  Dim ofSequence(Dim d) const {
    return substitute(d, [&](SymbolId id) { return replaced(id); });
  }

  // --- what goes in

  Dim beginOf(Dim pattern) {
    Dim& begin = begins_[pattern.toString()];
    if (begin) return begin;
    const Dim rows = a_.prelude_.rows(pattern), count = ofSequence(pattern);
    begin = bound(a_.prelude_.begins(pattern), "where a sequence of " + pattern.toString() + " begins");
    atMost(zero(), count, "the length " + pattern.toString());
    atMost(begin + count, rows, "where a sequence of " + pattern.toString() + " ends");
    return begin;
  }

  ValueId partOf(ValueId v) {
    const RowAxes axes = a_.rows_.axesOf(v);
    if (axes.kind == RaggedKind::plain) return captures_.of(v);
    if (axes.kind == RaggedKind::ofBatch)
      return body_.gather(captures_.of(v), body_.make(ops::reshapeOp, {number_, body_.integers({1})}),
                          axes.batch);
    const Dim begin = beginOf(axes.length);
    return body_.make(ops::sliceOp,
                      {captures_.of(a_.packed_.at(v)), body_.sizes({begin}),
                       body_.sizes({begin + ofSequence(axes.length)}), body_.integers({axes.position})});
  }

  // The operations of the function, with one sequence. Their types follow anew.
  std::vector<ValueId> operations(const std::unordered_map<ValueId, ValueId>& taken) {
    const Module ofOne = substituteDims(moduleOf(function_), [&](SymbolId id) { return replaced(id); });
    ValueMap renamed;
    const Function* clone = cloneWithNewIds(ir_, *ofOne.main(), ir_.uniqueFunctionName("sequence"), &renamed);
    ValueMap arguments;
    for (size_t i = 0; i < clone->parameters.size(); ++i)
      arguments[clone->parameters[i].id] = taken.at(function_.parameters[i].id);
    clone = replaceValues(ir_, *clone, arguments);
    for (const Op* op : clone->ops) {
      Op copy = *op;
      for (ValueDef& r : copy.results) r.type = Type();
      bodyOps_.push_back(ir_.own(std::move(copy)));
    }
    return clone->results;
  }

  // --- what comes out

  Dim patternOf(Type type, const RowAxes& axes) const {
    return axes.isFlat ? a_.rows_.elementsOfSequence(type) : axes.length;
  }

  void giveBack(ValueId v, ValueId made) {
    const Type type = a_.rows_.typeOf(v);
    const RowAxes axes = a_.rows_.axesOf(type);
    if (axes.kind == RaggedKind::ofBatch) {
      stacked_.push_back({v, made});
      return;
    }
    // Into the rows of all sequences, or their elements, which the loop carries.
    const Dim pattern = patternOf(type, axes), rows = a_.prelude_.rows(pattern), count = ofSequence(pattern);
    const Dim begin = beginOf(pattern);
    Shape all = axes.isFlat ? Shape() : behindRows(type, axes), here = all;
    all.insert(all.begin(), rows);
    here.insert(here.begin(), count);
    const ValueId zeros =
        a_.maker_.make(ops::expandOp, {a_.maker_.number(zeroOf(type.dtype())), a_.maker_.sizes(all)});
    const ValueId inside = ir_.newValue();
    const ValueId range = body_.make(ops::rangeOp, {body_.integer(0), body_.size(count), body_.integer(1)});
    const ValueId places = body_.reshape(body_.make(ops::addOp, {range, body_.size(begin)}), {count, one()});
    const ValueId inOrder = axes.isFlat ? made : body_.transposed(made, rowsFirst(type, axes));
    const ValueId front = body_.reshape(inOrder, here);
    carried_.push_back({v, zeros, inside, body_.make(ops::scatter_ndOp, {inside, places, front})});
  }

  void finish() {
    const ValueId yes = body_.number(HostTensor::scalarInt(Dtype::boolean, 1));
    Function body;
    body.name = ir_.uniqueFunctionName("for_each_sequence");
    body.place = function_.place;
    body.parameters.push_back({number_, ir_.tensorType(Shape{}, Dtype::i64)});
    body.results.push_back(yes);
    Op loop;
    loop.def = &ops::loopOp;
    loop.place = function_.place;
    loop.operands = {a_.maker_.size(a_.rows_.batch()), kNoValue};
    for (const Carried& c : carried_) {
      body.parameters.push_back({c.inside, Type()});
      body.results.push_back(c.after);
      loop.operands.push_back(c.zeros);
      loop.results.push_back({ir_.newValue(), Type()});
    }
    for (const Stacked& s : stacked_) {
      body.results.push_back(s.made);
      loop.results.push_back({ir_.newValue(), Type()});
    }
    captures_.addTo(body, loop);
    loop.attributes = {{"carried", static_cast<int64_t>(carried_.size())}};
    body.ops = std::move(bodyOps_);
    body.resultTypes.resize(body.results.size());
    loop.regions = {ir_.own(std::move(body))};
    const std::vector<ValueDef> results = loop.results;
    a_.maker_.add(std::move(loop));
    for (size_t i = 0; i < carried_.size(); ++i) showRows(carried_[i].value, results[i].id);
    for (size_t i = 0; i < stacked_.size(); ++i)
      showStacked(stacked_[i].value, results[carried_.size() + i].id);
  }

  void showRows(ValueId v, ValueId rows) {
    const Type type = a_.rows_.typeOf(v);
    const RowAxes axes = a_.rows_.axesOf(type);
    if (axes.isFlat) {
      a_.packed_[v] = rows;
      return;
    }
    Shape dims = behindRows(type, axes);
    dims.insert(dims.begin(), a_.prelude_.rows(axes.length));
    if (axes.batch >= 0) dims.insert(dims.begin(), one());
    a_.packed_[v] = a_.maker_.transposed(a_.maker_.reshape(rows, dims), inverse(rowsFirst(type, axes)));
  }

  // [b, ..., 1, ...] with the batch where the axis of size 1 is.
  void showStacked(ValueId v, ValueId made) {
    const Type type = a_.rows_.typeOf(v);
    const RowAxes axes = a_.rows_.axesOf(type);
    const ValueId squeezed = a_.maker_.make(ops::squeezeOp, {made, a_.maker_.integers({axes.batch + 1})});
    std::vector<int64_t> order;
    for (int axis = 1; axis < type.rank(); ++axis) order.push_back(axis);
    order.insert(order.begin() + axes.batch, 0);
    a_.maker_.make(ops::identityOp, {a_.maker_.transposed(squeezed, order)}, {}, v);
  }

  struct Carried {
    ValueId value, zeros, inside, after;
  };
  struct Stacked {
    ValueId value, made;
  };

  RaggedApart& a_;
  IrContext& ir_;
  const Function& function_;
  const ValueId number_ = ir_.newValue();
  std::vector<const Op*> bodyOps_;
  OpMaker body_{ir_, bodyOps_};
  LoopCaptures captures_{ir_};
  std::map<SymbolId, Dim> lengths_;
  std::map<std::string, Dim> begins_;
  std::vector<Carried> carried_;
  std::vector<Stacked> stacked_;
};

// The operations over what they read from elsewhere, with the one name of each dim.
const Function* RaggedApart::functionOf(const std::vector<const Op*>& ops,
                                        const std::vector<ValueId>& results,
                                        const std::unordered_set<ValueId>& sizes) {
  Function function;
  function.name = "main";
  function.place = ops.front()->place;
  std::unordered_map<ValueId, ValueId> here;
  for (const Op* op : ops)
    for (const ValueDef& r : op->results) here[r.id] = r.id;
  OpMaker maker(ir_, function.ops);
  for (const Op* op : ops) {
    maker.standAt(op->place);
    Op copy = *op;
    for (ValueId& v : copy.operands) {
      if (v == kNoValue) continue;
      if (sizes.count(v) != 0) {
        const Contents& known = *rows_.contentsOf(v);
        v = rows_.typeOf(v).rank() == 0 ? maker.size(known[0]) : maker.sizes(known);
      } else if (here.try_emplace(v, v).second) {
        function.parameters.push_back({v, rows_.typeOf(v)});
      }
    }
    function.ops.push_back(ir_.own(std::move(copy)));
  }
  function.results = results;
  for (ValueId v : results) function.resultTypes.push_back(rows_.typeOf(v));
  Module module = inferred_.module;
  module.functions = {ir_.own(std::move(function))};
  return substituteDims(module,
                        [&](SymbolId id) {
                          const Dim symbol = ir_.dims().symbolById(id), known = ir_.facts().canonical(symbol);
                          return known == symbol ? Dim() : known;
                        })
      .main();
}

// "" where each sequence of the results is made of that sequence alone.
std::string RaggedApart::whyMixed(const Function& function) const {
  for (const Parameter& p : function.parameters)
    if (rows_.axesOf(p.id).kind == RaggedKind::other) return "it reads " + p.type.toString();
  InferredModule alone;
  alone.module = inferred_.module;
  alone.module.functions = {&function};
  alone.contents = inferred_.contents;
  const BatchIndependence apart = batchIndependence(alone, rows_.batch().symbol(), RowsInBodies::looked);
  if (!apart.whyNot.empty()) return apart.whyNot;
  for (size_t i = 0; i < function.results.size(); ++i) {
    const RowAxes axes = rows_.axesOf(function.results[i]);
    if (axes.kind == RaggedKind::plain || (axes.kind == RaggedKind::other && !axes.isFlat))
      return "its result " + rows_.typeOf(function.results[i]).toString() + " has no rows";
    if (apart.results[i].has_value() != (axes.kind != RaggedKind::alone)) return "its results mix sequences";
  }
  return "";
}

std::string RaggedApart::emit(const std::vector<const Op*>& ops, const std::vector<ValueId>& results,
                              const std::unordered_set<ValueId>& sizes) {
  const Function* function = functionOf(ops, results, sizes);
  if (std::string why = whyMixed(*function); !why.empty()) return why;
  Body(*this, *function).run();
  return "";
}

}  // namespace dyn::passes
