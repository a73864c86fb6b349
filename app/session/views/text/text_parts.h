// Parts that the texts of several views have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/session/views/view_text.h"

namespace dyn {

// Between escape sequences of a terminal, `code` as in "1;31", where colors are wished for.
std::string paint(const std::string& text, const char* code, const TextOptions& options);
std::string joinedWords(const std::vector<std::string>& parts, const char* separator = ", ");
std::string bytesOrDash(std::optional<int64_t> bytes);                       // "3.2 MiB", "-"
std::string rateText(double perSecond);                                      // "22500", "1.5"
std::string sentence(const std::string& words, const TextOptions& options);  // a line of words, wrapped

}  // namespace dyn
