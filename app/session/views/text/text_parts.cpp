#include "app/session/views/text/text_parts.h"

#include <fmt/format.h>

#include "app/session/views/text_table.h"

namespace dyn {

std::string paint(const std::string& text, const char* code, const TextOptions& options) {
  return options.color ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
}

std::string joinedWords(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string bytesOrDash(std::optional<int64_t> bytes) { return bytes ? bytesText(*bytes) : "-"; }

std::string sentence(const std::string& words, const TextOptions& options) {
  return wrapped(words, options.fitted ? static_cast<size_t>(options.width) : 0, 2) + "\n";
}

std::string rateText(double perSecond) {
  return perSecond >= 100 ? fmt::format("{:.0f}", perSecond) : fmt::format("{:.3g}", perSecond);
}

}  // namespace dyn
