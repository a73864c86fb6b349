// A function that the importer writes in place of a node, and the parts that it is made of. It refers to the
// model's parts too, so the model has to live longer.
//
//   auto graph = std::make_shared<WrittenGraph>();
//   nodes.push_back(graph->node(of, {}, "Add", {"x", "y"}, {"z"}, {}));
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

struct WrittenGraph {
  FunctionProto function;
  std::deque<std::string> names;
  std::deque<std::vector<Text>> lists;
  std::deque<std::vector<NodeProto>> nodeLists;
  std::deque<std::vector<AttributeProto>> attributeLists;
  std::deque<std::vector<ValueInfoProto>> valueLists;
  std::deque<GraphProto> graphs;
  std::vector<OperatorSetId> opsets;

  std::span<const Text> list(std::vector<Text> texts) { return lists.emplace_back(std::move(texts)); }

  // Messages about it say the place of the node `of`.
  NodeProto node(const NodeProto& of, Text domain, Text op, std::vector<Text> inputs,
                 std::vector<Text> outputs, std::vector<AttributeProto> attributes) {
    NodeProto node;
    node.bytes = of.bytes;
    node.name = of.name;
    node.opType = op;
    node.domain = domain;
    node.inputs = list(std::move(inputs));
    node.outputs = list(std::move(outputs));
    node.attributes = attributeLists.emplace_back(std::move(attributes));
    return node;
  }

  // Inputs or outputs of a graph, without types.
  std::span<const ValueInfoProto> values(const NodeProto& of, const std::vector<Text>& texts) {
    std::vector<ValueInfoProto>& all = valueLists.emplace_back();
    for (const Text name : texts) all.push_back({of.bytes, name, nullptr});
    return all;
  }
};

inline AttributeProto attributeOf(Text name, AttributeType type, const void* items = nullptr,
                                  size_t count = 0) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.type = type;
  attribute.items = items;
  attribute.itemCount = count;
  return attribute;
}

}  // namespace dyn::onnx
