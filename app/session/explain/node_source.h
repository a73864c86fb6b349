// The line of the program that a node of an ONNX file was exported from, where the exporter wrote it down:
// stack traces in the metadata of PyTorch's exporter, comments in the doc_string of the one before it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/session/views/problem_views.h"

namespace dyn {

// By the text of the place's node; those without a source are left out. Empty for files that cannot be
// read.
std::map<std::string, NodeSource> sourcesOf(const std::string& path,
                                            const std::vector<Diagnostic>& diagnostics);

// The frames of a trace of Python, the innermost last: `File "...", line 12, in forward` with the code
// below, a comment `# /a/NAME.py:12:0`, or lines `/a/NAME.py(12): forward`, which have the innermost
// first.
std::vector<NodeSource> framesIn(std::string_view trace);
// The innermost one. line 0: there is none.
NodeSource sourceIn(std::string_view trace);

}  // namespace dyn
