#include "compiler/passes/padding/packed_recurrence.h"

#include <unordered_map>
#include <utility>

#include "compiler/ops/op_table.h"
#include "compiler/passes/recursion/level_places.h"
#include "compiler/passes/rewrite/closed_function.h"
#include "compiler/passes/rewrite/loop_captures.h"

namespace dyn::passes {

namespace {

class Emission {
 public:
  // `most`: no sequence has more steps.
  Emission(const InferredModule& inferred, const PaddedRecurrence& site, const KeptPositions& kept, Dim most)
      : ir_(*inferred.module.context),
        site_(site),
        kept_(kept),
        most_(most),
        outer_(inferred, types_, kNoValue),
        body_(inferred, types_, kNoValue) {
    outer_.setPlace(site.loop->place);
    body_.setPlace(site.loop->place);
  }

  // The final states, then what is stacked.
  std::vector<ValueId> alone(const std::vector<ValueId>& steps, std::vector<const Op*>& ops) {
    std::vector<ValueId> results = packed(steps);
    ops.insert(ops.end(), outer_.ops().begin(), outer_.ops().end());
    return results;
  }

  std::vector<ValueId> run(const std::vector<ValueId>& steps, std::vector<const Op*>& ops) {
    if (site_.isKernel) return inKernel(steps, ops);
    // A number of sizes, so that it is known before anything is computed.
    const Dim left = site_.batch * site_.sequence - kept_.count;
    const ValueId some =
        outer_.make(ops::dim_valueOp, {}, {{"value", Shape{min(left, ir_.dims().constant(1))}}});
    ops.insert(ops.end(), outer_.ops().begin(), outer_.ops().end());
    outer_.ops().clear();
    const std::vector<ValueId> wholeResults = whole(steps);
    std::vector<const Op*> wholeOps = std::exchange(outer_.ops(), {});
    const std::vector<ValueId> packedResults = packed(steps);
    std::vector<const Op*> packedOps = std::exchange(outer_.ops(), {});
    const std::vector<ValueId> captures =
        capturesOf({&wholeOps, &packedOps}, {&wholeResults, &packedResults});
    Op choice;
    choice.def = &ops::ifOp;
    choice.place = site_.loop->place;
    choice.operands = {some};
    choice.operands.insert(choice.operands.end(), captures.begin(), captures.end());
    const std::string name = site_.loop->regions[0]->name;
    choice.regions.push_back(closedFunction(ir_, name + ".packed", packedOps, packedResults, captures));
    choice.regions.push_back(closedFunction(ir_, name + ".whole", wholeOps, wholeResults, captures));
    std::vector<ValueId> stacked;
    for (size_t k = 0; k < wholeResults.size(); ++k) {
      if (k < carried()) {
        choice.results.push_back(site_.loop->results[k]);
      } else {
        stacked.push_back(ir_.newValue());
        choice.results.push_back({stacked.back(), Type()});
      }
    }
    ops.push_back(ir_.own(std::move(choice)));
    return stacked;
  }

 private:
  // Of sequences of these lengths.
  struct Order {
    ValueId order, rank, starts, stepCount;
  };
  // Of packed positions: where a step reads it, as rows of the steps, and where a buffer has what it made.
  struct Direction {
    ValueId source, place;
  };

  // Each: the final states, then rows of the kept positions of what is stacked.
  std::vector<ValueId> packed(const std::vector<ValueId>& steps) {
    const Order order = orderOf();
    const Direction direction = directionOf(order);
    const size_t states = carried(), stacked = site_.cell->results.size() - states;
    std::vector<ValueId> buffers;
    for (size_t k = 0; k < states; ++k) buffers.push_back(bufferOf(k, order));
    for (size_t k = 0; k < stacked; ++k)
      if (sharedState(k) == states) buffers.push_back(zeros(states + k, site_.batch + kept_.count));
    const std::vector<ValueId> written = loop(order, direction, buffers, steps);
    std::vector<ValueId> results;
    const ValueId last = outer_.make(ops::addOp, {gathered(outer_, order.starts, site_.lengths), order.rank});
    for (size_t k = 0; k < states; ++k) results.push_back(gathered(outer_, written[k], last));
    size_t own = states;
    for (size_t k = 0; k < stacked; ++k) {
      const size_t shared = sharedState(k);
      results.push_back(gathered(outer_, written[shared == states ? own++ : shared], direction.place));
    }
    return results;
  }

