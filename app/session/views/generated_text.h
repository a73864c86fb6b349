// The texts of :generate, as they are shown.
#pragma once

#include <string>

#include "app/session/views/views.h"

namespace dyn {

// In front of the text of a sequence: its prompt, where there are several. With a newline; "": nothing.
std::string headingOf(const GenerateResult& result, size_t sequence);
// All texts, each with a newline behind it.
std::string generatedText(const GenerateResult& result);

}  // namespace dyn
