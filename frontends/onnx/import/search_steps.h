// What one step of GreedySearch and BeamSearch computes beside the decoder, as operators of the domain
// `dyn.search` in the text language. search_graph.cpp makes loops of them.
#pragma once

#include "frontends/text/operators.h"

namespace dyn::onnx {

// The text is fixed: an error is a fault of Dyn's.
Result<text::OperatorFile> searchSteps();

}  // namespace dyn::onnx
