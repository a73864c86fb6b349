#include "frontends/onnx/import/list_settling.h"

#include <numeric>
#include <unordered_set>

#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/control_infer.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/type_zip.h"

namespace dyn::onnx {
namespace {

bool isUnsettled(Type type) {
  return type && type.kind() == TypeKind::list && type.element().kind() == TypeKind::tuple &&
         type.element().elements().empty();
}

bool hasUnsettled(const Module& module) {
  bool found = false;
  forEachOp(module, [&](const Function&, const Op& op) {
    found = found || (op.def == &ops::listOp && isUnsettled(op.results[0].type));
  });
  return found;
}

// Classes of values that hold the same list at different times.
class Flow {
 public:
  explicit Flow(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  ValueId find(ValueId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void join(ValueId a, ValueId b) {
    if (a != kNoValue && b != kNoValue) parent_[find(a)] = find(b);
  }

 private:
  std::vector<ValueId> parent_;
};

void joinOperation(const Op& op, Flow& flow) {
  const size_t operands = op.operands.size();
  const auto captures = static_cast<size_t>(captureCount(op));
  for (const Function* body : op.regions) {
    for (size_t i = 0; i != captures; ++i)
      flow.join(op.operands[operands - captures + i],
                body->parameters[body->parameters.size() - captures + i].id);
  }
  if (op.def == &ops::ifOp) {
    for (const Function* body : op.regions)
      for (size_t i = 0; i != op.results.size(); ++i) flow.join(op.results[i].id, body->results[i]);
  } else if (op.def == &ops::loopOp) {
    const Function& body = *op.regions[0];
    const auto carried = static_cast<size_t>(op.attributes.integer("carried"));
    for (size_t k = 0; k != carried; ++k) {
      flow.join(op.operands[2 + k], body.parameters[1 + k].id);
      flow.join(op.operands[2 + k], body.results[1 + k]);
      flow.join(op.operands[2 + k], op.results[k].id);
    }
  } else if (op.def == &ops::list_appendOp || op.def == &ops::list_insertOp || op.def == &ops::list_eraseOp) {
    flow.join(op.operands[0], op.results[0].id);
  }
}

}  // namespace

Result<Module> settleLists(const Module& module) {
  if (!hasUnsettled(module)) return module;
  IrContext& ir = *module.context;
  DYN_TRY(InferredModule typed, inferTypes(module));
  Flow flow(ir.valueCount());
  std::vector<Type> found(ir.valueCount());
  const auto learn = [&](ValueId id, Type type) {
    if (!type || type.kind() != TypeKind::list || isUnsettled(type)) return;
    if (!found[flow.find(id)]) found[flow.find(id)] = type;
  };
  forEachOp(typed.module, [&](const Function&, const Op& op) { joinOperation(op, flow); });
  for (const FunctionVisit& visit : functionsOf(typed.module)) {
    for (const Parameter& parameter : visit.function->parameters) learn(parameter.id, parameter.type);
    for (const Op* op : visit.function->ops)
      for (const ValueDef& result : op->results) learn(result.id, result.type);
  }
  std::unordered_set<SymbolId> ofInputs;
  for (const Parameter& parameter : module.main()->parameters)
    for (SymbolId symbol : symbolsOf(parameter.type)) ofInputs.insert(symbol);

  return rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
    Function changed = function;
    bool any = false;
    for (const Op*& op : changed.ops) {
      if (op->def != &ops::listOp || !isUnsettled(op->results[0].type)) continue;
      Type type = found[flow.find(op->results[0].id)];
      if (!type)
        type = ir.listType(ir.tensorType(Shape{ir.dims().any("nothing is put into the list")}, Dtype::f32));
      type = mapDims(ir, type, [&](Dim d, const TypePath&) {
        for (SymbolId symbol : symbolsOf(d))
          if (ofInputs.count(symbol) == 0) return ir.dims().any("the size of a list element");
        return d;
      });
      Op settled = *op;
      settled.results[0].type = type;
      op = ir.own(std::move(settled));
      any = true;
    }
    return any ? ir.own(std::move(changed)) : &function;
  });
}

}  // namespace dyn::onnx
