// The answer to `:why ragged [VALUE]`: what pass `pack_sequences` computes without padding, and what keeps it
// from more.
#pragma once

#include <string>

#include "app/session/views/why_views.h"
#include "compiler/pass/trace.h"

namespace dyn {

// `value`: its name, or "" for the whole program. Errors: textName where there is no such value; usageError
// where the pass did not run.
Result<WhyView> whyRagged(const Trace& trace, const std::string& value);

}  // namespace dyn
