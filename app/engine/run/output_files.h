// The outputs of a run as files.
#pragma once

#include <string>
#include <vector>

#include "app/engine/run/run_result.h"
#include "compiler/support/result.h"

namespace dyn {

// Each output as NAME.npy in the folder, which is made; the parts of a list as NAME.0.npy and so on. No two
// share a file (compiler/support/file_names.h). Fills `file` of the outputs, `partFiles` of lists. Returns a
// sentence for each output whose file is not called like it. Errors: fileError, usageError for a file that is
// an input of the run (then none is written), unsupportedFeature for nested values.
Result<std::vector<std::string>> writeOutputs(RunResult& result, const std::string& directory);

}  // namespace dyn
