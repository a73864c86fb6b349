// Where the nodes of a level stand among all nodes in the order of their levels.
#pragma once

#include "compiler/passes/batched_turns.h"

namespace dyn::passes {

// starts[number] to starts[number + 1], as indices i64 [m]; m is a new dim, which is bound and checked to be
// at least 0 when the program runs. `starts`: i64 [levels + 1], `number`: i64 [].
ValueId placesOfLevel(IrContext& ir, BatchedTurns& b, ValueId starts, ValueId number);

}  // namespace dyn::passes
