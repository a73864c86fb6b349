#include "compiler/passes/many/loop_of_active.h"

#include <cstdint>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/control_rules.h"
#include "compiler/passes/many/many_region.h"

namespace dyn::passes {

namespace {

class LoopOfActive {
 public:
  LoopOfActive(ManyBody& outer, const Op& op, const std::vector<Layout>& layouts)
      : outer_(outer),
        module_(outer.module()),
        ir_(outer.ir()),
        make_(outer.make()),
        op_(op),
        body_(*op.regions[0]),
        layouts_(layouts),
        carried_(static_cast<size_t>(op.attributes.integer("carried"))),
        stacks_(op.results.size() > carried_),
        region_(outer.module(), body_) {}

  void run() {
    findStart();
    const ValueId number = region_.parameter(body_.parameters[0].id, Layout::shared);
    active_ = moving(start_, number64());
    for (size_t k = 0; k < carried_; ++k) {
      const ValueId initial = outer_.batchedOf(op_.operands[2 + k]);
      grows_.push_back(!module_.isUniform(op_.results[k].type));
      still(grows_[k]
                ? appended(make_, outer_.count(), outer_.emptyList(op_.results[k].type), {initial}, slice)
                : initial);
      if (grows_[k] && growing_ == kNone) growing_ = k;
    }
    if (stacks_) still(initialLengths());
    if (growing_ != kNone) {
      positions_ = still_.size();
      still(make_.make(ops::rangeOp, {make_.integer(0), outer_.count(), make_.integer(1)}));
    }
    for (size_t k = 0; k < carried_; ++k) compact(op_.operands[2 + k], body_.parameters[1 + k].id);
    for (size_t i = 1 + carried_; i < body_.parameters.size(); ++i)
      if (layouts_[i] == Layout::batched && !module_.uses().unused(body_.parameters[i].id))
        compact(op_.operands[i + 1], body_.parameters[i].id);
    if (isBatched(op_.operands[0])) limit_ = moving(pick(tripsOf()), number64());
    captureShared();
    equalSizes();
    region_.body().setCount(sizeOf(region_.make(), active_));
    region_.translate();
    endOfIteration(number);
    finish();
  }

 private:
  bool isBatched(ValueId v) const { return v != kNoValue && !outer_.isShared(v); }
  Type number64() { return ir_.tensorType(Shape{}, Dtype::i64); }
  ValueId vector(ValueId v) { return make_.make(ops::reshapeOp, {v, make_.integers({-1})}); }
  ValueId tripsOf() { return make_.cast(vector(outer_.valueOf(op_.operands[0])), Dtype::i64); }

  // The instances that begin: those with a trip count above 0 whose condition holds.
  void findStart() {
    if (isBatched(op_.operands[0])) mask_ = make_.make(ops::greaterOp, {tripsOf(), make_.integer(0)});
    if (isBatched(op_.operands[1])) {
      const ValueId condition = vector(outer_.valueOf(op_.operands[1]));
      mask_ = mask_ == kNoValue ? condition : make_.make(ops::logical_andOp, {mask_, condition});
    }
    start_ = mask_ == kNoValue
                 ? make_.make(ops::rangeOp, {make_.integer(0), outer_.count(), make_.integer(1)})
                 : placesWhere(make_, mask_);
  }

  ValueId pick(ValueId batched) { return mask_ == kNoValue ? batched : make_.gather(batched, start_, 0); }

  // A carried value over the active instances, of this type for one; returns the parameter.
  ValueId moving(ValueId initial, Type ofOne) {
    sizes_.push_back(ir_.dims().any("the instances that still go on"));
    Shape dims = ofOne.dims();
    dims.insert(dims.begin(), sizes_.back());
    operands_.push_back(initial);
    moving_.push_back(region_.parameter(ir_.tensorType(dims, ofOne.dtype())));
    order_.push_back({true, moving_.size() - 1});
    return moving_.back();
  }
  // A carried value over all instances.
  void still(ValueId initial) {
    operands_.push_back(initial);
    still_.push_back(region_.parameter());
    order_.push_back({false, still_.size() - 1});
  }

  void compact(ValueId outer, ValueId parameter) {
    const Type type = module_.typeOf(parameter);
    module_.addUniform(type);
    region_.body().hold(parameter, {Layout::batched, moving(pick(outer_.batchedOf(outer)), type)});
  }

