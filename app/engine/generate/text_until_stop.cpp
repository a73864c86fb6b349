#include "app/engine/generate/text_until_stop.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace dyn {

// The longest end of the held text that is the beginning of a stop.
size_t TextUntilStop::heldBytes() const {
  size_t longest = 0;
  for (const std::string& stop : stops_)
    for (size_t size = std::min(stop.empty() ? 0 : stop.size() - 1, held_.size()); size > longest; --size)
      if (std::string_view(held_).substr(held_.size() - size) == std::string_view(stop).substr(0, size))
        longest = size;
  return longest;
}

std::string TextUntilStop::add(const std::string& piece) {
  if (hasEnded()) return "";
  held_ += piece;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = stop.empty() ? std::string::npos : held_.find(stop);
    if (at >= first) continue;
    first = at;
    ending_ = stop;
  }
  if (hasEnded()) {
    std::string clear = held_.substr(0, first);
    held_.clear();
    return clear;
  }
  const size_t clearBytes = held_.size() - heldBytes();
  std::string clear = held_.substr(0, clearBytes);
  held_.erase(0, clearBytes);
  return clear;
}

std::string TextUntilStop::finish() { return std::exchange(held_, ""); }

}  // namespace dyn
