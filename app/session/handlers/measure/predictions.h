// What a run with given sizes will take, before it is run: for the handlers that ask it of the session's
// model or of another one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/session/explain/machine_limits.h"
#include "app/session/session_state.h"
#include "app/session/views/predict_views.h"

namespace dyn {

// What is asked about: dims, and lengths where they are given.
struct Question {
  DimValues dims;
  std::vector<DimSpec> specs;
  std::map<std::string, Value> given;  // inputs that the lengths make
};
// Of `--dim NAME=N` and `--lengths`. Errors: usageError.
Result<Question> questionOf(const LoadedModel& model, const std::vector<std::string>& dims,
                            const std::vector<std::string>& lengths);

// Without lengths, and where they leave a size open, all positions count: the most that a run can take.
Status assumeLengths(LoadedModel& model, const Question& question, Runner& runner);

// Checks, time and peak. `limits` are measured where they are not there yet: predictions that are compared
// have the same. Error unsupportedFeature where the time cannot be predicted: a package, sizes that only
// values decide.
Result<PredictView> predictionOf(SessionState& state, LoadedModel& model, const Question& question,
                                 std::optional<MachineLimits>& limits);

}  // namespace dyn
