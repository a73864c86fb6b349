// Runs an operator's definition in loops: the kernel of a single operation, one element after the other, in the kernel interpreter.
//
//   checkLowered(OpCase("gather", {table, ids}));       // static and symbolic dims; every element as in the reference
//   EXPECT_EQ(loweredFault(OpCase("gather", {table, badIds})), DYN_KERNEL_INDEX_OUT_OF_RANGE);
#pragma once

#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {

// checkOp, and the same from the kernel: for both kinds of dims. Returns the reference results.
std::vector<Value> checkLowered(const OpCase& test);
// The fault the kernel stops with; 0 when it runs through.
int32_t loweredFault(const OpCase& test);

}  // namespace dyn::test
