// The contractions of a model as rows: which version each is made with, who chose it, and what the others
// would take.
#pragma once

#include <vector>

#include "app/engine/model/loaded_model.h"
#include "app/engine/run/run_result.h"

namespace dyn {

// One row for all sites that are alike: versions with predicted and measured times, the chosen one, and who
// chose it.
Result<std::vector<ContractionRow>> contractionRows(const LoadedModel& model, const EngineOptions& options,
                                                    const std::map<std::string, int64_t>& dims);

}  // namespace dyn
