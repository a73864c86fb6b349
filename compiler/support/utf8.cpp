#include "compiler/support/utf8.h"

namespace dyn {

CodePoint codePointAt(std::string_view text, size_t at) {
  const auto byteAt = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byteAt(at);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes > text.size() - at) return {};
  char32_t value = first & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const unsigned char next = byteAt(at + i);
    if ((next & 0xC0) != 0x80) return {};
    value = value << 6 | (next & 0x3F);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return value < kLeast[bytes] || value > 0x10FFFF || surrogate ? CodePoint{} : CodePoint{value, bytes};
}

}  // namespace dyn
