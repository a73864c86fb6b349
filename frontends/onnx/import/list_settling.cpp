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
  } else if (op.def == &ops::list_appendOp || op.def == &ops::list_insertOp || op.def == &ops::list_eraseOp ||
             op.def == &ops::optional_getOp || op.def == &ops::optional_someOp) {
    flow.join(op.operands[0], op.results[0].id);
  }
}

// What the program finds out about its lists.
class ListTypes {
 public:
  static Result<ListTypes> of(const Module& module) {
    DYN_TRY(const InferredModule typed, inferTypes(module));
    ListTypes types(module);
    forEachOp(typed.module, [&](const Function&, const Op& op) { joinOperation(op, types.flow_); });
    for (const FunctionVisit& visit : functionsOf(typed.module)) {
      for (const Parameter& parameter : visit.function->parameters) types.learn(parameter);
      for (const Op* op : visit.function->ops)
        for (const ValueDef& result : op->results) types.learn(result);
    }
    return types;
  }

  // List[T], with sizes of the model's inputs and `?`; null: nothing is ever put into it.
  Type find(ValueId id) {
    const Type type = found_[flow_.find(id)];
    return type ? mapDims(ir_, type,
                          [&](Dim d, const TypePath&) {
                            for (SymbolId symbol : symbolsOf(d))
                              if (ofInputs_.count(symbol) == 0)
                                return ir_.dims().any("the size of a list element");
                            return d;
                          })
                : type;
  }

 private:
  explicit ListTypes(const Module& module)
      : ir_(*module.context), flow_(ir_.valueCount()), found_(ir_.valueCount()) {
    for (const Parameter& parameter : module.main()->parameters)
      for (SymbolId symbol : symbolsOf(parameter.type)) ofInputs_.insert(symbol);
  }
  template <typename Typed>
  void learn(const Typed& value) {
    if (!value.type || value.type.kind() != TypeKind::list || isUnsettled(value.type)) return;
    Type& found = found_[flow_.find(value.id)];
    if (!found) found = value.type;
  }

  IrContext& ir_;
  Flow flow_;
  std::vector<Type> found_;
  std::unordered_set<SymbolId> ofInputs_;
};

// The list that the type is, or that it is an optional of; null: neither.
Type listIn(Type type) {
  if (type && type.kind() == TypeKind::optional) type = type.element();
  return type && type.kind() == TypeKind::list && type.element().isTensor() ? type : Type();
}

Type withList(IrContext& ir, Type like, Type list) {
  return like.kind() == TypeKind::optional ? ir.optionalType(list) : list;
}

// Inputs whose lists get elements of another rank than is declared.
SettledLists correctInputs(const Module& module) {
  SettledLists corrected{module, {}};
  const Function* declared = module.main();
  if (declared == nullptr) return corrected;
  IrContext& ir = *module.context;
  Function open = *declared;
  bool any = false;
  for (Parameter& parameter : open.parameters) {
    if (!listIn(parameter.type)) continue;
    parameter.type = withList(ir, parameter.type, ir.listType(ir.tupleType({})));
    any = true;
  }
  if (!any) return corrected;
  const size_t mark = ir.facts().mark();
  Result<ListTypes> types = ListTypes::of(withMain(module, ir.own(std::move(open))));
  ir.facts().rollback(mark);
  if (!types.ok()) return corrected;  // a fault of the module, which type inference will name
  Function main = *declared;
  for (Parameter& parameter : main.parameters) {
    const Type list = listIn(parameter.type), found = list ? types->find(parameter.id) : Type();
    if (!found || !found.element().isTensor() || found.element().rank() == list.element().rank()) continue;
    corrected.warnings.push_back({.id = DiagnosticId::warning,
                                  .severity = Severity::warning,
                                  .message = "input " + ir.valueName(parameter.id) + " is declared as " +
                                             parameter.type.toString() + ", and the model puts " +
                                             found.element().toString() +
                                             " into it: the declaration is left out of account"});
    parameter.type = withList(ir, parameter.type, found);
  }
  if (!corrected.warnings.empty()) corrected.module = withMain(module, ir.own(std::move(main)));
  return corrected;
}

}  // namespace

Result<SettledLists> settleLists(const Module& module) {
  SettledLists settled = correctInputs(module);
  if (!hasUnsettled(settled.module)) return settled;
  IrContext& ir = *module.context;
  DYN_TRY(ListTypes types, ListTypes::of(settled.module));
  DYN_TRY(settled.module,
          rewriteFunctions(settled.module, [&](const Function& function) -> Result<const Function*> {
            Function changed = function;
            bool any = false;
            for (const Op*& op : changed.ops) {
              if (op->def != &ops::listOp || !isUnsettled(op->results[0].type)) continue;
              Type type = types.find(op->results[0].id);
              if (!type)
                type = ir.listType(
                    ir.tensorType(Shape{ir.dims().any("nothing is put into the list")}, Dtype::f32));
              Op known = *op;
              known.results[0].type = type;
              op = ir.own(std::move(known));
              any = true;
            }
            return any ? ir.own(std::move(changed)) : &function;
          }));
  return settled;
}

}  // namespace dyn::onnx
