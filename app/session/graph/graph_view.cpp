// The graph of one step: operations as nodes, values as edges, name scopes and bodies as groups.
#include <algorithm>

#include "app/session/graph/graph_folding.h"
#include "app/session/graph/node_ids.h"
#include "app/session/graph/scope_groups.h"
#include "app/session/graph/trace_views.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/device_ops.h"
#include "compiler/ops/op_table.h"
#include "compiler/target/device_kind.h"

namespace dyn {

namespace {

// "/encoder/layer.0/MatMul (MatMul, opset 17)" → "/encoder/layer.0/MatMul"
std::string sourceName(const SourceLocation& place) {
  const size_t end = place.node.find(" (");
  return place.node.substr(0, end);
}

// "/encoder/layer.0/MatMul (MatMul, opset 17)" → "MatMul"
std::string sourceOp(const SourceLocation& place) {
  const std::string node = place.node.str();
  const size_t begin = node.rfind(" ("), end = node.find_first_of(",)", begin);
  return begin == std::string::npos || end == std::string::npos ? ""
                                                                : node.substr(begin + 2, end - begin - 2);
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const TraceStep& step)
      : module_(step.after), ir_(*step.after.context), ids_(step.after) {
    view_.step = step.index;
    view_.stepName = step.name;
  }

  GraphView build() {
    const std::vector<FunctionVisit> functions = functionsOf(module_);
    size_t count = 0;
    for (const FunctionVisit& visit : functions)
      count +=
          visit.function->parameters.size() + visit.function->ops.size() + visit.function->results.size();
    view_.nodes.reserve(count);
    made_.reserve(count);
    groupOfOp_.reserve(count);
    uint32_t number = 0;
    for (const FunctionVisit& visit : functions) addFunction(visit, number++);
    link();
    return std::move(view_);
  }

 private:
  std::string nameOf(ValueId value) const { return value == kNoValue ? "" : ir_.valueName(value); }

  // The function's own group: none for main, one for each body inside the group of its operation, one for
  // other functions.
  int groupOfFunction(const FunctionVisit& visit) {
    if (!visit.owner) {
      if (visit.function->name == "main") return -1;
      return groups_.group("@" + visit.function->name, "@" + visit.function->name, GroupKind::function, -1,
                           kNoNode);
    }
    const NodeId owner = ids_.of(*visit.owner);
    auto parent = groupOfOp_.find(visit.owner);
    const int parentGroup = parent == groupOfOp_.end() ? -1 : parent->second;
    const std::string label = regionLabel(*visit.owner, visit.region);
    return groups_.group("@" + visit.function->name, label, GroupKind::region, parentGroup, owner);
  }

  void addFunction(const FunctionVisit& visit, uint32_t number) {
    const Function& function = *visit.function;
    const int group = groupOfFunction(visit);
    for (const Parameter& p : function.parameters) {
      GraphNode node;
      node.id = NodeIds::ofValue(p.id);
      node.kind = NodeKind::input;
      node.op = node.opClass = "input";
      node.name = node.label = nameOf(p.id);
      node.group = group;
      node.outputs.push_back({node.name, p.type ? p.type.toString() : "", kNoNode});
      node.text = "%" + node.name + ": " + node.outputs[0].type;
      made_[p.id] = {view_.nodes.size(), 0};
      view_.nodes.push_back(std::move(node));
    }
    for (const Op* op : function.ops) addOp(*op, group);
    for (size_t i = 0; i < function.results.size(); ++i) {
      GraphNode node;
      node.id = NodeIds::ofResult(number, i);
      node.kind = NodeKind::output;
      node.op = node.opClass = "output";
      node.name = node.label = nameOf(function.results[i]);
      node.group = group;
      const Type type = i < function.resultTypes.size() ? function.resultTypes[i] : Type();
      node.inputs.push_back({node.name, type ? type.toString() : "", kNoNode});
      node.text = "return %" + node.name;
      uses_.push_back({view_.nodes.size(), 0, function.results[i]});
      view_.nodes.push_back(std::move(node));
    }
  }

