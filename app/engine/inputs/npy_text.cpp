#include "app/engine/inputs/npy_text.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace dyn {

namespace {

constexpr char32_t kMostLetter = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

bool isLetter(char32_t c) { return c <= kMostLetter && (c < kFirstSurrogate || c > kLastSurrogate); }

// Nothing where it is no UTF-8.
std::optional<std::u32string> lettersOf(std::string_view text) {
  std::u32string letters;
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t more = lead < 0x80         ? 0
                        : (lead >> 5) == 6  ? 1
                        : (lead >> 4) == 14 ? 2
                        : (lead >> 3) == 30 ? 3
                                            : 9;
    if (more > 3 || text.size() - at <= more) return std::nullopt;
    constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    char32_t letter = more == 0 ? lead : lead & (0x3FU >> more);
    for (size_t i = 1; i <= more; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next >> 6) != 2) return std::nullopt;
      letter = letter << 6 | (next & 0x3FU);
    }
    if (letter < kLeast[more] || !isLetter(letter)) return std::nullopt;
    letters.push_back(letter);
    at += more + 1;
  }
  return letters;
}

void append(std::string& text, char32_t letter) {
  if (letter < 0x80) {
    text += static_cast<char>(letter);
    return;
  }
  const int more = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xF00U >> (more + 1) & 0xFFU) | letter >> (6 * more));
  for (int i = more; i-- > 0;) text += static_cast<char>(0x80U | (letter >> (6 * i) & 0x3FU));
}

}  // namespace

Result<NpyArray> arrayOfStrings(const HostTensor& strings, const std::string& file) {
  std::vector<std::u32string> all;
  size_t width = 1;  // NumPy's least
  for (const std::string& text : strings.stringValues()) {
    std::optional<std::u32string> letters = lettersOf(text);
    const auto fault = [&](const std::string& what) {
      return makeError(DiagnosticId::unsupportedDtype,
                       "unsupported: " + file + ": string " + std::to_string(all.size()) + " " + what);
    };
    if (!letters) return fault("is not UTF-8");
    if (!letters->empty() && letters->back() == 0) return fault("ends with a zero, which NumPy drops");
    width = std::max(width, letters->size());
    all.push_back(std::move(*letters));
  }
  NpyArray array;
  array.kind = NpyKind::text;
  array.shape = strings.shape();
  const size_t bytes = width * sizeof(char32_t);
  if (bytes > static_cast<size_t>(kMostTextBytes) / std::max<size_t>(all.size(), 1))
    return makeError(DiagnosticId::memoryLimit, file + ": " + std::to_string(all.size()) +
                                                    " texts as wide as the longest, " +
                                                    std::to_string(width) + " letters, are more than 2 GiB");
  array.elementBytes = static_cast<unsigned>(bytes);
  array.data.resize(all.size() * bytes);
  for (size_t i = 0; i < all.size(); ++i)
    std::memcpy(array.data.data() + i * bytes, all[i].data(), all[i].size() * sizeof(char32_t));
  return array;
}

Result<HostTensor> stringsOf(const NpyArray& array, const std::string& file) {
  // Those of no letter take no room in the file.
  constexpr int64_t kMostEmpty = 1 << 16;
  const int64_t most = array.elementBytes == 0 ? kMostEmpty : kMostTextBytes;
  int64_t count = 1;
  for (int64_t size : array.shape)
    if (__builtin_mul_overflow(count, size, &count) || count > most)
      return makeError(DiagnosticId::dimOverflow, file + ": there are too many texts");
  std::vector<std::string> texts(static_cast<size_t>(count));
  const auto* from = reinterpret_cast<const char*>(array.data.data());
  for (size_t i = 0; i < texts.size(); ++i, from += array.elementBytes) {
    if (array.kind == NpyKind::bytes) {
      texts[i].assign(from, array.elementBytes);
      texts[i].erase(texts[i].find_last_not_of('\0') + 1);
      continue;
    }
    std::u32string letters(array.elementBytes / sizeof(char32_t), U'\0');
    std::memcpy(letters.data(), from, array.elementBytes);
    letters.erase(letters.find_last_not_of(U'\0') + 1);
    for (const char32_t letter : letters) {
      if (!isLetter(letter))
        return makeError(DiagnosticId::fileFormat,
                         file + ": text " + std::to_string(i) + " holds what is not a letter");
      append(texts[i], letter);
    }
  }
  return HostTensor::strings(array.shape, std::move(texts));
}

}  // namespace dyn
