// Apart from the other texts: exported executables say sizes, too, and hold no library for texts.
#include <cstdio>

#include "app/session/views/view_text.h"

namespace dyn {

std::string bytesText(int64_t bytes) {
  constexpr int64_t kKibi = 1024, kMebi = kKibi * 1024, kGibi = kMebi * 1024;
  if (bytes < kKibi) return std::to_string(bytes) + " B";
  const auto in = [&](int64_t unit, int digits, const char* name) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*f %s", digits,
                  static_cast<double>(bytes) / static_cast<double>(unit), name);
    return std::string(text);
  };
  if (bytes < kMebi) return in(kKibi, 1, "KiB");
  return bytes < kGibi ? in(kMebi, 1, "MiB") : in(kGibi, 2, "GiB");
}

}  // namespace dyn
