// The part of a program that a question needs: @main up to an operation, or what that operation needs alone.
#pragma once

#include <optional>
#include <vector>

#include "app/session/causes/recorded_run.h"

namespace dyn {

// @main up to its operation `last`, with these results.
Module beginningOf(const Module& module, size_t last, std::vector<ValueId> results);
// Those operations of it alone that `last` and the results need; sizes that are read from elements stay.
Module neededFor(const Module& module, size_t last, std::vector<ValueId> results);
// The operation of @main in which one of a recorded run stands; nothing: a tail call took the place of @main.
std::optional<size_t> positionIn(const Module& module, const RecordedRun& run, int frame, const Op* op);
// The operation of @main that makes the value, or in whose bodies it is made; nothing: an input, or a value
// of a function that is called.
std::optional<size_t> positionOf(const Module& module, ValueId value);

}  // namespace dyn
