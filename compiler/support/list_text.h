// Numbers as messages list them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace dyn {

// "[1, 2]"
inline std::string bracketed(std::span<const int64_t> numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

}  // namespace dyn
