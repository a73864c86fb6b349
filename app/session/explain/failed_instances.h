// A run of many instances that ended in an error: which of them end in one by themselves.
#pragma once

#include "app/engine/run/runner.h"

namespace dyn {

// `error` with a note for each instance at fault, at most ten. `instanceInputs`: by input, whether it has a
// value for each instance; the others are given to each. The program runs once more for each instance.
Error withFailedInstances(Error error, Runner& runner, const CallInputs& inputs,
                          const std::vector<bool>& instanceInputs, Interruption& interruption);

}  // namespace dyn