  // The loop of the program between the kept positions, and those again. What is behind the end of a sequence
  // is not read.
  std::vector<ValueId> inKernel(const std::vector<ValueId>& steps, std::vector<const Op*>& ops) {
    const auto rowOf = [&](ValueId step) {
      const ValueId batch = outer_.make(ops::dim_valueOp, {}, {{"value", Shape{site_.batch}}});
      return outer_.make(ops::addOp, {outer_.make(ops::mulOp, {step, batch}), kept_.sequence});
    };
    const ValueId row = rowOf(kept_.place);
    const ValueId at = outer_.make(ops::unsqueezeOp, {row, outer_.integers({1})});
    Op loop = *site_.loop;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Type cell = site_.cell->parameters[carried() + i].type;
      const ValueId all =
          outer_.make(ops::scatter_ndOp, {zeros(cell, site_.sequence * site_.batch), at, steps[i]});
      Shape dims{site_.sequence, site_.batch};
      dims.insert(dims.end(), cell.dims().begin() + 1, cell.dims().end());
      const ValueId step = reshaped(all, dims);
      for (size_t k = 2 + carried(); k < loop.operands.size(); ++k)
        if (site_.loop->operands[k] == site_.steps[i]) loop.operands[k] = step;
    }
    std::vector<ValueId> stacked;
    for (size_t k = carried(); k < loop.results.size(); ++k) {
      stacked.push_back(ir_.newValue());
      loop.results[k].id = stacked.back();
    }
    outer_.ops().push_back(ir_.own(std::move(loop)));
    ValueId made = row;
    if (site_.backward && !stacked.empty()) {
      const ValueId last =
          outer_.make(ops::dim_valueOp, {}, {{"value", Shape{site_.sequence - ir_.dims().constant(1)}}});
      made = rowOf(outer_.make(ops::subOp, {last, kept_.place}));
    }
    for (size_t k = 0; k < stacked.size(); ++k) {
      Shape dims = site_.cell->resultTypes[carried() + k].dims();  // [b, ...]
      dims[0] = site_.sequence * site_.batch;
      stacked[k] = gathered(outer_, reshaped(stacked[k], dims), made);
    }
    ops.insert(ops.end(), outer_.ops().begin(), outer_.ops().end());
    return stacked;
  }

  // The loop of the program, where each position is kept.
  std::vector<ValueId> whole(const std::vector<ValueId>& steps) {
    Op loop = *site_.loop;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Shape& cell = site_.cell->parameters[carried() + i].type.dims();  // [b, ...]
      Shape dims{site_.batch, site_.sequence};
      dims.insert(dims.end(), cell.begin() + 1, cell.end());
      const ValueId step = sidesChanged(reshaped(steps[i], dims), dims.size());
      for (size_t k = 2 + carried(); k < loop.operands.size(); ++k)
        if (site_.loop->operands[k] == site_.steps[i]) loop.operands[k] = step;
    }
    std::vector<ValueId> results;
    for (ValueDef& r : loop.results) {
      r.id = ir_.newValue();
      results.push_back(r.id);
    }
    outer_.ops().push_back(ir_.own(std::move(loop)));
    for (size_t k = carried(); k < results.size(); ++k) {
      if (site_.backward)
        results[k] =
            outer_.make(ops::sliceOp, {results[k], outer_.integers({-1}), outer_.integers({INT64_MIN}),
                                       outer_.integers({0}), outer_.integers({-1})});
      Shape dims = site_.cell->resultTypes[k].dims();  // [b, ...]
      results[k] = sidesChanged(results[k], dims.size() + 1);
      dims[0] = kept_.count;
      results[k] = reshaped(results[k], dims);
    }
    return results;
  }
  ValueId reshaped(ValueId v, const Shape& dims) {
    return outer_.make(ops::reshapeOp, {v, outer_.make(ops::dims_valueOp, {}, {{"value", dims}})},
                       {{"allowzero", int64_t{1}}});
  }
  // [b, s, ...] as [s, b, ...], and back.
  ValueId sidesChanged(ValueId v, size_t rank) {
    std::vector<int64_t> order{1, 0};
    while (order.size() < rank) order.push_back(static_cast<int64_t>(order.size()));
    return outer_.make(ops::transposeOp, {v}, {{"perm", order}});
  }

  size_t carried() const { return static_cast<size_t>(site_.loop->attributes.integer("carried")); }
  // The state that stacked value `k` is; as many as there are states: it is none.
  size_t sharedState(size_t k) const {
    const std::vector<ValueId>& results = site_.cell->results;
    size_t state = 0;
    while (state < carried() && results[state] != results[carried() + k]) ++state;
    return state;
  }

