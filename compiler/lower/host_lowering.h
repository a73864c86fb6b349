// Operators that the host code does itself, a function each. The functions stand in files by subject, each
// with its rows at its end:
//
//   Status lowerIf(FunctionLowering& c, const Op& op, LoweredBody& body) {...}
//
//   std::span<const HostRow> branchRows() {
//     static const HostRow kRows[] = {{&ops::ifOp, lowerIf}, {&ops::matchOp, lowerMatch}};
//     return kRows;
//   }
#pragma once

#include <span>

#include "compiler/lower/function_lowering.h"

namespace dyn {

using HostFunction = Status (*)(FunctionLowering& c, const Op& op, LoweredBody& body);

struct HostRow {
  const OpDef* op;
  HostFunction lower;
};

std::span<const HostRow> memoryRows();  // memory_lowering.cpp
std::span<const HostRow> intoRows();    // into_lowering.cpp
std::span<const HostRow> dimRows();     // dim_lowering.cpp
std::span<const HostRow> branchRows();  // branch_lowering.cpp
std::span<const HostRow> loopRows();    // loop_lowering.cpp
std::span<const HostRow> callRows();    // call_lowering.cpp
std::span<const HostRow> dataRows();    // data_lowering.cpp

// All of them, by subject.
std::vector<HostRow> hostRows();
// How the host code does an operation of this row; null: it does not.
HostFunction hostFunctionOf(const OpDef& op);

// Is the operation the last of the function, with the function's results? Then a call may jump.
bool isTail(const Op& op, const LoweredBody& body);
// Does the operation run on the target's device?
bool isForDevice(const Op& op);

}  // namespace dyn
