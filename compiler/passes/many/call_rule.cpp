// Calls over many instances: the function is made once for each list of layouts that it is called with.
//
//   before  %y = call(%x, %w) {callee = "f"}           %x (n), %w (n)
//   after   %y = call(%x, %w) {callee = "f.many"}      %x (r, n), %w (n)
//
// A function that calls itself ends for each instance where it would alone: its branches part the instances,
// and a side without instances does not run.
#include "compiler/ops/op_table.h"
#include "compiler/passes/many/control_rules.h"

namespace dyn::passes {

namespace {

// Without a draft around it: what is made of a function stays.
class FunctionOfMany {
 public:
  FunctionOfMany(ManyModule& module, const Function& of, std::vector<Layout> layouts)
      : module_(module), of_(of), layouts_(std::move(layouts)) {}

  // Null: some result is no tensor, or differs in size between instances.
  const Function* run(const std::string& name) {
    IrContext& ir = module_.ir();
    const Dim lead = ir.dims().any("the number of instances of @" + name);
    Function function;
    function.name = name;
    function.place = of_.place;
    ManyBody body(module_, lead);
    for (size_t i = 0; i < layouts_.size(); ++i) {
      const Parameter& p = of_.parameters[i];
      const bool batched = layouts_[i] == Layout::batched;
      function.parameters.push_back({module_.idFor(p.id), batched ? body.batchedType(p.type) : p.type});
      module_.addUniform(p.type);
      const ValueId id = function.parameters.back().id;
      body.hold(p.id, {layouts_[i], id});
      if (batched && body.count() == kNoValue) body.setCount(sizeOf(body.make(), id));
    }
    for (Type type : of_.resultTypes) {
      if (!type || !type.isTensor() || !module_.isUniform(type)) return nullptr;
      function.resultTypes.push_back(body.batchedType(type));
    }
    body.translate(of_);
    for (ValueId v : of_.results) {
      if (body.layoutOf(v) == Layout::listed) return nullptr;
      function.results.push_back(body.batchedOf(v));
    }
    function.ops = body.takeOps();
    return ir.own(std::move(function));
  }

 private:
  ManyModule& module_;
  const Function& of_;
  std::vector<Layout> layouts_;
};

ManyFunction manyFunctionOf(ManyModule& module, const std::string& callee,
                            const std::vector<Layout>& layouts) {
  std::string key = callee + "/";
  for (Layout layout : layouts) key += layout == Layout::batched ? 'b' : 's';
  if (const auto known = module.made.find(key); known != module.made.end()) return known->second;
  const auto before = module.made;
  const size_t functions = module.functions.size();
  // A call of itself finds this entry.
  const ManyFunction asked{module.ir().uniqueFunctionName(callee + ".many"), true};
  module.made[key] = asked;
  const ManyModule::NoDraft noDraft(module);
  const ManyModule::UniformScope scope(module);
  const Function* made = FunctionOfMany(module, *module.module().find(callee), layouts).run(asked.name);
  if (made) {
    module.functions.push_back(made);
    return asked;
  }
  // Functions made meanwhile may call it.
  module.functions.resize(functions);
  module.made = before;
  module.layouts.clear();
  return module.made[key] = {"", false};
}

}  // namespace

bool callOfMany(ManyBody& body, const Op& op) {
  ManyModule& module = body.module();
  std::vector<Layout> layouts;
  for (ValueId v : op.operands) layouts.push_back(body.layoutOf(v));
  const ManyFunction function = manyFunctionOf(module, op.attributes.string("callee"), layouts);
  if (!function.whole) return false;
  std::vector<ValueId> operands;
  for (ValueId v : op.operands) operands.push_back(body.valueOf(v));
  Attributes attributes = op.attributes;
  attributes.set("callee", function.name);
  body.giveAll(op, *op.def, std::move(operands), std::move(attributes));
  return true;
}

}  // namespace dyn::passes