  static ValueId gathered(BatchedIterations& b, ValueId from, ValueId at) {
    return b.make(ops::gatherOp, {from, at}, {{"axis", int64_t{0}}});
  }
  ValueId countTo(Dim size) {
    return outer_.make(
        ops::rangeOp,
        {outer_.integer(0), outer_.make(ops::dim_valueOp, {}, {{"value", Shape{size}}}), outer_.integer(1)});
  }
  ValueId sum(ValueId v, int64_t axis) {
    return outer_.make(ops::reduce_sumOp,
                       {outer_.make(ops::castOp, {v}, {{"to", Dtype::i64}}), outer_.integers({axis})},
                       {{"keepdims", int64_t{0}}});
  }

  // Sequences by length, and where the rows of each step begin.
  Order orderOf() {
    Order o;
    const ValueId all = outer_.make(ops::dim_valueOp, {}, {{"value", Shape{site_.batch}}});
    const ValueId sortedLengths = ir_.newValue();
    o.order = topk(site_.lengths, all, true, sortedLengths);
    o.rank = topk(o.order, all, false, ir_.newValue());
    const ValueId runs =
        outer_.make(ops::lessOp, {outer_.make(ops::unsqueezeOp, {countTo(most_), outer_.integers({1})}),
                                  outer_.make(ops::unsqueezeOp, {sortedLengths, outer_.integers({0})})});
    const ValueId counts = sum(runs, 1);
    const ValueId ends =
        outer_.make(ops::addOp, {outer_.make(ops::cumsumOp, {counts, outer_.integer(0)}), all});
    const ValueId first = outer_.make(ops::reshapeOp, {all, outer_.integers({1})});
    o.starts = outer_.make(ops::concatOp, {outer_.integers({0}), first, ends}, {{"axis", int64_t{0}}});
    o.stepCount = sum(outer_.make(ops::greaterOp, {counts, outer_.integer(0)}), 0);
    return o;
  }

  ValueId topk(ValueId of, ValueId count, bool largest, ValueId values) {
    Op op;
    op.def = &ops::topkOp;
    op.place = site_.loop->place;
    op.operands = {of, count};
    op.attributes = {{"axis", int64_t{0}}, {"largest", int64_t{largest}}};
    const ValueId places = ir_.newValue();
    op.results.push_back({values, Type()});
    op.results.push_back({places, Type()});
    outer_.ops().push_back(ir_.own(std::move(op)));
    return places;
  }

  Direction directionOf(const Order& o) {
    const ValueId rank = gathered(outer_, o.rank, kept_.sequence);
    const auto rowAt = [&](ValueId step) {
      const ValueId start = gathered(outer_, o.starts, outer_.make(ops::addOp, {step, outer_.integer(1)}));
      return outer_.make(ops::addOp, {start, rank});
    };
    ValueId step = kept_.place;
    if (site_.backward) {  // counted from the end
      const ValueId last =
          outer_.make(ops::subOp, {gathered(outer_, site_.lengths, kept_.sequence), outer_.integer(1)});
      step = outer_.make(ops::subOp, {last, kept_.place});
    }
    Direction d;
    const ValueId read = rowAt(step);
    d.place = site_.backward && site_.inStepOrder ? rowAt(kept_.place) : read;
    const ValueId among =
        outer_.make(ops::subOp, {read, outer_.make(ops::dim_valueOp, {}, {{"value", Shape{site_.batch}}})});
    const ValueId numbers = countTo(kept_.count);
    d.source = outer_.make(ops::scatter_ndOp,
                           {numbers, outer_.make(ops::unsqueezeOp, {among, outer_.integers({1})}), numbers});
    return d;
  }

  // --- buffers: a block of rows for the states before, then one for each step

  // As many rows of result `k` of the cell.
  ValueId zeros(size_t k, Dim count) { return zeros(site_.cell->resultTypes[k], count); }
  // `type`: with one row for each sequence.
  ValueId zeros(Type type, Dim count) {
    Shape dims = type.dims();
    dims[0] = count;
    const ValueId zero = outer_.make(ops::constantOp, {}, {{"value", HostTensor::scalar(type.dtype(), 0)}});
    return outer_.make(ops::expandOp,
                       {zero, outer_.make(ops::dims_valueOp, {}, {{"value", std::move(dims)}})});
  }
  ValueId bufferOf(size_t k, const Order& o) {
    return outer_.make(ops::concatOp,
                       {gathered(outer_, site_.loop->operands[2 + k], o.order), zeros(k, kept_.count)},
                       {{"axis", int64_t{0}}});
  }

  // --- the loop

