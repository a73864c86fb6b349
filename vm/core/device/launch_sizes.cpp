#include "vm/core/device/launch_sizes.h"

#include <charconv>

namespace dyn::vm {
namespace {

bool takeFactor(std::string_view& text, const DynLaunch& launch, int64_t& value) {
  if (!text.empty() && text.front() == 'u') {
    text.remove_prefix(1);
    value = launch.units;
    return true;
  }
  const bool isScalar = !text.empty() && text.front() == '#';
  if (isScalar) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (isScalar) value = value >= 0 && value < launch.scalarCount ? launch.scalars[value] : 0;
  return true;
}

}  // namespace

int64_t takeSize(std::string_view& text, const DynLaunch& launch) {
  int64_t size = 1;
  char by = '*';
  for (;;) {
    int64_t factor = 0;
    if (!takeFactor(text, launch, factor)) return 0;
    if (by == '/')
      size = factor == 0 ? 0 : size / factor;
    else if (__builtin_mul_overflow(size, factor, &size))
      return 0;
    if (text.empty() || (text.front() != '*' && text.front() != '/')) return size;
    by = text.front();
    text.remove_prefix(1);
  }
}

std::vector<std::string_view> partsOf(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace dyn::vm
