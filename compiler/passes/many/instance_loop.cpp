#include "compiler/passes/many/instance_loop.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/loop_captures.h"

namespace dyn::passes {

namespace {

class InstanceLoop {
 public:
  InstanceLoop(ManyBody& outer, const std::vector<const Op*>& ops)
      : outer_(outer), module_(outer.module()), ir_(outer.ir()), ops_(ops) {}

  void run() {
    const Function& alone = *withoutChecks(ofOne());
    ValueMap arguments;
    for (size_t i = 0; i < alone.parameters.size(); ++i)
      arguments[alone.parameters[i].id] = ofInstance(operands_[i]);
    const Function* made = replaceValues(ir_, alone, arguments);
    for (const Op* op : made->ops) {
      Op copy = *op;
      for (ValueDef& r : copy.results) r.type = Type();
      bodyOps_.push_back(ir_.own(std::move(copy)));
    }
    finish(made->results);
  }

 private:
  // The operations as a function of what they read, with ids of their own.
  const Function& ofOne() {
    Function function;
    function.name = "instance";
    function.place = ops_.front()->place;
    for (const Op* op : ops_) {
      Op copy = *op;
      copy.attributes = module_.attributesOf(*op);
      function.ops.push_back(ir_.own(std::move(copy)));
    }
    std::unordered_set<ValueId> made, read;
    std::unordered_set<const Op*> own(ops_.begin(), ops_.end());
    for (const Op* op : ops_) {
      for (ValueId v : op->operands) {
        if (v == kNoValue || made.count(v) || !read.insert(v).second) continue;
        operands_.push_back(v);
        function.parameters.push_back({v, module_.typeOf(v)});
      }
      for (const ValueDef& r : op->results) {
        if (r.id == kNoValue) continue;
        made.insert(r.id);
        const auto uses = module_.uses().of(r.id);
        if (std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return !u.op || !own.count(u.op); }))
          results_.push_back(r.id);
      }
    }
    function.results = results_;
    for (ValueId v : results_) function.resultTypes.push_back(module_.typeOf(v));
    return *cloneWithNewIds(ir_, *ir_.own(std::move(function)), ir_.uniqueFunctionName("instance"));
  }

  // Checks of sizes that differ between instances: their dims stand for nothing in the loop, where inference
  // makes them anew.
  const Function* withoutChecks(const Function& function) {
    Module module = module_.module();
    module.functions = {&function};
    return rewriteFunctions(module,
                            [&](const Function& f) -> Result<const Function*> {
                              Function kept = f;
                              std::erase_if(kept.ops,
                                            [&](const Op* op) { return isCheckOfOne(module_, *op); });
                              return kept.ops.size() == f.ops.size() ? &f : ir_.own(std::move(kept));
                            })
        ->functions[0];
  }

  ValueId ofInstance(ValueId old) {
    const ValueId inside = captures_.of(outer_.valueOf(old));
    switch (outer_.layoutOf(old)) {
      case Layout::shared:
        break;
      case Layout::batched:
        return body_.gather(inside, number_, 0);
      case Layout::listed:
        return body_.make(ops::list_atOp, {inside, number_});
    }
    return inside;
  }

  void finish(const std::vector<ValueId>& made) {
    Function body;
    body.name = ir_.uniqueFunctionName("for_each_instance");
    body.place = ops_.front()->place;
    body.parameters.push_back({number_, ir_.tensorType(Shape{}, Dtype::i64)});
    Op loop;
    loop.def = &ops::loopOp;
    loop.place = body.place;
    loop.operands = {outer_.count(), kNoValue};
    std::vector<ValueId> carried, stacked;
    std::vector<ValueDef> lists, tensors;
    for (size_t k = 0; k < results_.size(); ++k) {
      const ValueId old = results_[k], id = module_.idFor(old);
      if (instanceLoopLayout(module_, old) == Layout::batched) {
        stacked.push_back(made[k]);
        tensors.push_back({id, outer_.batchedType(module_.typeOf(old))});
        outer_.hold(old, {Layout::batched, id});
        continue;
      }
      const ValueId inside = ir_.newValue();
      loop.operands.push_back(outer_.emptyList(module_.typeOf(old)));
      body.parameters.push_back({inside, Type()});
      carried.push_back(body_.make(ops::list_appendOp, {inside, made[k]}));
      lists.push_back({id, Type()});
      outer_.hold(old, {Layout::listed, id});
    }
    captures_.addTo(body, loop);
    body.results.push_back(body_.number(HostTensor::scalarInt(Dtype::boolean, 1)));
    body.results.insert(body.results.end(), carried.begin(), carried.end());
    body.results.insert(body.results.end(), stacked.begin(), stacked.end());
    body.resultTypes.resize(body.results.size());
    loop.attributes = {{"carried", static_cast<int64_t>(carried.size())}};
    lists.insert(lists.end(), tensors.begin(), tensors.end());
    loop.results = lists;
    body.ops = std::move(bodyOps_);
    loop.regions = {ir_.own(std::move(body))};
    outer_.make().add(std::move(loop));
  }

  ManyBody& outer_;
  ManyModule& module_;
  IrContext& ir_;
  const std::vector<const Op*>& ops_;
  std::vector<ValueId> operands_, results_;
  const ValueId number_ = ir_.newValue();
  std::vector<const Op*> bodyOps_;
  OpMaker body_{ir_, bodyOps_};
  LoopCaptures captures_{ir_};
};

}  // namespace

bool isCheckOfOne(const ManyModule& module, const Op& op) {
  return op.def == &ops::checkOp &&
         !(module.isUniform(op.attributes.dims("lhs")) && module.isUniform(op.attributes.dims("rhs")));
}

Layout instanceLoopLayout(const ManyModule& module, ValueId result) {
  const Type type = module.typeOf(result);
  return type.isTensor() && module.isUniform(type) ? Layout::batched : Layout::listed;
}

void makeInstanceLoop(ManyBody& body, const std::vector<const Op*>& ops) { InstanceLoop(body, ops).run(); }

}  // namespace dyn::passes
