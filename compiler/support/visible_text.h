// Text of a model, such as its names, as a terminal may be given it: characters that command a terminal
// (colours, bells, titles, cursors), that turn the direction of writing, or that are no UTF-8, are written as
// \x1b or \u202e.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dyn {

// Of one line: line ends are escaped, too.
std::string visibleLine(std::string_view text);
// Of lines that Dyn has laid out: line ends and tabs stay, and with `kept` also what sets a colour
// ("\033[31m").
enum class ColorCodes : uint8_t { escaped, kept };
std::string visibleText(std::string_view text, ColorCodes colors);
// Of a JSON document in UTF-8, whose strings hold no control characters below a blank any more: the others
// are escaped as JSON does it, so that it reads back as the same.
std::string visibleJson(std::string document);

}  // namespace dyn
