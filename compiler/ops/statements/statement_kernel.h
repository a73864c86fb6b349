// Operators whose kernel is written in statements. What one element of their result is, by itself, is no
// definition that would be cheap to compute: each running sum goes on from the one before, and an element
// that is written at an index does not know who writes it. A device runs these; the host has builtins for
// them.
//
//   cumsum, cumprod   units are rows; one cell carries the sum along
//   scatter_elements, scatter_nd
//                     units are pieces of the result, of which each looks at all indices, in their order, and
//                     takes what is written into it: no two units write one element, and repeated indices give
//                     the same bits every time
//   topk              units are elements of the operand; each counts those that come before it, which is its place
//
//   DYN_TRY(StatementKernel made, makeStatementKernel({&op, types, dims, facts, contents, "cumsum", "loop"}));
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/ir/op_def.h"
#include "compiler/loop/builder/lower_context.h"
#include "compiler/loop/kernel.h"

namespace dyn {

struct StatementRequest {
  const Op& op;
  std::vector<Type> operandTypes;  // an invalid type: left out
  DimContext& dims;
  const DimSolver& facts;
  std::function<std::optional<Contents>(int operand)> contents;  // where they are known
  std::string name, description;
};

struct StatementKernel {
  loop::Kernel kernel;
  std::vector<int> operands;        // whose elements its input buffers hold, in their order
  std::vector<loop::Check> checks;  // what faults name, by their number, from 1
};

// False: elements define it, or nothing does.
bool hasStatementKernel(const OpDef& def);
// Why this one cannot be made, where hasStatementKernel(); empty: it can.
std::string statementRefusal(const Op& op, std::span<const Type> operandTypes,
                             const std::function<bool(int operand)>& contentsKnown);
// Error unsupportedFeature: what statementRefusal says.
Result<StatementKernel> makeStatementKernel(const StatementRequest& request);

}  // namespace dyn
