// A line of a CodeText as it is shown: tabs as blanks, columns instead of bytes.
#pragma once

#include <QString>
#include <string_view>

namespace dyn::ui {

// Column is index, but for characters beyond the first plane.
QString shownText(std::string_view line);
int columnOfByte(std::string_view line, size_t byte);

}  // namespace dyn::ui
