#include "vm/core/profile/json_text.h"

#include <cstdio>

namespace dyn::vm {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char buffer[8];
      snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += buffer;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace dyn::vm
