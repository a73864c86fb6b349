#include "app/session/views/text/ir_colors.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace dyn {

namespace {

constexpr std::array<std::string_view, 14> kKeywords = {"fn",   "return", "then",    "else", "body",
                                                        "cond", "where",  "let",     "dim",  "type",
                                                        "if",   "loop",   "because", "match"};
constexpr std::array<std::string_view, 15> kTypes = {"Tensor", "List", "f16", "f32", "f64",
                                                     "bf16",   "i8",   "i16", "i32", "i64",
                                                     "u8",     "u16",  "u32", "u64", "bool"};

bool isNameLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isName(char c) { return isNameLetter(c) || isDigit(c) || c == '.' || c == '$' || c == '/' || c == ':'; }

size_t endOfString(std::string_view line, size_t at) {
  for (size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      return i + 1;
  }
  return line.size();
}

size_t endWhile(std::string_view line, size_t at, bool (*is)(char)) {
  while (at < line.size() && is(line[at])) ++at;
  return at;
}

// "%name", "@main", "?3" and "%"a name"".
size_t endOfValue(std::string_view line, size_t at) {
  if (at + 1 < line.size() && line[at + 1] == '"') return endOfString(line, at + 1);
  size_t end = endWhile(line, at + 1, isName);
  while (end > at + 1 && line[end - 1] == ':') --end;  // "%x: Tensor"
  return end;
}

}  // namespace

std::vector<IrSpan> irSpans(std::string_view line) {
  std::vector<IrSpan> spans;
  const auto add = [&](size_t begin, size_t end, IrWord word) {
    spans.push_back({begin, end - begin, word});
  };
  for (size_t at = 0; at < line.size();) {
    const char c = line[at];
    size_t end = at + 1;
    if (c == ';' || (c == '/' && end < line.size() && line[end] == '/')) {
      add(at, end = line.size(), IrWord::comment);
    } else if (c == '"') {
      add(at, end = endOfString(line, at), IrWord::string);
    } else if ((c == '%' || c == '@' || c == '?') && end < line.size() &&
               (isName(line[end]) || line[end] == '"')) {
      add(at, end = endOfValue(line, at), IrWord::value);
    } else if (isDigit(c)) {
      end =
          endWhile(line, at, [](char d) { return std::isalnum(static_cast<unsigned char>(d)) || d == '.'; });
      add(at, end, IrWord::number);
    } else if (isNameLetter(c)) {
      end = endWhile(line, at, [](char d) { return isNameLetter(d) || isDigit(d); });
      const std::string_view word = line.substr(at, end - at);
      if (std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end())
        add(at, end, IrWord::type);
      else if (std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end())
        add(at, end, IrWord::keyword);
      else if (end < line.size() && line[end] == '(')
        add(at, end, IrWord::call);
    }
    at = end;
  }
  return spans;
}

std::string colored(const std::string& text) {
  static constexpr std::array<const char*, 7> kCodes = {"35", "34", "36", "33", "31", "32", "2"};
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    size_t at = 0;
    for (const IrSpan& span : irSpans(line)) {
      result.append(line.substr(at, span.begin - at));
      result.append("\033[").append(kCodes[static_cast<size_t>(span.word)]).append("m");
      result.append(line.substr(span.begin, span.size)).append("\033[0m");
      at = span.begin + span.size;
    }
    result.append(line.substr(at));
    if (end < text.size()) result += '\n';
    begin = end + 1;
  }
  return result;
}

}  // namespace dyn
