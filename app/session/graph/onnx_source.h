// An ONNX file as text: its graph node by node, each with operator, name, operator set, inputs and outputs
// with their types, attributes, documentation, metadata, and the lines of the program that it was exported
// from.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/session/views/code_views.h"
#include "compiler/support/result.h"

namespace dyn {

// What is known of nodes from the model that was read from the file; nodes are told by their byte in it.
struct KnownNodes {
  std::unordered_map<uint64_t, std::vector<std::string>> places;
  // Of results, where the file says nothing of them: by the node and the value's name.
  std::map<std::pair<uint64_t, std::string>, std::string> types;
};

// Sets text and origins, these without kernels. Errors: those of the reader; unsupportedFeature in builds
// that read no ONNX files.
Result<IrText> onnxSource(const std::string& path, const KnownNodes& known);

}  // namespace dyn
