// The value of a formula over dims, as views and packages hold them: "24576*batch*seq + 64".
#pragma once

#include <optional>
#include <string_view>

#include "app/engine/model/model_info.h"

namespace dyn {

// Of an expression as Dim::toString() writes it; nullopt where a dim has no value or the result no 64 bits.
// On any thread.
std::optional<int64_t> formulaValue(std::string_view formula, const DimValues& dims);

}  // namespace dyn
