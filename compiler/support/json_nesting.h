// How deep JSON nests, told before it is parsed. A parsed value is copied, compared and written as text by
// recursion over its nesting, so a text of somebody else's that has a million '[' would end the process.
//
//   if (nestsDeeperThan(line, kMostJsonNesting)) return refuse("the line is nested too deep");
#pragma once

#include <cstddef>
#include <string_view>

namespace dyn {

// As deep as the text language nests; a tensor has fewer axes, a tokenizer.json about ten levels.
inline constexpr size_t kMostJsonNesting = 200;

// Are there more than `most` arrays and objects within each other? Brackets within strings do not count. Of a
// text that is no JSON the answer is that of its brackets.
inline bool nestsDeeperThan(std::string_view json, size_t most) {
  size_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (inString) {
      if (c == '\\') ++i;
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace dyn
