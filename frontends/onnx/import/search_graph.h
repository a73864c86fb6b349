// GreedySearch and BeamSearch of com.microsoft: a search for the likeliest text, with a decoder's graph in
// the node. Here the node becomes nodes of the standard: a Loop whose body is the decoder's graph and a step
// of the search (search_steps.h).
//
//   auto search = searchGraph(node, opsets);
//   if (search.ok()) ... (*search)->function, whose inputs are those of the node by place
//
// Taken: decoders as onnxruntime's tools write them for GPT-2 (model_type 0), with or without an own graph
// for the first step, and BeamSearch over those for T5 (model_type 1), whose encoder may take the first step.
// Others are an error, unsupportedFeature, that says what.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

bool isSearchOperator(std::string_view domain, std::string_view name);

// The graph and what it is made of. It refers to the model's parts, so the model has to live longer.
struct SearchGraph {
  FunctionProto function;
  std::deque<std::string> names;
  std::deque<std::vector<Text>> lists;
  std::deque<std::vector<NodeProto>> nodeLists;
  std::deque<std::vector<AttributeProto>> attributeLists;
  std::deque<std::vector<ValueInfoProto>> valueLists;
  std::deque<GraphProto> graphs;
  std::vector<OperatorSetId> opsets;
};
// `opsets`: of the function or graph around the node.
Result<std::shared_ptr<SearchGraph>> searchGraph(const NodeProto& node, std::vector<OperatorSetId> opsets);

}  // namespace dyn::onnx
