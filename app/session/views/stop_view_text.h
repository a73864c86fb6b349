// The text of a stop in a run that is stepped through.
#pragma once

#include <string>

#include "app/session/views/view_text.h"

namespace dyn {

// Precondition: the run has not ended.
std::string stopText(const StopView& stop, const TextOptions& options);

}  // namespace dyn
