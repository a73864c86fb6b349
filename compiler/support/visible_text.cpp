#include "compiler/support/visible_text.h"

#include <algorithm>
#include <cstdio>

#include "compiler/support/utf8.h"

namespace dyn {

namespace {

// Above ASCII: C1, marks and overrides of the writing direction, separators of lines and paragraphs.
bool isCommand(char32_t c) {
  return (c >= 0x80 && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool isPlain(char c) { return c >= 0x20 && c < 0x7F; }

std::string escaped(const char* form, uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

// Bytes of "ESC [ digits and ; m" at the begin of the text; 0: absent.
size_t colorCode(std::string_view text) {
  if (text.substr(0, 2) != "\033[") return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string visible(std::string_view text, bool lines, bool colors) {
  if (std::all_of(text.begin(), text.end(), isPlain)) return std::string(text);
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const size_t code = colors && c == '\033' ? colorCode(text.substr(at)) : 0;
    const CodePoint point = codePointAt(text, at);
    const size_t bytes = code != 0 ? code : std::max<size_t>(point.bytes, 1);
    if (code != 0 || isPlain(c) || (lines && (c == '\n' || c == '\t')))
      shown += text.substr(at, bytes);
    else if (!lines && (c == '\n' || c == '\t' || c == '\r'))
      shown += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else if (point.bytes < 2)  // control characters, and what is no UTF-8
      shown += escaped("\\x%02x", static_cast<unsigned char>(c));
    else if (isCommand(point.value))
      shown += escaped("\\u%04x", static_cast<uint32_t>(point.value));
    else
      shown += text.substr(at, bytes);
    at += bytes;
  }
  return shown;
}

}  // namespace

std::string visibleJson(std::string document) {
  const auto isPlain = [](char c) { return static_cast<signed char>(c) >= 0 && c != 0x7F; };
  if (std::all_of(document.begin(), document.end(), isPlain)) return document;
  std::string shown;
  shown.reserve(document.size());
  for (size_t at = 0; at < document.size();) {
    const CodePoint point = codePointAt(document, at);
    const size_t bytes = std::max<size_t>(point.bytes, 1);
    if (point.value == 0x7F || isCommand(point.value))
      shown += escaped("\\u%04x", static_cast<uint32_t>(point.value));
    else
      shown.append(document, at, bytes);
    at += bytes;
  }
  return shown;
}

std::string visibleLine(std::string_view text) { return visible(text, false, false); }

std::string visibleText(std::string_view text, ColorCodes colors) {
  return visible(text, true, colors == ColorCodes::kept);
}

}  // namespace dyn
