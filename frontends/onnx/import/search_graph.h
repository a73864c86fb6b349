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

#include <memory>
#include <vector>

#include "compiler/support/result.h"
#include "frontends/onnx/import/written_graph.h"

namespace dyn::onnx {

bool isSearchOperator(std::string_view domain, std::string_view name);

// `opsets`: of the function or graph around the node.
Result<std::shared_ptr<WrittenGraph>> searchGraph(const NodeProto& node, std::vector<OperatorSetId> opsets);

}  // namespace dyn::onnx
