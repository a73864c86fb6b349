// The values of one model beside those of another, in one run of each with the same inputs.
#pragma once

#include "app/session/changes/watched_values.h"
#include "app/session/views/change_views.h"

namespace dyn {

inline constexpr double kRelativeTolerance = 1e-3;

// Of models that have gone through inference (watched_values.h), and the pipelines that they run by. Values
// are matched by model_match.h.
struct ComparisonRequest {
  LoadedModel& expected;
  LoadedModel& actual;
  std::string expectedPasses, actualPasses;
  const CallInputs& inputs;  // of `expected`
  double relativeTolerance = kRelativeTolerance;
};
// Errors: inputMismatch where the models take other inputs.
Result<ValueComparison> compareModels(SessionState& state, const ComparisonRequest& request);

// Fills in the value's name, its operator and the place of that in the file.
void describeValue(const Module& module, const InnerTensor& tensor, ValueError& error);
// Counts, and the first value that goes wrong.
void summarise(ValueComparison& comparison);

}  // namespace dyn
