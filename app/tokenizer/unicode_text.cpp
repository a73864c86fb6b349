#include "app/tokenizer/unicode_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/support/utf8.h"

namespace dyn::tokenizer {

namespace {

utf8proc_category_t categoryOf(char32_t point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(point));
}

bool isIn(char32_t point, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t category = categoryOf(point);
  return category >= first && category <= last;
}

// How many bytes at `at` begin a code point, and whether they end it.
size_t leadingBytes(std::string_view bytes, size_t at, bool* isWhole) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = byte(at);
  *isWhole = first < 0x80;
  if (first < 0xC2 || first > 0xF4) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= bytes.size()) return i;
    unsigned low = 0x80, high = 0xBF;
    if (i == 1) {  // no surrogates, nothing beyond U+10FFFF, nothing longer than it must be
      if (first == 0xE0) low = 0xA0;
      if (first == 0xED) high = 0x9F;
      if (first == 0xF0) low = 0x90;
      if (first == 0xF4) high = 0x8F;
    }
    if (byte(at + i) < low || byte(at + i) > high) return i;
  }
  *isWhole = true;
  return length;
}

}  // namespace

std::string validText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    bool isWhole = false;
    const size_t length = leadingBytes(bytes, at, &isWhole);
    if (isWhole)
      text.append(bytes, at, length);
    else
      appendPoint(text, 0xFFFD);
    at += length;
  }
  return text;
}

char32_t nextPoint(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte((*at)++);
  if (first < 0x80) return first;
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  char32_t point = first & (0x3F >> more);
  for (size_t i = 0; i < more && *at < text.size(); ++i) point = point << 6 | (byte((*at)++) & 0x3F);
  return point;
}

void appendPoint(std::string& text, char32_t point) {
  utf8proc_uint8_t bytes[4];
  const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

size_t pointCount(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), isContinuation));
}

bool isWhitespace(char32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool isControl(char32_t c) { return isIn(c, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO); }

bool isPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  return isIn(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool isNumeric(char32_t c) { return isIn(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
bool isMark(char32_t c) { return isIn(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }
bool isNonspacingMark(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_MN; }

bool isWord(char32_t c) {
  if (c == 0x200C || c == 0x200D) return true;  // they join letters
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
      (c >= 0x1F170 && c <= 0x1F189))
    return true;  // letters in circles and squares
  const utf8proc_category_t category = categoryOf(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC;
}

bool isIdeograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::string lowercase(std::string_view text) {
  std::string lowered;
  lowered.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char32_t point = nextPoint(text, &at);
    if (point == 0x130) {  // the one letter whose small form is two code points
      lowered += "i\xCC\x87";
      continue;
    }
    appendPoint(lowered, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))));
  }
  return lowered;
}

Result<std::string> normalForm(std::string_view text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |= form == NormalForm::nfc || form == NormalForm::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                               static_cast<utf8proc_ssize_t>(text.size()), &made,
                                               static_cast<utf8proc_option_t>(options));
  if (length < 0)
    return makeError(DiagnosticId::inputMismatch,
                     std::string("the text has no normal form: ") + utf8proc_errmsg(length));
  std::string result(reinterpret_cast<const char*>(made), static_cast<size_t>(length));
  std::free(made);
  return result;
}

std::vector<size_t> graphemeEnds(std::string_view text) {
  std::vector<size_t> ends;
  utf8proc_int32_t state = 0;
  char32_t before = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t point = nextPoint(text, &at);
    if (begin > 0 && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                                      static_cast<utf8proc_int32_t>(point), &state))
      ends.push_back(begin);
    before = point;
  }
  if (!text.empty()) ends.push_back(text.size());
  return ends;
}

}  // namespace dyn::tokenizer
