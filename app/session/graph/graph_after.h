// The graph after a pass that somebody names, also of a pipeline that failed: what was before the fault is
// there to be looked at.
#pragma once

#include <string>

#include "compiler/pass/trace.h"
#include "compiler/support/result.h"

namespace dyn {

class LoadedModel;

// `pass`: a name or a number. Errors: textName for what is no step; where the pass failed itself, or was
// still to come (again), what the pipeline ended in.
Result<const TraceStep*> graphAfter(LoadedModel& model, const std::string& pass);

}  // namespace dyn
