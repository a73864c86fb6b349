// Reading UTF-8 one code point at a time, from bytes that may be anything.
#pragma once

#include <cstddef>
#include <string_view>

namespace dyn {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;  // 0: no UTF-8 begins here (too long forms, surrogates and what is cut off are none)
};

// Is it a byte inside of a code point, not its first?
constexpr bool isContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Of the text from `at` on; precondition: at < text.size().
CodePoint codePointAt(std::string_view text, size_t at);

}  // namespace dyn
