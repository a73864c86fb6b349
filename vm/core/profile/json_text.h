// A text as JSON has it, with its quotes.
#pragma once

#include <string>

namespace dyn::vm {

std::string quoted(const std::string& text);

}  // namespace dyn::vm
