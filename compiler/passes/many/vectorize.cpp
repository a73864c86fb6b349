// Makes a program of one instance a program of `r` instances of equal sizes (vmap).
//   requires: types.  provides: nothing that others rely on.
//   before  fn @main(%x: Tensor[(64), f32]) {
//             %h = matmul(%x, %w)  %s = reduce_sum(%h)  %y = if(greater(%s, 0), %h) then { A } else { B } }
//   after   fn @main(%x: Tensor[(r, 64), f32]) {
//             %h = matmul(%x, %w)  %s = reduce_sum(%h, [1])
//             %y = A on the rows of %h where greater(%s, 0), and B on the others, in their order }
// Every result and every input, or those that the option `inputs` names, get a leading axis `r`; an input
// that is no tensor becomes a list, as does a result whose sizes differ between instances.
// many_module.h says how values are held, vectorize_rules.h how operations are joined, instance_loop.h what
// happens to the others.
// Results equal those of each instance alone, but for the order of the sums in products of another number of
// rows.
// Cost in IR size: linear; a function once for each list of layouts of its arguments.
#include <algorithm>

#include "compiler/dims/ragged_dim.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/many/instance_loop.h"
#include "compiler/passes/many/many_body.h"
#include "compiler/passes/many/many_inputs.h"

namespace dyn::passes {

namespace {

Error notMany(const std::string& reason) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: many instances: " + reason);
}

class MainOfMany {
 public:
  MainOfMany(ManyModule& module, const std::vector<std::string>& inputs)
      : module_(module), ir_(module.ir()), old_(*module.module().main()), inputs_(inputs), lead_(newLead()) {}

  // `together`: by the rules; else the whole program runs in one loop over the instances.
  Result<const Function*> run(bool together) {
    Function main = old_;
    main.ops.clear();
    ManyBody body(module_, lead_);
    body.make().standAt(old_.place);
    ValueId firstList = kNoValue;
    for (Parameter& p : main.parameters) {
      const Type type = p.type;
      if (type.isTensor() && isRagged(type.dims()))
        return notMany("input %" + ir_.valueName(p.id) + " is ragged: a batch already");
      (void)module_.idFor(p.id);
      if (isShared(p.id)) {
        module_.addUniform(type);
        body.hold(p.id, {Layout::shared, p.id});
      } else if (type.isTensor()) {
        module_.addUniform(type);
        p.type = body.batchedType(type);
        body.hold(p.id, {Layout::batched, p.id});
        anyBatched_ = true;
      } else {
        p.type = ir_.listType(type);
        body.hold(p.id, {Layout::listed, p.id});
        if (firstList == kNoValue) firstList = p.id;
        checkLength(body, p.id);
      }
    }
    if (!anyBatched_ && firstList == kNoValue) return notMany("no input differs between instances");
    body.setCount(count_ == kNoValue ? body.make().size(lead_) : count_);
    if (together) {
      body.translate(old_);
    } else {
      for (const Op* op : old_.ops) body.putOff(*op, "the program as a whole runs so");
    }
    for (size_t k = 0; k < old_.results.size(); ++k) {
      const ValueId old = old_.results[k];
      const bool stays = body.layoutOf(old) == Layout::listed;
      main.results[k] = stays ? body.valueOf(old) : body.batchedOf(old);
      main.resultTypes[k] = stays ? Type() : body.batchedType(module_.typeOf(old));
    }
    main.ops = body.takeOps();
    return ir_.own(std::move(main));
  }

 private:
  // `r`, unless the program has a dim of that name.
  Dim newLead() {
    std::string name = "r";
    while (ir_.dims().hasSymbol(name)) name += "_";
    const Dim lead = ir_.dims().symbol(name);
    (void)ir_.facts().addRange(lead, 0, std::nullopt, Reason{"a number of instances", old_.place});
    return lead;
  }

  bool isShared(ValueId parameter) const {
    return !inputs_.empty() &&
           std::find(inputs_.begin(), inputs_.end(), ir_.valueName(parameter)) == inputs_.end();
  }

  // All lists have one element for each instance.
  void checkLength(ManyBody& body, ValueId list) {
    const ValueId length = body.make().make(ops::list_lengthOp, {list});
    if (count_ == kNoValue) count_ = length;
    body.make().check(ops::bind_dimsOp, {length},
                      {{"dims", Shape{lead_}}, {"elements", std::vector<int64_t>{0}}});
  }

  ManyModule& module_;
  IrContext& ir_;
  const Function& old_;
  const std::vector<std::string>& inputs_;  // none: all
  const Dim lead_;
  ValueId count_ = kNoValue;  // the length of the first list
  bool anyBatched_ = false;
};

// Functions that @main reaches.
void keepReached(Module& module) {
  std::unordered_set<std::string> reached{"main"};
  for (bool changed = true; changed;) {
    changed = false;
    for (const Function* f : module.functions) {
      if (!reached.count(f->name)) continue;
      for (const FunctionVisit& visit : functionsOf(*f))
        for (const Op* op : visit.function->ops)
          if (op->attributes.has("callee"))
            changed = reached.insert(op->attributes.string("callee")).second || changed;
    }
  }
  std::erase_if(module.functions, [&](const Function* f) { return !reached.count(f->name); });
}

Result<Module> manyOf(const InferredModule& inferred, const std::vector<std::string>& inputs, bool together,
                      PassContext& context) {
  ManyModule module(inferred);
  DYN_TRY(const Function* main, MainOfMany(module, inputs).run(together));
  Module changed = inferred.module;
  for (const Function*& f : changed.functions)
    if (f->name == "main") f = main;
  changed.functions.insert(changed.functions.end(), module.functions.begin(), module.functions.end());
  keepReached(changed);
  DYN_TRY(InferredModule typed, inferTypes(changed));
  context.counters.insert(module.counters.begin(), module.counters.end());
  context.remarks.insert(context.remarks.end(), module.remarks.begin(), module.remarks.end());
  return typed.module;
}

Result<Module> runVectorize(const Module& module, PassContext& context) {
  if (!module.main()) return notMany("there is no function @main");
  DYN_TRY(InferredModule inferred, inferTypes(module));
  const std::vector<std::string> inputs = manyInputsOf(context.options["inputs"]);
  Result<Module> together = manyOf(inferred, inputs, true, context);
  if (together.ok()) return together;
  // What inference refuses of the joined program may still run one instance after the other.
  Result<Module> alone = manyOf(inferred, inputs, false, context);
  if (!alone.ok()) return together;
  context.remarks.insert(context.remarks.begin(), "nothing is joined: " + together.error().message);
  return alone;
}

}  // namespace

std::vector<std::string> manyInputsOf(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty() && text != "all") {
    const size_t end = std::min(text.find('+'), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

PassDef vectorizePass() {
  return {.name = "vectorize",
          .summary = "makes a program of one instance a program of many",
          .requiredProperties = Property::types,
          .providedProperties = {},
          .forbiddenProperties = Property::groups,
          .options = {{"inputs", "inputs that differ between instances: \"x+tree\"; default all"}},
          .run = runVectorize,
          .onRequest = true};
}

}  // namespace dyn::passes
