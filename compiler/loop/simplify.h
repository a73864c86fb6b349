// Simplification of a kernel's statements.
//
// Needs: a kernel that verifies. Establishes: no `let` or accumulate that nothing reads, no loop of constant
// extent 0, no branch or check on a constant condition that holds, loops of constant extent 1 replaced by
// their body.
//
//   let a: i64 = u * 4            (a is not read)
//   for i < 1 { y[u, i] = 0.0 }                              →      y[u, 0] = 0.0
//
// The kernel never gets longer.
#pragma once

#include "compiler/loop/kernel.h"

namespace dyn::loop {

Kernel simplify(const Kernel& kernel);

}  // namespace dyn::loop
