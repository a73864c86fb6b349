// Operators whose result is as long as values decide, in two kernels with a count between them that the host
// waits for: nonzero, compress.
//
//   counts   acc[0] = 0  for k < n { acc[0] = acc[0] + i64(x[k] != 0)  counts[k] = acc[0] }  total[0] = acc[0]
//   chosen   units are elements of x: if x[e] != 0 { y[counts[e] - 1] = ... }
#pragma once

#include "compiler/ops/statements/statement_kernel.h"

namespace dyn {

struct SelectionKernels {
  // Buffers: an operand, then counts [length] and total [1], both i64; the operand or operands, counts, then
  // the result.
  StatementKernel counts, chosen;
  Dim length, count;  // of the counts; the symbol of the result's dims that `total` is the value of
};

bool hasSelectionKernels(const OpDef& def);
Result<SelectionKernels> makeSelectionKernels(const StatementRequest& request);

}  // namespace dyn
