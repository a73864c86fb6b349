// The answer to `:why stages`: which operations the pass `stages` lets run at the same time.
#pragma once

#include "app/session/views/why_views.h"
#include "compiler/pass/trace.h"

namespace dyn {

// Errors: usageError where the pass did not run.
Result<WhyView> whyStages(const Trace& trace);

}  // namespace dyn
