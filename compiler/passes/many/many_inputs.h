// The option `inputs` of pass `vectorize`, and `--many`: which inputs differ between instances.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dyn::passes {

// "x+tree" names two; none for "all" and "".
std::vector<std::string> manyInputsOf(std::string_view text);

}  // namespace dyn::passes
