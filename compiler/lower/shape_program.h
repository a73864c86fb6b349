// The run-time reading of an operator's shape rule: the same `infer` that typed the program, run over dims
// that are scalar registers.
#pragma once

#include <unordered_map>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn {

class FunctionLowering;

// Emits code that computes the result dims of `op` from its operands' dims and contents, and binds the
// symbols of its result types that have no value yet. `outer` maps the operands of an operation inside a
// kernel's body to the values of the function; what it lacks stands for itself. Demands of the rule that are
// not proved become checks. Error internalError when the rule needs the computed values themselves.
Status runShapeProgram(FunctionLowering& lowering, const Op& op,
                       const std::unordered_map<ValueId, ValueId>& outer);

}  // namespace dyn