  std::vector<ValueId> loop(const Order& o, const Direction& direction, const std::vector<ValueId>& buffers,
                            const std::vector<ValueId>& rows) {
    BatchedIterations& b = body_;
    const ValueId number = ir_.newValue();
    const ValueId level = b.make(ops::addOp, {number, b.integer(1)});
    const ValueId places = placesOfLevel(ir_, b, captures_.of(o.starts), level);
    const ValueId first = gathered(b, captures_.of(o.starts), level),
                  before = gathered(b, captures_.of(o.starts), number);
    const ValueId previous = b.make(ops::addOp, {b.make(ops::subOp, {places, first}), before});
    const ValueId step =
        b.make(ops::subOp, {places, b.make(ops::dim_valueOp, {}, {{"value", Shape{site_.batch}}})});
    const ValueId source = gathered(b, captures_.of(direction.source), step);
    std::vector<ValueId> inside;
    for (size_t k = 0; k < buffers.size(); ++k) inside.push_back(ir_.newValue());
    std::vector<ValueId> arguments;
    for (size_t k = 0; k < carried(); ++k) arguments.push_back(gathered(b, inside[k], previous));
    for (ValueId row : rows) arguments.push_back(gathered(b, captures_.of(row), source));
    for (ValueId v : site_.captures) arguments.push_back(captures_.of(v));
    const std::vector<ValueId> made = cell(arguments);
    const ValueId at = b.make(ops::reshapeOp, {places, b.integers({-1, 1})});
    std::vector<ValueId> after;
    for (size_t k = 0; k < made.size(); ++k)
      if (k < carried() || sharedState(k - carried()) == carried())
        after.push_back(b.make(ops::scatter_ndOp, {inside[after.size()], at, made[k]}));
    return finish(o, number, buffers, inside, after);
  }

  // The operations of the cell for the rows at hand.
  std::vector<ValueId> cell(const std::vector<ValueId>& arguments) {
    std::unordered_map<ValueId, ValueId> now;
    for (size_t i = 0; i < arguments.size(); ++i) now[site_.cell->parameters[i].id] = arguments[i];
    for (const Op* op : site_.cell->ops) {
      Op copy = *op;
      for (ValueId& v : copy.operands)
        if (v != kNoValue) v = now.at(v);
      for (ValueDef& r : copy.results) {
        const ValueId id = ir_.newValue();
        now[r.id] = id;
        r = {id, Type()};
      }
      body_.ops().push_back(ir_.own(std::move(copy)));
    }
    std::vector<ValueId> results;
    for (ValueId v : site_.cell->results) results.push_back(now.at(v));
    return results;
  }

  std::vector<ValueId> finish(const Order& o, ValueId number, const std::vector<ValueId>& buffers,
                              const std::vector<ValueId>& inside, const std::vector<ValueId>& after) {
    const ValueId yes =
        body_.make(ops::constantOp, {}, {{"value", HostTensor::scalarInt(Dtype::boolean, 1)}});
    Function body;
    body.name = ir_.uniqueFunctionName(site_.loop->regions[0]->name + ".kept");
    body.place = site_.loop->place;
    body.parameters.push_back({number, ir_.tensorType(Shape{}, Dtype::i64)});
    body.results.push_back(yes);
    Op loop;
    loop.def = &ops::loopOp;
    loop.place = site_.loop->place;
    loop.operands = {o.stepCount, kNoValue};
    std::vector<ValueId> results;
    for (size_t k = 0; k < buffers.size(); ++k) {
      body.parameters.push_back({inside[k], Type()});
      body.results.push_back(after[k]);
      loop.operands.push_back(buffers[k]);
      results.push_back(ir_.newValue());
      loop.results.push_back({results.back(), Type()});
    }
    captures_.addTo(body, loop);
    loop.attributes = {{"carried", static_cast<int64_t>(buffers.size())}};
    body.ops = std::move(body_.ops());
    body.resultTypes.resize(body.results.size());
    loop.regions = {ir_.own(std::move(body))};
    outer_.ops().push_back(ir_.own(std::move(loop)));
    return results;
  }

  IrContext& ir_;
  const PaddedRecurrence& site_;
  const KeptPositions& kept_;
  const Dim most_;
  const std::unordered_map<ValueId, Type> types_;
  BatchedIterations outer_, body_;
  LoopCaptures captures_{ir_};
};

}  // namespace

std::vector<ValueId> packedRecurrence(const InferredModule& inferred, const PaddedRecurrence& site,
                                      const KeptPositions& kept, const std::vector<ValueId>& steps,
                                      std::vector<const Op*>& ops) {
  return Emission(inferred, site, kept, site.sequence).run(steps, ops);
}

std::vector<ValueId> recurrenceOfSequences(const InferredModule& inferred, const PaddedRecurrence& site,
                                           const KeptPositions& kept, const std::vector<ValueId>& steps,
                                           std::vector<const Op*>& ops) {
  return Emission(inferred, site, kept, kept.count).alone(steps, ops);
}

}  // namespace dyn::passes
