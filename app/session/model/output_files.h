// The outputs of a run as files.
#pragma once

#include <string>

#include "app/session/views.h"
#include "compiler/support/result.h"

namespace dyn {

// Each output as NAME.npy in the folder, which is made; the parts of a list as NAME.0.npy and so on. Fills
// `file` of the outputs. Errors: fileError, unsupportedFeature for nested values.
Status writeOutputs(RunResult& result, const std::string& directory);

}  // namespace dyn
