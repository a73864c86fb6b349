// Evaluation of the operators on tuples, lists, optionals and data values (rows in value_ops.cpp).
#pragma once

#include "compiler/ir/op_def.h"
#include "compiler/reference/value.h"

namespace dyn {

// The one result of a structural operator; left-out operands are none. Error unsupportedOp for any other operator.
Result<Value> evaluateStructural(const EvalContext& c, std::vector<Value> operands);

}  // namespace dyn
