// Runs an operator's `lower` as a kernel: the loop nest built from it, interpreted on concrete inputs.
#pragma once

#include "tests/unit/ops/op_test.h"

namespace dyn::test {

// checkOp, and then, with static and with symbolic dims, every result computed by a kernel must be what the reference gave.
std::vector<Value> checkLoweredOp(const OpCase& test);

}  // namespace dyn::test
