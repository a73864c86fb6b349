// An `if` over many instances. Where its condition is shared, it stays one. Where the condition differs, it
// parts the instances: each side runs once, on its own instances, and not at all where it has none.
//
//   before  %y = if(%c, %x) then (%x) { A } else (%x) { B }           %c (), %x (n)
//   after   %yes = nonzero(%c)  %no = nonzero(not %c)                  %c (r), %x (r, n)
//           %a = if(min(len(%yes), 1), %yes, %x) then { A of gather(%x, %yes) } else { (0, n) }
//           %b = if(min(len(%no), 1), %no, %x) then { B of gather(%x, %no) } else { (0, n) }
//           %y = gather(concat(%a, %b), place of each instance there)
#include "compiler/passes/many/control_rules.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/many_region.h"

namespace dyn::passes {

namespace {

class BranchRule {
 public:
  BranchRule(ManyBody& outer, const Op& op)
      : outer_(outer), module_(outer.module()), make_(outer.make()), op_(op) {}

  bool run() {
    for (size_t i = 1; i < op_.operands.size(); ++i) captures_.push_back(outer_.layoutOf(op_.operands[i]));
    const bool parts = !outer_.isShared(op_.operands[0]);
    layouts_.assign(op_.results.size(), parts ? Layout::batched : Layout::shared);
    for (const Function* side : op_.regions) {
      const std::vector<Layout> found = resultLayouts(module_, *side, captures_);
      for (size_t k = 0; k < layouts_.size(); ++k) layouts_[k] = std::max(layouts_[k], found[k]);
    }
    for (size_t k = 0; k < layouts_.size(); ++k) {
      if (layouts_[k] == Layout::listed) return false;
      const Type type = op_.results[k].type;
      if (parts && !(type.isTensor() && module_.isUniform(type))) return false;
      if (layouts_[k] == Layout::batched && !type.isTensor()) return false;
    }
    if (module_.isDraft()) {
      holdDraft();
    } else if (parts) {
      part();
    } else {
      together();
    }
    return true;
  }

 private:
  void holdDraft() {
    for (size_t k = 0; k < layouts_.size(); ++k) {
      const ValueId id = outer_.ir().newValue();
      layouts_[k] == Layout::batched ? outer_.give(op_, k, id) : outer_.giveShared(op_, k, id);
    }
  }

  // All instances go one way.
  void together() {
    Op made = op_;
    made.operands = {outer_.valueOf(op_.operands[0]), outer_.count()};
    for (size_t i = 1; i < op_.operands.size(); ++i) made.operands.push_back(outer_.valueOf(op_.operands[i]));
    for (size_t side = 0; side < 2; ++side) {
      ManyRegion region(module_, *op_.regions[side]);
      region.body().setCount(region.parameter());
      for (size_t i = 0; i < captures_.size(); ++i)
        region.parameter(op_.regions[side]->parameters[i].id, captures_[i]);
      region.translate();
      for (size_t k = 0; k < layouts_.size(); ++k) {
        const ValueId v = op_.regions[side]->results[k];
        region.result(layouts_[k] == Layout::batched ? region.body().batchedOf(v) : region.body().valueOf(v));
      }
      made.regions[side] = region.finish(op_.regions[side]->name);
    }
    for (size_t k = 0; k < layouts_.size(); ++k) {
      const ValueId id = module_.idFor(op_.results[k].id);
      const bool batched = layouts_[k] == Layout::batched;
      made.results[k] = {id, batched ? outer_.batchedType(op_.results[k].type) : op_.results[k].type};
      batched ? outer_.give(op_, k, id) : outer_.giveShared(op_, k, id);
    }
    make_.add(std::move(made));
  }

