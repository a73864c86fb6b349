// What no program exceeds on the processor this process runs on: what a core can begin in a cycle, by its
// instruction sets, times the clock that is measured. A bound, not an aim: no kernel comes near in all of it.
#pragma once

#include "app/engine/model/engine_options.h"
#include "app/engine/run/run_result.h"
#include "app/session/explain/launch_work.h"
#include "app/session/explain/rate.h"

namespace dyn {

// Cycles per nanosecond, measured in some microseconds: the most that this process has seen so far.
double clockGhz();
// Of so many threads whose narrowest arithmetic is of `narrowest`.
MachineBound machineBound(int threads, ProductsOf narrowest);
// Takes out of a profiled run what it cannot have moved or computed in the times it has, so that no view of
// it shows such a rate: of the launches in its timeline, and of the rows of its profile. Returns the bound,
// by the types of what was launched; on devices none is known.
MachineBound checkRates(const EngineOptions& options, RunResult& run);

}  // namespace dyn
