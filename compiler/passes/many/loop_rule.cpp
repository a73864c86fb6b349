// A `loop` over many instances. Where all make the same iterations, it stays one loop, whose body is over all
// of them. Where the number differs, an iteration runs over the instances that still go on; those that end
// are put into place, and the values of the others move together:
//
//   before  %h = loop(%n, _, %h0, %x) body (%i, %h, %x) { ... return %go, %next }
//   after   %all, ... = loop(_, _, %active, %h0, %h0, %x) body (%i, %active, %all, %h, %x) {
//             ... over the (k) instances %active
//             %all, %active, %h, %x = if(all of %go) then { as they are, %next for %h } else {
//               %keep = nonzero(%go)  %ended = nonzero(not %go)
//               scatter_nd(%all, %active[%ended], %next[%ended]), %active[%keep], %next[%keep], %x[%keep] }
//             return len(%active) > 0, %active, %all, %h, %x
//           }
//
// Values stacked by such a loop have a length for each instance: they become a list. So does a carried value
// whose size changes from iteration to iteration, as a cache: those that end are appended to a list.
#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/control_rules.h"
#include "compiler/passes/many/loop_of_active.h"
#include "compiler/passes/many/many_region.h"

namespace dyn::passes {

namespace {

class LoopRule {
 public:
  LoopRule(ManyBody& outer, const Op& op)
      : outer_(outer), module_(outer.module()), op_(op), body_(*op.regions[0]) {}

  bool run() {
    const auto carried = static_cast<size_t>(op_.attributes.integer("carried"));
    iterationsDiffer_ = isBatched(op_.operands[0]) || isBatched(op_.operands[1]);
    layouts_ = {Layout::shared};
    for (size_t i = 2; i < op_.operands.size(); ++i) layouts_.push_back(outer_.layoutOf(op_.operands[i]));
    for (bool settled = false; !settled;) {
      settled = true;
      found_ = resultLayouts(module_, body_, layouts_);
      iterationsDiffer_ = iterationsDiffer_ || found_[0] != Layout::shared;
      for (size_t k = 1; k <= carried; ++k) {
        const Layout needed = std::max(found_[k], iterationsDiffer_ ? Layout::batched : Layout::shared);
        if (needed <= layouts_[k]) continue;
        layouts_[k] = needed;
        settled = false;
      }
    }
    for (Layout found : found_)
      if (found == Layout::listed) return false;
    for (size_t k = 0; k < op_.results.size(); ++k) {
      const Type type = op_.results[k].type;
      if (isBatchedResult(k, carried) && !type.isTensor()) return false;
    }
    if (module_.isDraft()) {
      holdDraft(carried);
    } else if (iterationsDiffer_) {
      module_.count("loops_of_active_instances");
      makeLoopOfActive(outer_, op_, layouts_);
    } else {
      together(carried);
    }
    return true;
  }

 private:
  bool isBatched(ValueId v) const { return v != kNoValue && !outer_.isShared(v); }
  bool isBatchedResult(size_t k, size_t carried) const {
    return k < carried ? layouts_[1 + k] == Layout::batched
                       : iterationsDiffer_ || found_[1 + k] == Layout::batched;
  }

  void holdDraft(size_t carried) {
    for (size_t k = 0; k < op_.results.size(); ++k) {
      const ValueId id = outer_.ir().newValue();
      if (iterationsDiffer_ && (k >= carried || !module_.isUniform(op_.results[k].type)))
        outer_.giveListed(op_.results[k].id, id);
      else if (isBatchedResult(k, carried))
        outer_.give(op_, k, id);
      else
        outer_.giveShared(op_, k, id);
    }
  }

  void together(size_t carried) {
    Op made = op_;
    made.operands = {op_.operands[0] == kNoValue ? kNoValue : outer_.valueOf(op_.operands[0]),
                     op_.operands[1] == kNoValue ? kNoValue : outer_.valueOf(op_.operands[1])};
    ManyRegion region(module_, body_);
    for (size_t i = 0; i < body_.parameters.size(); ++i) {
      region.parameter(body_.parameters[i].id, layouts_[i]);
      if (i > 0) made.operands.push_back(inLayout(outer_, op_.operands[i + 1], layouts_[i]));
    }
    made.operands.push_back(outer_.count());
    region.body().setCount(region.parameter());
    region.translate();
    for (size_t k = 0; k < body_.results.size(); ++k) {
      const bool batched = k > 0 && isBatchedResult(k - 1, carried);
      region.result(inLayout(region.body(), body_.results[k], batched ? Layout::batched : Layout::shared));
    }
    made.regions = {region.finish(body_.name)};
    std::vector<ValueId> ids;
    for (size_t k = 0; k < op_.results.size(); ++k) {
      const bool stacked = k >= carried, batched = isBatchedResult(k, carried);
      ids.push_back(stacked && batched ? outer_.ir().newValue() : module_.idFor(op_.results[k].id));
      const Type type = op_.results[k].type;
      made.results[k] = {ids[k], !batched ? type : stacked ? stackedType(type) : outer_.batchedType(type)};
    }
    outer_.make().add(std::move(made));
    for (size_t k = 0; k < op_.results.size(); ++k) {
      if (!isBatchedResult(k, carried)) {
        outer_.giveShared(op_, k, ids[k]);
      } else if (k < carried) {
        outer_.give(op_, k, ids[k]);
      } else {
        // (iterations, r, ...): the instances come first.
        std::vector<int64_t> order{1, 0};
        for (int axis = 2; axis <= op_.results[k].type.rank(); ++axis) order.push_back(axis);
        outer_.give(op_, k, ops::transposeOp, {ids[k]}, {{"perm", order}});
      }
    }
  }

  // (iterations, r, ...): the number of iterations keeps its name.
  Type stackedType(Type type) {
    const Type batched = outer_.batchedType(type);
    Shape dims = batched.dims();
    std::swap(dims[0], dims[1]);
    return outer_.ir().tensorType(dims, batched.dtype());
  }

  static ValueId inLayout(ManyBody& body, ValueId old, Layout layout) {
    return layout == Layout::batched ? body.batchedOf(old) : body.valueOf(old);
  }

  ManyBody& outer_;
  ManyModule& module_;
  const Op& op_;
  const Function& body_;
  bool iterationsDiffer_ = false;
  std::vector<Layout> layouts_, found_;  // of the body's parameters and results
};

}  // namespace

bool loopOfMany(ManyBody& body, const Op& op) { return LoopRule(body, op).run(); }

}  // namespace dyn::passes
