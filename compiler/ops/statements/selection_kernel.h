// Operators whose results are as long as values decide: kernels that count, one number that the host waits
// for, a kernel that writes. Between them they keep what they have found out in memory of their own.
//
//   nonzero   counts   acc[0] = 0  for k < n { acc[0] = acc[0] + i64(x[k] != 0)  counts[k] = acc[0] }  total[0] = acc[0]
//             write    units are elements of x: if x[e] != 0 { y[:, counts[e] - 1] = ... }
#pragma once

#include "compiler/ops/statements/statement_kernel.h"

namespace dyn {

struct SelectionStep {
  StatementKernel kernel;
  std::vector<size_t> reads, writes;  // memories by number, as the kernel's buffers have them
};

struct SelectionKernels {
  struct Memory {
    std::string name;
    Dtype dtype = Dtype::i64;
    Shape shape;
  };
  std::vector<Memory> memories;  // nobody reads them behind the last step
  std::vector<SelectionStep> counting;
  size_t total = 0;       // the memory whose one element is the number
  Dim count;              // the symbol of the results' dims that it is the value of
  SelectionStep writing;  // its outputs are the results
};

bool hasSelectionKernels(const OpDef& def);
// How many of the first operands are tensors of elements, not parameters of the operator.
size_t selectedOperands(const OpDef& def);
// How many kernels it is.
int64_t selectionKernelCount(const OpDef& def);
// Why this one cannot be made, where hasSelectionKernels(); empty: it can.
std::string selectionRefusal(std::span<const Type> operandTypes);
Result<SelectionKernels> makeSelectionKernels(const StatementRequest& request);

}  // namespace dyn
