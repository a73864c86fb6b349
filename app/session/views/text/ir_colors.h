// Which letters of a line of IR are what, so that shells and windows colour them alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dyn {

enum class IrWord : uint8_t { keyword, value, call, type, number, string, comment };

struct IrSpan {
  size_t begin = 0, size = 0;  // bytes
  IrWord word = IrWord::keyword;
};

// In order, without overlaps; what is none of these is between them.
std::vector<IrSpan> irSpans(std::string_view line);
// With the colours of a terminal.
std::string colored(const std::string& text);

}  // namespace dyn