  void part() {
    module_.count("parted_branches");
    ValueId condition = make_.make(ops::reshapeOp, {outer_.valueOf(op_.operands[0]), make_.integers({-1})});
    condition = make_.cast(condition, Dtype::boolean);
    const ValueId otherwise = make_.make(ops::logical_notOp, {condition});
    const ValueId yes = placesWhere(make_, condition), no = placesWhere(make_, otherwise);
    const std::vector<ValueId> ofYes = side(0, yes), ofNo = side(1, no);
    const ValueId place =
        make_.make(ops::whereOp, {condition, numbersOf(condition),
                                  make_.make(ops::addOp, {numbersOf(otherwise), sizeOf(make_, yes)})});
    for (size_t k = 0; k < layouts_.size(); ++k) {
      const ValueId both = make_.make(ops::concatOp, {ofYes[k], ofNo[k]}, {{"axis", int64_t{0}}});
      outer_.give(op_, k, ops::gatherOp, {both, place}, {{"axis", int64_t{0}}});
    }
  }

  // The how many-th true element each is.
  ValueId numbersOf(ValueId mask) {
    const ValueId counted = make_.make(ops::cumsumOp, {make_.cast(mask, Dtype::i64), make_.integer(0)});
    return make_.make(ops::subOp, {counted, make_.integer(1)});
  }

  // The results of one side on the instances at `places`.
  std::vector<ValueId> side(size_t which, ValueId places) {
    const Function& of = *op_.regions[which];
    Op made;
    made.def = &ops::ifOp;
    made.place = op_.place;
    made.operands = {make_.make(ops::minOp, {sizeOf(make_, places), make_.integer(1)}), places};
    ManyRegion some(module_, of), none(module_, of);
    const ValueId own = some.parameter();
    none.parameter();
    some.body().setCount(sizeOf(some.make(), own));
    for (size_t i = 0; i < captures_.size(); ++i) {
      const ValueId parameter = of.parameters[i].id;
      if (module_.uses().unused(parameter)) {
        some.body().hold(parameter, {captures_[i], kNoValue});
        continue;
      }
      made.operands.push_back(outer_.valueOf(op_.operands[i + 1]));
      none.parameter();
      if (captures_[i] == Layout::shared) {
        some.parameter(parameter, Layout::shared);
        continue;
      }
      module_.addUniform(module_.typeOf(parameter));
      const ValueId all = some.parameter();
      some.body().hold(parameter, {Layout::batched, some.make().gather(all, own, 0)});
    }
    some.translate();
    for (size_t k = 0; k < layouts_.size(); ++k) {
      some.result(some.body().batchedOf(of.results[k]));
      none.result(nothing(none.make(), op_.results[k].type));
    }
    made.regions.push_back(some.finish(of.name));
    made.regions.push_back(none.finish("nobody"));
    std::vector<ValueId> results;
    for (size_t k = 0; k < layouts_.size(); ++k) {
      results.push_back(outer_.ir().newValue());
      made.results.push_back({results.back(), Type()});
    }
    make_.add(std::move(made));
    return results;
  }

  // (0, dims...)
  ValueId nothing(OpMaker& make, Type type) {
    Shape dims = type.dims();
    dims.insert(dims.begin(), outer_.ir().dims().constant(0));
    return make.make(ops::expandOp, {make.number(*HostTensor::create(type.dtype(), {})), make.sizes(dims)});
  }

  ManyBody& outer_;
  ManyModule& module_;
  OpMaker& make_;
  const Op& op_;
  std::vector<Layout> captures_, layouts_;
};

bool branch(ManyBody& body, const Op& op) { return BranchRule(body, op).run(); }

}  // namespace

ValueId placesWhere(OpMaker& make, ValueId mask) {
  return make.make(ops::reshapeOp, {make.make(ops::nonzeroOp, {mask}), make.integers({-1})});
}

ValueId sizeOf(OpMaker& make, ValueId vector) {
  return make.gather(make.make(ops::shapeOp, {vector}), make.integer(0), 0);
}

std::vector<VectorizeRow> controlRules() {
  return {
      {&ops::ifOp, branch},
      {&ops::loopOp, loopOfMany},
      {&ops::callOp, callOfMany},
  };
}

}  // namespace dyn::passes
