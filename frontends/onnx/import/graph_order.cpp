#include "frontends/onnx/import/graph_order.h"

#include <memory_resource>
#include <queue>
#include <unordered_set>

#include "frontends/onnx/map/map_table.h"

namespace dyn::onnx {

namespace {

SizeRole sizeRoleOf(const NodeProto& node) {
  const MapRow* row = findMapRow(standardDomain(node.domain), node.opType);
  return row != nullptr ? row->sizes : SizeRole::none;
}

// Sorted nodes, but those that compute sizes stand right before the first that needs them for something else.
// Exporters list them first; what the operations in between demand of the sizes (a window fits) is known
// then.
template <typename Needs>
std::vector<uint32_t> sizesLate(std::span<const NodeProto> nodes, const Needs& forEachNeed) {
  const auto count = static_cast<uint32_t>(nodes.size());
  std::vector<uint8_t> isLate(count, 0);
  std::vector<uint32_t> order, work;
  order.reserve(count);
  // Behind it stand the late nodes that `node` needs, those that they need before them.
  const auto append = [&](uint32_t node) {
    work.assign(1, node);
    while (!work.empty()) {
      const uint32_t top = work.back();
      const size_t before = work.size();
      forEachNeed(top, [&](uint32_t producer) {
        if (isLate[producer]) work.push_back(producer);
      });
      if (work.size() != before) continue;
      work.pop_back();
      if (top == node || isLate[top]) order.push_back(top);
      isLate[top] = 0;
    }
  };
  for (uint32_t i = 0; i != count; ++i) {
    bool needs = false, ofSizes = true;
    forEachNeed(i, [&](uint32_t producer) {
      needs = true;
      ofSizes = ofSizes && isLate[producer];
    });
    const SizeRole role = sizeRoleOf(nodes[i]);
    if (role == SizeRole::given || (needs && ofSizes && role == SizeRole::computed))
      isLate[i] = 1;
    else
      append(i);
  }
  for (uint32_t i = 0; i != count; ++i)
    if (isLate[i]) append(i);
  return order;
}

}  // namespace

FreeNames::FreeNames(const Model& model) {
  std::vector<const GraphProto*> graphs;  // outer before inner
  const auto addBodies = [&graphs](std::span<const NodeProto> nodes) {
    for (const NodeProto& node : nodes)
      for (const AttributeProto& attribute : node.attributes)
        for (const GraphProto& body : attribute.graphs()) graphs.push_back(&body);
  };
  addBodies(model.graph->nodes);
  for (const FunctionProto& function : model.functions) addBodies(function.nodes);
  for (size_t i = 0; i != graphs.size(); ++i) addBodies(graphs[i]->nodes);

  for (size_t i = graphs.size(); i-- > 0;) {
    const GraphProto& graph = *graphs[i];
    std::unordered_set<Text> known;  // defined here, or listed already
    for (const ValueInfoProto& input : graph.inputs) known.insert(input.name);
    for (const TensorProto& initializer : graph.initializers) known.insert(initializer.name);
    for (const SparseTensorProto& sparse : graph.sparseInitializers)
      if (sparse.values != nullptr) known.insert(sparse.values->name);
    for (const NodeProto& node : graph.nodes) known.insert(node.outputs.begin(), node.outputs.end());
    std::vector<Text>& names = names_[&graph];
    const auto use = [&](Text name) {
      if (!name.empty() && known.insert(name).second) names.push_back(name);
    };
    for (const NodeProto& node : graph.nodes) {
      for (Text name : node.inputs) use(name);
      for (const AttributeProto& attribute : node.attributes)
        for (const GraphProto& body : attribute.graphs())
          for (Text name : of(body)) use(name);
    }
    for (const ValueInfoProto& output : graph.outputs) use(output.name);
  }
}

std::span<const Text> FreeNames::of(const GraphProto& graph) const {
  const auto found = names_.find(&graph);
  return found == names_.end() ? std::span<const Text>() : std::span<const Text>(found->second);
}

NodeOrder orderNodes(std::span<const NodeProto> nodes, const FreeNames& freeNames) {
  const auto count = static_cast<uint32_t>(nodes.size());
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_map<Text, uint32_t> producers(&memory);
  producers.reserve(count);
  for (uint32_t i = 0; i != count; ++i)
    for (Text name : nodes[i].outputs)
      if (!name.empty()) producers.emplace(name, i);

  // `visit(producer)` for each value that node i needs.
  const auto forEachNeed = [&](uint32_t i, auto visit) {
    const auto need = [&](Text name) {
      const auto found = producers.find(name);
      if (!name.empty() && found != producers.end()) visit(found->second);
    };
    for (Text name : nodes[i].inputs) need(name);
    for (const AttributeProto& attribute : nodes[i].attributes)
      for (const GraphProto& body : attribute.graphs())
        for (Text name : freeNames.of(body)) need(name);
  };
  NodeOrder result;
  result.order.reserve(count);
  bool sorted = true;
  for (uint32_t i = 0; i != count; ++i) {
    forEachNeed(i, [&](uint32_t producer) { sorted = sorted && producer < i; });
    result.order.push_back(i);
  }
  if (sorted) {
    result.order = sizesLate(nodes, forEachNeed);
    return result;
  }

  std::vector<std::vector<uint32_t>> users(count);
  std::vector<uint32_t> waiting(count, 0);
  for (uint32_t i = 0; i != count; ++i)
    forEachNeed(i, [&](uint32_t producer) {
      users[producer].push_back(i);
      ++waiting[i];
    });
  result.order.clear();
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i != count; ++i)
    if (waiting[i] == 0) ready.push(i);
  while (!ready.empty()) {
    const uint32_t node = ready.top();
    ready.pop();
    result.order.push_back(node);
    for (uint32_t user : users[node])
      if (--waiting[user] == 0) ready.push(user);
  }
  for (uint32_t i = 0; i != count; ++i)
    if (waiting[i] != 0) result.cyclic.push_back(i);
  return result;
}

}  // namespace dyn::onnx
