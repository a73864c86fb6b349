// The graph of an ONNX file as it is written: for models that cannot be imported, so that what is unknown or
// wrong in them can be seen in its place.
#pragma once

#include <string>

#include "app/session/views/graph_views.h"
#include "compiler/support/result.h"

namespace dyn {

// Nodes by their operators, values by their names with the types that the file declares, bodies as groups.
// Errors: those of the reader; unsupportedFeature in builds that read no ONNX files.
Result<GraphView> fileGraph(const std::string& path);

}  // namespace dyn
