#include "app/session/graph/file_graph.h"

#ifdef DYN_HAVE_ONNX
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "app/session/graph/graph_folding.h"
#include "app/session/graph/scope_groups.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"
#include "compiler/ir/module.h"
#include "frontends/onnx/emit/type_importer.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn {

namespace {

using onnx::GraphProto;
using onnx::NodeProto;
using onnx::Text;

std::string joinedNames(std::span<const int64_t> numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

// Numbers and texts; of others, what they are.
std::string fileTextOf(const onnx::AttributeProto& attribute) {
  switch (attribute.type) {
    case onnx::AttributeType::real:
      return std::to_string(attribute.f);
    case onnx::AttributeType::integer:
      return std::to_string(attribute.i);
    case onnx::AttributeType::text:
      return "\"" + std::string(attribute.s) + "\"";
    case onnx::AttributeType::integers:
      return joinedNames(attribute.ints());
    default:
      return std::string(toString(attribute.type));
  }
}

class FileGraph {
 public:
  explicit FileGraph(const onnx::Model& model) : model_(model), types_(ir_) {
    for (const onnx::OperatorSetId& set : model.opsetImports)
      opsets_[std::string(onnx::standardDomain(set.domain))] = set.version;
  }

  GraphView build() {
    view_.stepName = "file";
    for (const onnx::ValueInfoProto& input : model_.graph->inputs)
      if (input.type) types_.learnNames(*input.type);
    open_.push_back({model_.graph, -1, nullptr});
    // Bodies wait until the graph around them is there; their names are looked up outwards.
    for (size_t i = 0; i < open_.size(); ++i) addGraph(open_[i]);
    return std::move(view_);
  }

 private:
  struct Made {
    NodeId node;
    int port;
  };
  struct Scope {
    const GraphProto* graph;
    int group;
    const Scope* outer;
    std::unordered_map<Text, Made> made = {};
    std::unordered_map<Text, std::string> types = {};
  };

  std::string typeOf(const onnx::ValueInfoProto& value) {
    if (!value.type) return "";
    Result<Type> type = types_.import(*value.type, std::string(value.name));
    return type.ok() ? type->toString() : "";
  }

  GraphNode& add(Scope& scope, NodeKind kind, std::string op, std::string_view name) {
    GraphNode& node = view_.nodes.emplace_back();
    node.id = view_.nodes.size();
    node.kind = kind;
    node.op = std::move(op);
    node.label = kind == NodeKind::operation ? node.op : std::string(name);
    node.opClass = kind == NodeKind::operation ? "" : toString(kind);
    node.name = name;
    node.group = scope.group;
    return node;
  }

  void addGraph(Scope& scope) {
    const GraphProto& graph = *scope.graph;
    for (const auto* list : {&graph.inputs, &graph.outputs, &graph.valueInfos})
      for (const onnx::ValueInfoProto& value : *list) scope.types[value.name] = typeOf(value);
    for (const onnx::TensorProto& weight : graph.initializers) {
      scope.types[weight.name] = joinedNames(weight.dims);
      define(scope, weight.name, add(scope, NodeKind::constant, "constant", weight.name));
    }
    for (const onnx::ValueInfoProto& input : graph.inputs)
      if (scope.made.count(input.name) == 0)
        define(scope, input.name, add(scope, NodeKind::input, "input", input.name));
    for (const NodeProto& node : graph.nodes) addNode(scope, node);
    for (const onnx::ValueInfoProto& output : graph.outputs)
      read(scope, output.name, add(scope, NodeKind::output, "output", output.name));
  }

  void addNode(Scope& scope, const NodeProto& from) {
    // Optimisers name a weight anew by Identity.
    const bool constant =
        from.outputs.size() == 1 &&
        (from.opType == "Constant" ||
         (from.opType == "Identity" && from.inputs.size() == 1 && constants_.count(from.inputs[0]) != 0));
    GraphNode& node = add(scope, constant ? NodeKind::constant : NodeKind::operation,
                          std::string(from.opType), from.outputs.empty() ? Text() : from.outputs[0]);
    SourceLocation place = model_.place(from);
    const auto opset = opsets_.find(std::string(onnx::standardDomain(from.domain)));
    place.node = onnx::placeName(from, opset == opsets_.end() ? 0 : opset->second);
    node.place = place.toString();
    node.sourceNode = from.name;
    node.group = groups_.scopeOf(node.sourceNode, scope.group);
    node.text = from.describe();
    if (!from.domain.empty()) node.attributes.emplace_back("domain", from.domain);
    const NodeId id = node.id;
    for (const onnx::AttributeProto& attribute : from.attributes) {
      node.attributes.emplace_back(attribute.name, fileTextOf(attribute));
      for (const GraphProto& body : attribute.graphs()) {
        const int group = groups_.group("body " + std::to_string(view_.groups.size()),
                                        std::string(attribute.name), GroupKind::region, node.group, id);
        open_.push_back({&body, group, &scope});
      }
    }
    for (Text input : from.inputs) read(scope, input, node);
    for (Text output : from.outputs) define(scope, output, node);
  }

  void define(Scope& scope, Text name, GraphNode& node) {
    if (node.kind == NodeKind::constant) constants_.insert(name);
    scope.made[name] = {node.id, static_cast<int>(node.outputs.size())};
    node.outputs.push_back({std::string(name), scope.types[name], kNoNode});
  }

  void read(const Scope& scope, Text name, GraphNode& node) {
    GraphPort port{std::string(name), "", kNoNode};
    for (const Scope* at = &scope; at && !name.empty(); at = at->outer) {
      const auto made = at->made.find(name);
      if (made == at->made.end()) continue;
      const auto type = at->types.find(name);
      port.node = made->second.node;
      port.type = type == at->types.end() ? "" : type->second;
      view_.edges.push_back({port.node, node.id, made->second.port, static_cast<int>(node.inputs.size()),
                             port.name, port.type});
      break;
    }
    node.inputs.push_back(std::move(port));
  }

  const onnx::Model& model_;
  IrContext ir_;
  onnx::TypeImporter types_;
  std::unordered_map<std::string, int64_t> opsets_;
  ScopeGroups groups_{view_};
  std::unordered_set<Text> constants_;
  std::deque<Scope> open_;  // places stay: inner scopes point outwards
  GraphView view_;
};

}  // namespace

Result<GraphView> fileGraph(const std::string& path) {
  DYN_TRY(const onnx::Model model, onnx::openModel(path));
  GraphView view = FileGraph(model).build();
  foldGraph(view);
  return view;
}

}  // namespace dyn
#else
namespace dyn {

Result<GraphView> fileGraph(const std::string&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
}

}  // namespace dyn
#endif
