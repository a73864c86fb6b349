// Who reads the values of a model's graph, and which names are taken.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

struct ValueReader {
  const NodeProto* node = nullptr;
  size_t input = 0;
};

class GraphUses {
 public:
  explicit GraphUses(const GraphProto& graph);

  // Nodes of the graph itself, in its order.
  std::span<const ValueReader> readers(Text name) const;
  // By a node of a body, or it has the name of a body's result.
  bool isReadByBody(Text name) const { return inBodies_.count(name) != 0; }
  bool isResult(Text name) const { return results_.count(name) != 0; }

  // `base`, or "base_2" where that is taken; taken from then on.
  std::string freshName(const std::string& base);

 private:
  void add(const GraphProto& graph, bool isBody, std::vector<const GraphProto*>& open);

  std::unordered_map<Text, std::vector<ValueReader>> readers_;
  std::unordered_set<Text> inBodies_, results_;
  std::unordered_set<std::string> names_;
};

// A Transpose that exchanges the two axes of a matrix.
bool transposesMatrix(const NodeProto& node);

}  // namespace dyn::onnx