  // Iterations of each instance: those that go on to the end make the shared number.
  ValueId initialLengths() {
    const ValueId trips = op_.operands[0];
    if (trips == kNoValue || isBatched(trips)) return outer_.spread(make_.integer(0), 0);
    ValueId count =
        make_.cast(make_.make(ops::reshapeOp, {outer_.valueOf(trips), make_.integers({1})}), Dtype::i64);
    count =
        make_.make(ops::expandOp, {make_.make(ops::maxOp, {count, make_.integer(0)}), outer_.countVector()});
    return mask_ == kNoValue ? count : make_.make(ops::whereOp, {mask_, count, make_.integer(0)});
  }

  void captureShared() {
    for (size_t i = 1 + carried_; i < body_.parameters.size(); ++i) {
      const ValueId parameter = body_.parameters[i].id;
      if (module_.uses().unused(parameter)) {
        if (layouts_[i] == Layout::batched || layouts_[i] == Layout::shared)
          region_.body().hold(parameter, {layouts_[i], kNoValue});
        continue;
      }
      if (layouts_[i] != Layout::shared) continue;
      captured_.push_back(outer_.valueOf(op_.operands[i + 1]));
      region_.parameter(parameter, Layout::shared);
    }
    if (!stacks_) return;
    captured_.push_back(outer_.countVector());
    allCount_ = region_.parameter();
  }

  // All moving values are of the same instances: inference learns it here.
  void equalSizes() {
    for (size_t i = 1; i < sizes_.size(); ++i)
      region_.make().check(ops::checkOp, {},
                           {{"lhs", Shape{sizes_[i]}},
                            {"relation", std::string("eq")},
                            {"rhs", Shape{sizes_[0]}},
                            {"what", std::string("the instances that still go on")}});
  }

  // (k), where the body's condition holds and the trip count is not reached.
  ValueId whoGoesOn(ValueId number) {
    OpMaker& make = region_.make();
    const auto constant = module_.constantsOf(body_.results[0]);
    const bool always = constant && constant->size() == 1 && constant->front() != 0;
    ValueId go = kNoValue;
    if (!always || limit_ == kNoValue) {
      go = make.make(ops::reshapeOp, {region_.body().valueOf(body_.results[0]), make.integers({-1})});
      go = make.make(ops::expandOp, {go, make.make(ops::shapeOp, {active_})});
    }
    if (limit_ == kNoValue) return go;
    const ValueId done = make.make(ops::addOp, {number, make.integer(1)});
    const ValueId below = make.make(ops::lessOp, {done, limit_});
    return go == kNoValue ? below : make.make(ops::logical_andOp, {go, below});
  }

  void endOfIteration(ValueId number) {
    OpMaker& make = region_.make();
    const ValueId go = whoGoesOn(number);
    // The next values of what moves: the active ones and what is captured stay, what is carried is new.
    std::vector<ValueId> next = moving_;
    for (size_t k = 0; k < carried_; ++k) next[1 + k] = region_.body().batchedOf(body_.results[1 + k]);
    std::vector<ValueId> slices;
    for (size_t k = 1 + carried_; k < body_.results.size(); ++k) {
      const ValueId slice = region_.body().batchedOf(body_.results[k]);
      const ValueId own = make.make(ops::shapeOp, {slice}, {{"start", int64_t{1}}});
      const ValueId sizes = make.make(ops::concatOp, {allCount_, own}, {{"axis", int64_t{0}}});
      const Dtype dtype = op_.results[k - 1].type.dtype();
      const ValueId zeros = make.make(ops::expandOp, {make.number(*HostTensor::create(dtype, {})), sizes});
      slices.push_back(make.make(ops::scatter_ndOp, {zeros, rows(make, active_), slice}));
    }
    // Ended or not.
    Op split;
    split.def = &ops::ifOp;
    split.place = op_.place;
    const ValueId all = make.make(ops::reduce_minOp, {make.cast(go, Dtype::i64)}, {{"keepdims", int64_t{0}}});
    split.operands = {all, go, number};
    split.operands.insert(split.operands.end(), still_.begin(), still_.end());
    split.operands.insert(split.operands.end(), next.begin(), next.end());
    split.regions.push_back(noneEnded());
    split.regions.push_back(someEnded());
    std::vector<ValueId> after;
    for (size_t i = 0; i < still_.size() + next.size(); ++i) {
      after.push_back(ir_.newValue());
      split.results.push_back({after.back(), Type()});
    }
    make.add(std::move(split));
    const auto stillAfter = [&](size_t i) { return after[i]; };
    const auto movingAfter = [&](size_t i) { return after[still_.size() + i]; };
    region_.result(make.make(ops::greaterOp, {sizeOf(make, movingAfter(0)), make.integer(0)}));
    for (const auto& [moves, i] : order_) region_.result(moves ? movingAfter(i) : stillAfter(i));
    for (ValueId slice : slices) region_.result(slice);
  }

