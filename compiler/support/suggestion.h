// "did you mean ...?": the known word nearest to a wrong one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dyn {

// Insertions, deletions, replacements and swaps of neighbours that lead from a to b; counting stops above
// `limit`.
size_t editDistance(std::string_view a, std::string_view b, size_t limit);

// The candidate nearest to `wrong`, the first of equals; "" when none is near (a third of its letters may
// differ, at least one).
std::string suggestion(std::string_view wrong, std::span<const std::string_view> candidates);

}  // namespace dyn
