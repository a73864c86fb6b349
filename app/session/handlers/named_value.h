// What a name stands for at the prompt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/session/bound_values.h"

namespace dyn {

struct SessionState;

inline constexpr const char* kLastValue = "_";  // of the last expression that was given no name

// A value of the stopped run; what was bound; an output of the last run of the loaded model: the first of
// these that has the name. An output needs no binding, and is there until the next run.
std::optional<BoundValue> namedValue(const SessionState& state, const std::string& name);
// All of them, for "did you mean".
std::vector<std::string> namesOfValues(const SessionState& state);

}  // namespace dyn
