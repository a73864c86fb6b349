#include "compiler/support/suggestion.h"

#include <algorithm>
#include <vector>

namespace dyn {

size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  const size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
      least = std::min(least, now[j]);
    }
    if (least > limit) return limit + 1;
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

std::string suggestion(std::string_view wrong, std::span<const std::string_view> candidates) {
  size_t best = std::max<size_t>(1, wrong.size() / 3) + 1;
  std::string_view found;
  if (wrong.size() > 64) return "";
  for (std::string_view candidate : candidates) {
    const size_t distance = editDistance(wrong, candidate, best - 1);
    if (distance >= best || candidate == wrong || distance >= candidate.size()) continue;
    best = distance;
    found = candidate;
    if (best == 0) break;
  }
  return std::string(found);
}

}  // namespace dyn
