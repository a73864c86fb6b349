// The texts of :generate, as they are shown.
#pragma once

#include <string>

#include "app/session/views/generate_views.h"

namespace dyn {

// In front of the text of a sequence: its prompt, where there are several. With a newline; "": nothing.
std::string headingOf(const GenerateResult& result, size_t sequence);

}  // namespace dyn
