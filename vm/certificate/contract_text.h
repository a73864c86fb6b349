// Dims of a contract as formulas: "n", "2*seq + 1", "floordiv(n - 1, 2)", "max(0, n)".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "vm/certificate/atoms.h"

namespace dyn::certificate {

bool isDimName(std::string_view text);
// Nothing: not readable, or a name that is not among `names`.
Value parseDim(std::string_view text, const std::map<std::string, Polynomial>& names, Atoms& atoms);

}  // namespace dyn::certificate
