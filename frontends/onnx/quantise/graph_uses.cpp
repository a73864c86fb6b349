#include "frontends/onnx/quantise/graph_uses.h"

namespace dyn::onnx {

GraphUses::GraphUses(const GraphProto& graph) {
  std::vector<const GraphProto*> open;
  add(graph, false, open);
  while (!open.empty()) {
    const GraphProto& body = *open.back();
    open.pop_back();
    add(body, true, open);
  }
}

void GraphUses::add(const GraphProto& graph, bool isBody, std::vector<const GraphProto*>& open) {
  for (const ValueInfoProto& output : graph.outputs) (isBody ? inBodies_ : results_).insert(output.name);
  for (const NodeProto& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (isBody)
        inBodies_.insert(node.inputs[i]);
      else
        readers_[node.inputs[i]].push_back({&node, i});
    }
    for (const Text output : node.outputs) names_.insert(std::string(output));
    for (const AttributeProto& attribute : node.attributes)
      for (const GraphProto& body : attribute.graphs()) open.push_back(&body);
  }
  for (const TensorProto& weight : graph.initializers) names_.insert(std::string(weight.name));
  for (const ValueInfoProto& input : graph.inputs) names_.insert(std::string(input.name));
}

std::span<const ValueReader> GraphUses::readers(Text name) const {
  const auto found = readers_.find(name);
  return found == readers_.end() ? std::span<const ValueReader>() : std::span(found->second);
}

std::string GraphUses::freshName(const std::string& base) {
  std::string name = base;
  for (int number = 2; !names_.insert(name).second; ++number) name = base + "_" + std::to_string(number);
  return name;
}

bool transposesMatrix(const NodeProto& node) {
  if (node.opType != "Transpose" || !standardDomain(node.domain).empty()) return false;
  const AttributeProto* order = node.attribute("perm");
  return !order || (order->ints().size() == 2 && order->ints()[0] == 1 && order->ints()[1] == 0);
}

}  // namespace dyn::onnx
