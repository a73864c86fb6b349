// Lines of a text of code, and the lines of loop IR they come from: read off the same code with debug lines.
//
// The text itself stays that of the code without them. Where the two do not have the same instructions,
// nothing is said: an empty list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dyn {

std::vector<uint32_t> linesOfLlvm(std::string_view text, std::string_view noted);
std::vector<uint32_t> linesOfAssembly(std::string_view text, std::string_view noted);

}  // namespace dyn
