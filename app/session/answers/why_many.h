// The answer to `:why many`: what a program of many instances (pass `vectorize`) computes for all of them at
// once, and what it runs for each by itself.
#pragma once

#include "app/session/views/why_views.h"
#include "compiler/pass/trace.h"

namespace dyn {

// `step`: of the pass. Error usageError where it did not run.
Result<WhyView> whyMany(const TraceStep& step);

}  // namespace dyn
