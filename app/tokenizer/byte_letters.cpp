#include "app/tokenizer/byte_letters.h"

#include <array>

#include "app/tokenizer/unicode_text.h"

namespace dyn::tokenizer {

namespace {

struct LetterTable {
  std::array<char32_t, 256> letterOf{};
  std::array<int, 512> byteOf{};  // -1: none
};

constexpr LetterTable makeLetterTable() {
  LetterTable table;
  for (int& byte : table.byteOf) byte = -1;
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool isVisible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const char32_t letter = isVisible ? static_cast<char32_t>(byte) : next++;
    table.letterOf[static_cast<size_t>(byte)] = letter;
    table.byteOf[letter] = byte;
  }
  return table;
}
constexpr LetterTable kLetters = makeLetterTable();

}  // namespace

std::string lettersOfBytes(std::string_view bytes) {
  std::string letters;
  letters.reserve(bytes.size() * 2);
  for (const char c : bytes) appendPoint(letters, kLetters.letterOf[static_cast<unsigned char>(c)]);
  return letters;
}

std::optional<std::string> bytesOfLetters(std::string_view letters) {
  std::string bytes;
  for (size_t at = 0; at < letters.size();) {
    const char32_t letter = nextPoint(letters, &at);
    const int byte = letter < kLetters.byteOf.size() ? kLetters.byteOf[letter] : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace dyn::tokenizer
