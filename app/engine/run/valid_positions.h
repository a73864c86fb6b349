// How many positions of a padded batch a program computes that leaves out what a mask hides (pass
// `pack_sequences`). The memory of a run follows from that number and the dims.
#pragma once

#include <optional>

#include "app/engine/model/loaded_model.h"
#include "app/engine/run/runner.h"

namespace dyn {

// Does the compiled program compute only the positions that masks include?
bool packsSequences(const LoadedModel& model);

// By the masks of a call, which the reference evaluates, of each batch that has one. Empty where the program
// computes all of them, and of a package, which holds no graph. Errors: those of evaluating a mask.
Result<std::vector<int64_t>> keptPositions(LoadedModel& model, const CallInputs& inputs);

// Dry runs of the runner take that many where one batch has a mask, or all; and of small inputs of whole
// numbers, such as lengths, what they hold, but of those named `unknown`. Returns how many positions are kept
// in all; nothing if unknown.
std::optional<int64_t> setValidPositions(LoadedModel& model, const CallInputs& inputs, Runner& runner,
                                         const std::vector<std::string>& unknown = {});

}  // namespace dyn