  static ValueId rows(OpMaker& make, ValueId numbers) {
    return make.make(ops::unsqueezeOp, {numbers, make.integers({-1})});
  }

  const Function* noneEnded() {
    ManyRegion region(module_, body_);
    region.parameter();
    region.parameter();
    for (size_t i = 0; i < still_.size() + moving_.size(); ++i) region.result(region.parameter());
    return region.finish(body_.name + ".none_ended");
  }

  const Function* someEnded() {
    ManyRegion region(module_, body_);
    OpMaker& make = region.make();
    make.standAt(op_.place);
    const ValueId go = region.parameter(), number = region.parameter();
    std::vector<ValueId> still, moving;
    for (size_t i = 0; i < still_.size(); ++i) still.push_back(region.parameter());
    for (size_t i = 0; i < moving_.size(); ++i) moving.push_back(region.parameter());
    const ValueId keep = placesWhere(make, go),
                  ended = placesWhere(make, make.make(ops::logical_notOp, {go}));
    const ValueId places = rows(make, make.gather(moving[0], ended, 0));
    for (size_t k = 0; k < carried_; ++k) {
      const ValueId last = make.gather(moving[1 + k], ended, 0);
      region.result(grows_[k] ? appended(make, sizeOf(make, ended), still[k], {last}, slice)
                              : make.make(ops::scatter_ndOp, {still[k], places, last}));
    }
    if (stacks_) {
      ValueId length = make.make(ops::addOp, {number, make.integer(1)});
      length = make.make(ops::expandOp, {length, make.make(ops::shapeOp, {ended})});
      region.result(make.make(ops::scatter_ndOp, {still[carried_], places, length}));
    }
    if (growing_ != kNone)
      region.result(placed(make, still[positions_], places, still[growing_], sizeOf(make, ended)));
    for (ValueId v : moving) region.result(make.gather(v, keep, 0));
    return region.finish(body_.name + ".some_ended");
  }

  void finish() {
    Op loop;
    loop.def = &ops::loopOp;
    loop.place = op_.place;
    loop.operands = {isBatched(op_.operands[0]) || op_.operands[0] == kNoValue
                         ? kNoValue
                         : outer_.valueOf(op_.operands[0]),
                     condition()};
    for (ValueId v : operands_) loop.operands.push_back(v);
    for (ValueId v : captured_) loop.operands.push_back(v);
    loop.attributes = {{"carried", static_cast<int64_t>(operands_.size())}};
    loop.regions = {region_.finish(body_.name)};
    std::vector<ValueId> stillAfter(still_.size()), movingAfter(moving_.size()), stacked;
    for (const auto& [moves, i] : order_) {
      const ValueId id = ir_.newValue();
      (moves ? movingAfter : stillAfter)[i] = id;
      loop.results.push_back({id, Type()});
    }
    for (size_t k = carried_; k < op_.results.size(); ++k) {
      stacked.push_back(ir_.newValue());
      loop.results.push_back({stacked.back(), Type()});
    }
    make_.add(std::move(loop));
    // A shared trip count may end the loop while instances go on.
    const bool mayGoOn = op_.operands[0] != kNoValue && !isBatched(op_.operands[0]);
    const ValueId places = mayGoOn && carried_ > 0 ? rows(make_, movingAfter[0]) : kNoValue;
    ValueId positions = growing_ == kNone ? kNoValue : stillAfter[positions_];
    if (growing_ != kNone && mayGoOn)
      positions = placed(make_, positions, places, stillAfter[growing_], sizeOf(make_, movingAfter[0]));
    for (size_t k = 0; k < carried_; ++k) {
      if (grows_[k]) {
        const ValueId ended = stillAfter[k], last = movingAfter[1 + k];
        const ValueId all =
            mayGoOn ? appended(make_, sizeOf(make_, movingAfter[0]), ended, {last}, slice) : ended;
        giveList(op_.results[k].id, {all, positions}, atPosition);
      } else if (mayGoOn) {
        outer_.give(op_, k, ops::scatter_ndOp, {stillAfter[k], places, movingAfter[1 + k]}, {});
      } else {
        outer_.give(op_, k, ops::identityOp, {stillAfter[k]}, {});
      }
    }
    for (size_t k = carried_; k < op_.results.size(); ++k)
      giveList(op_.results[k].id, {stacked[k - carried_], stillAfter[carried_]}, iterations);
  }

  // Before the first iteration.
  ValueId condition() {
    const ValueId given = op_.operands[1];
    ValueId condition = given == kNoValue || isBatched(given) ? kNoValue : outer_.valueOf(given);
    if (mask_ == kNoValue) return condition;
    const ValueId any = make_.make(ops::greaterOp, {sizeOf(make_, start_), make_.integer(0)});
    if (condition == kNoValue) return any;
    condition = make_.make(ops::reshapeOp, {condition, make_.number(*HostTensor::create(Dtype::i64, {0}))});
    return make_.make(ops::logical_andOp, {condition, any});
  }