  void addOp(const Op& op, int functionGroup) {
    GraphNode node;
    node.id = ids_.of(op);
    node.op = op.def ? std::string(op.def->name) : "?";
    node.opClass = op.def ? toString(op.def->cls) : "";
    node.kind = op.def == &ops::constantOp ? NodeKind::constant : NodeKind::operation;
    node.place = op.place.toString();
    node.sourceNode = sourceName(op.place);
    node.sourceOp = sourceOp(op.place);
    node.group = groups_.scopeOf(node.sourceNode, functionGroup);
    groupOfOp_[&op] = node.group;
    node.text = print(ir_, op);
    for (const auto& [name, value] : op.attributes.all())
      node.attributes.emplace_back(name, print(ir_, value));
    for (size_t i = 0; i < op.operands.size(); ++i) {
      node.inputs.push_back({nameOf(op.operands[i]), "", kNoNode});
      if (op.operands[i] != kNoValue) uses_.push_back({view_.nodes.size(), i, op.operands[i]});
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ValueDef& result = op.results[i];
      node.outputs.push_back({nameOf(result.id), result.type ? result.type.toString() : "", kNoNode});
      made_[result.id] = {view_.nodes.size(), static_cast<int>(i)};
    }
    node.name = node.outputs.empty() ? "" : node.outputs[0].name;
    node.device = op.attributes.string(op.def == &ops::device_copyOp ? "to" : "device");
    const DeviceRow* device = findDevice(node.device);
    node.isOnDevice = device && !device->isHost();
    node.label = labelOf(op);
    node.managesMemory = op.def == &ops::allocOp || op.def == &ops::arenaOp || op.def == &ops::killOp;
    // What is written into memory made before: from here on the value comes from this operation.
    if (op.def == &ops::intoOp) {
      const size_t outputs = static_cast<size_t>(op.attributes.integer("outputs", 1));
      for (size_t i = 0; i < outputs && outputs <= op.operands.size(); ++i) {
        const size_t operand = op.operands.size() - outputs + i;
        written_.push_back({view_.nodes.size(), operand, op.operands[operand]});
        if (i == 0) node.name = nameOf(op.operands[operand]);
      }
    }
    view_.nodes.push_back(std::move(node));
  }

  std::string labelOf(const Op& op) const {
    std::string label = op.def ? std::string(op.def->name) : "?";
    if (op.def == &ops::constantOp) {
      const HostTensor* tensor = op.attributes.tensor("value");
      if (tensor && tensor->elementCount() == 1 && dtypeClass(tensor->dtype()) != DtypeClass::text)
        return toString(*tensor, 4);
      return op.results.empty() ? label : nameOf(op.results[0].id);
    }
    if (op.def != &ops::fusedOp && op.def != &ops::intoOp) return label;
    // A kernel is named by what it does: "matmul+add+relu", at most three operators.
    std::string inside;
    size_t count = 0;
    for (const Function* body : op.regions)
      for (const Op* inner : body->ops) {
        if (inner->def == &ops::constantOp) continue;
        if (++count <= 3) inside += (inside.empty() ? "" : "+") + std::string(inner->def->name);
      }
    if (count > 3) inside += "+" + std::to_string(count - 3);
    return inside.empty() ? label : inside;
  }

  struct Made {
    size_t node;  // of view_.nodes
    int port;
  };
  struct Used {
    size_t node, operand;
    ValueId value;
  };

  void link() {
    // Node positions are in execution order: a use after the writer of `into` reads what it wrote.
    std::unordered_map<ValueId, size_t> writer;
    for (const Used& w : written_) writer.emplace(w.value, w.node);
    view_.edges.reserve(uses_.size());
    for (const Used& use : uses_) {
      GraphNode& node = view_.nodes[use.node];
      const auto written = writer.find(use.value);
      const auto made = made_.find(use.value);
      Made from{0, 0};
      if (written != writer.end() && written->second < use.node)
        from = {written->second, 0};
      else if (made != made_.end())
        from = made->second;
      else
        continue;
      GraphEdge edge{view_.nodes[from.node].id,     node.id,           from.port,
                     static_cast<int>(use.operand), nameOf(use.value), ""};
      // As it was written where it is defined: types of many dims take long to write.
      if (made != made_.end())
        edge.type = view_.nodes[made->second.node].outputs[static_cast<size_t>(made->second.port)].type;
      node.inputs[use.operand].node = edge.from;
      node.inputs[use.operand].type = edge.type;
      view_.edges.push_back(std::move(edge));
    }
  }

  const Module& module_;
  const IrContext& ir_;
  NodeIds ids_;
  GraphView view_;
  ScopeGroups groups_{view_};
  std::unordered_map<const Op*, int> groupOfOp_;
  std::unordered_map<ValueId, Made> made_;
  std::vector<Used> uses_, written_;
};

}  // namespace

GraphView graphView(const TraceStep& step) {
  GraphView view = GraphBuilder(step).build();
  foldGraph(view);
  return view;
}

}  // namespace dyn
