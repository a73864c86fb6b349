// How many positions of a padded batch a program computes that leaves out what a mask hides (pass `unpad`).
// The memory of a run follows from that number and the dims.
#pragma once

#include <optional>

#include "app/session/model/loaded_model.h"
#include "app/session/model/runner.h"

namespace dyn {

// By the masks of a call, which the reference evaluates. Nothing where the program computes all of them, and
// of a package, which holds no graph. Errors: those of evaluating the mask.
Result<std::optional<int64_t>> keptPositions(LoadedModel& model, const CallInputs& inputs);

// Rehearsals of the runner take that many, or all where nobody can tell; and of small inputs of whole
// numbers, such as lengths, what they hold, but of those named `unknown`. Returns how many positions were
// told.
std::optional<int64_t> assumeKept(LoadedModel& model, const CallInputs& inputs, Runner& runner,
                                  const std::vector<std::string>& unknown = {});

}  // namespace dyn
