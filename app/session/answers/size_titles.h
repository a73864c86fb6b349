// Names for sizes that only a run knows, "?0": what they count, in words that people know: "boxes kept".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dyn {

// Of the reason that a shape rule gives for such a size; "" where none is known.
std::string sizeTitle(std::string_view reason);

// What reasons begin with, and the title of each.
const std::vector<std::pair<std::string_view, std::string_view>>& sizeTitles();

}  // namespace dyn
