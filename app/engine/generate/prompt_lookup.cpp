#include "app/engine/generate/prompt_lookup.h"

#include <algorithm>

namespace dyn {

std::vector<int64_t> PromptLookup::draft(std::span<const int64_t> text, size_t limit) const {
  const size_t length = std::min(length_, limit);
  if (length == 0) return {};
  for (size_t count = kLongestMatch; count >= kShortestMatch; --count) {
    if (text.size() <= count) continue;
    const auto pattern = text.last(count);
    // The last place before the end; it may overlap with the end.
    const auto searched = text.first(text.size() - 1);
    const auto found = std::find_end(searched.begin(), searched.end(), pattern.begin(), pattern.end());
    if (found == searched.end()) continue;
    std::vector<int64_t> made(found + static_cast<ptrdiff_t>(count), searched.end());
    made.push_back(text.back());
    // What repeats itself up to the end goes on so.
    for (size_t i = 0; made.size() < length; ++i) made.push_back(made[i]);
    made.resize(length);
    return made;
  }
  return {};
}

void PromptLookup::note(size_t draftedCount, size_t acceptedCount) {
  length_ = acceptedCount == draftedCount ? std::min(most_, 2 * length_) : std::min(most_, acceptedCount + 1);
}

}  // namespace dyn
