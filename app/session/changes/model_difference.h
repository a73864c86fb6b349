// What changed from one model to another: operators, weights, formulas of dims, peak, run-time checks.
//
// Formulas are compared as dims of one context: `2*seq + 2` is `2*(seq + 1)`. A dim of an input that only
// changed its name is renamed in all formulas before they are compared.
#pragma once

#include "app/engine/model/loaded_model.h"
#include "app/session/views/change_views.h"

namespace dyn {

// Both have a module, and have gone through the passes.
ModelDifference modelDifference(LoadedModel& before, LoadedModel& after);

}  // namespace dyn