  // The list with an item more in each of `trips` iterations: that of its number, made of the values.
  using Item = ValueId (*)(OpMaker& body, ValueId number, const std::vector<ValueId>& values);
  ValueId appended(OpMaker& make, ValueId trips, ValueId list, const std::vector<ValueId>& values, Item item,
                   ValueId into = kNoValue) {
    std::vector<const Op*> bodyOps;
    OpMaker body(ir_, bodyOps);
    body.standAt(op_.place);
    Function function;
    function.name = ir_.uniqueFunctionName(body_.name + ".items");
    function.place = op_.place;
    const ValueId number = ir_.newValue(), inside = ir_.newValue();
    function.parameters = {{number, number64()}, {inside, {}}};
    Op loop;
    loop.def = &ops::loopOp;
    loop.place = op_.place;
    loop.operands = {trips, kNoValue, list};
    std::vector<ValueId> own;
    for (ValueId v : values) {
      own.push_back(ir_.newValue());
      function.parameters.push_back({own.back(), {}});
      loop.operands.push_back(v);
    }
    const ValueId more = body.make(ops::list_appendOp, {inside, item(body, number, own)});
    function.results = {body.number(HostTensor::scalarInt(Dtype::boolean, 1)), more};
    function.resultTypes.resize(2);
    function.ops = std::move(bodyOps);
    loop.attributes = {{"carried", int64_t{1}}};
    loop.regions = {ir_.own(std::move(function))};
    const ValueId result = into == kNoValue ? ir_.newValue() : into;
    loop.results = {{result, Type()}};
    make.add(std::move(loop));
    return result;
  }
  static ValueId slice(OpMaker& body, ValueId number, const std::vector<ValueId>& values) {
    return body.gather(values[0], number, 0);
  }
  // Of (iterations, r, ...), as many iterations as the instance made.
  static ValueId iterations(OpMaker& body, ValueId number, const std::vector<ValueId>& values) {
    const ValueId end = body.make(ops::reshapeOp, {body.gather(values[1], number, 0), body.integers({1})});
    return body.make(ops::sliceOp,
                     {body.gather(values[0], number, 1), body.integers({0}), end, body.integers({0})});
  }
  static ValueId atPosition(OpMaker& body, ValueId number, const std::vector<ValueId>& values) {
    return body.make(ops::list_atOp, {values[0], body.gather(values[1], number, 0)});
  }

  void giveList(ValueId old, const std::vector<ValueId>& values, Item item) {
    const ValueId id = module_.idFor(old);
    appended(make_, outer_.count(), outer_.emptyList(module_.typeOf(old)), values, item, id);
    outer_.giveListed(old, id);
  }

  // Places of the next items of a list, for instances in these rows of `positions`.
  static ValueId placed(OpMaker& make, ValueId positions, ValueId rows, ValueId list, ValueId count) {
    const ValueId first = make.make(ops::list_lengthOp, {list});
    const ValueId numbers = make.make(ops::rangeOp, {make.integer(0), count, make.integer(1)});
    return make.make(ops::scatter_ndOp, {positions, rows, make.make(ops::addOp, {numbers, first})});
  }

  ManyBody& outer_;
  ManyModule& module_;
  IrContext& ir_;
  OpMaker& make_;
  const Op& op_;
  const Function& body_;
  const std::vector<Layout>& layouts_;
  const size_t carried_;
  const bool stacks_;
  static constexpr size_t kNone = SIZE_MAX;
  std::vector<bool> grows_;  // by carried value: its size changes from iteration to iteration
  size_t growing_ = kNone;   // the first of them
  size_t positions_ = 0;     // among what stands still: where an instance's items are in such lists
  ManyRegion region_;
  ValueId mask_ = kNoValue, start_ = kNoValue;                          // outside
  ValueId active_ = kNoValue, limit_ = kNoValue, allCount_ = kNoValue;  // parameters
  std::vector<Dim> sizes_;                                              // of what moves
  std::vector<ValueId> operands_, captured_;                            // carried at first, and captured
  std::vector<ValueId> moving_, still_;  // parameters; moving: active, carried..., captured..., limit
  struct Place {
    bool moves;
    size_t index;
  };
  std::vector<Place> order_;  // of the carried values
};

}  // namespace

void makeLoopOfActive(ManyBody& outer, const Op& loop, const std::vector<Layout>& layouts) {
  LoopOfActive(outer, loop, layouts).run();
}

}  // namespace dyn::passes
