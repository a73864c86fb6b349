// What joining gains or costs, by runs of some requests joined and alone before any other arrives.
#pragma once

#include "app/engine/serving/served_program.h"

namespace dyn {

struct JoiningTimes {
  int64_t aloneNs = 0, joinedNs = 0;  // of a request; 0: none is joined
};

// `requests`: the inputs of some, as they come. The program knows the costs from here on, and it has compared
// answers: ServedProgram::joint() is null where those of equal sizes differ. Errors: those of a run.
Result<JoiningTimes> tryJoining(ServedProgram& program,
                                const std::vector<const std::vector<VmValue>*>& requests, size_t most);

}  // namespace dyn
