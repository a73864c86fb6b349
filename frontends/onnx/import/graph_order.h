// An order of a graph's nodes in which every value is made before it is used, also by bodies inside of nodes.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

// For each graph inside of nodes the names it takes from around it.
class FreeNames {
 public:
  explicit FreeNames(const Model& model);
  std::span<const Text> of(const GraphProto& graph) const;

 private:
  std::unordered_map<const GraphProto*, std::vector<Text>> names_;
};

struct NodeOrder {
  std::vector<uint32_t> order;   // the file's order where that is right, but sizes are computed late
  std::vector<uint32_t> cyclic;  // nodes that wait for each other; left out of `order`
};
NodeOrder orderNodes(std::span<const NodeProto> nodes, const FreeNames& freeNames);

}  // namespace dyn::onnx
