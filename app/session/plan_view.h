// The memory plan of a placed module: arenas, what lies in them and for how long, and the peak for given dims.
#pragma once

#include "app/session/views.h"
#include "compiler/ir/module.h"

namespace dyn {

// Dims that are not given leave the numbers empty; the expressions are always there.
PlanView planView(const Module& placed, const DimValues& dims);
// The peak of tensors the program makes (arenas, pooled tensors, results), constants and inputs aside; nullopt where it depends on values
// or dims that are not given.
std::optional<int64_t> predictedPeak(const Module& placed, const DimValues& dims);
// The largest value of the one symbol without a value that keeps the peak within limitBytes.
Status fitPlan(const Module& placed, int64_t limitBytes, PlanView& view);

}  // namespace dyn
