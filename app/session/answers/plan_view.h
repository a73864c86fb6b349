// The memory plan of a placed module: arenas, what lies in them and for how long.
#pragma once

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/memory_views.h"
#include "compiler/ir/module.h"

namespace dyn {

// Dims that are not given leave the numbers empty; the expressions are always there. The peak in bytes is the
// program's: see Runner.
PlanView planView(const Module& placed, const DimValues& dims);

// The copies of a placed module that are made only because a reader takes no strides.
std::vector<CopyRow> copyRows(const Module& placed, const DimValues& dims);

}  // namespace dyn
