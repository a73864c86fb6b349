// A check of dims as a sentence, the same wherever it is shown: in the program's message, by the reference,
// and in views.
//
//   eq         "a must equal b"
//   le         "a must be at most b"
//   broadcast  "a and b must be equal, or one of them 1"
//   min(512, seq) beside seq, for eq and broadcast: "seq must be at most 512"
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/dims/dim.h"

namespace dyn {

// `textOf`: how a dim is shown.
std::string checkText(std::string_view relation, Dim lhs, Dim rhs,
                      const std::function<std::string(Dim)>& textOf);

}  // namespace dyn
