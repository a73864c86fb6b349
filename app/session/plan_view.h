// The memory plan of a placed module: arenas, what lies in them and for how long, and the largest dim that fits.
#pragma once

#include <functional>
#include <optional>

#include "app/session/views.h"
#include "compiler/ir/module.h"

namespace dyn {

// Dims that are not given leave the numbers empty; the expressions are always there. The peak in bytes is the program's: see Runner.
PlanView planView(const Module& placed, const DimValues& dims);

// The peak of a run with these dims; nullopt where it depends on values or dims that are not given.
using PeakOfDims = std::function<std::optional<int64_t>(const DimValues&)>;
// The largest value of the one symbol without a value that keeps the peak within limitBytes.
Status fitPlan(const Module& placed, int64_t limitBytes, const PeakOfDims& peakOf, PlanView& view);

}  // namespace dyn
