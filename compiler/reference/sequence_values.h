// Evaluation of the operators between tensors and lists of tensors (rows in sequence_ops.cpp).
#pragma once

#include "compiler/ir/op_def.h"
#include "compiler/reference/value.h"

namespace dyn {

bool isSequenceOp(const OpDef* def);
// The one result of such an operator. Precondition: isSequenceOp.
Result<Value> evaluateSequence(const EvalContext& c, const std::vector<Value>& operands);

}  // namespace dyn
