// Notes of a diagnostic that show a line of a text, and a caret below it: they stand for themselves, since a
// word before one of the two would move it. Such a note begins with a blank, or has several lines.
#pragma once

#include <string>

namespace dyn {

inline bool isExcerpt(const std::string& note) {
  return note.find('\n') != std::string::npos || (!note.empty() && note[0] == ' ');
}

}  // namespace dyn
