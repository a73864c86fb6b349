// The outputs of a run for people.
#pragma once

#include <string>
#include <vector>

#include "app/engine/run/run_result.h"
#include "app/session/views/view_text.h"

namespace dyn {

// Elements of each; where there are many outputs, those of one family are one line, and large ones are shown
// by shape and range.
std::string outputsText(const RunResult& run, const TextOptions& options);
// Rows "  input   x: Tensor[...]" of a model, a family in one.
std::string portsText(const char* what, const std::vector<ValueInfo>& ports);

}  // namespace dyn
