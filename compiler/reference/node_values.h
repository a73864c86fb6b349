// Evaluation of `node_tables`: data values as tables of their nodes.
#pragma once

#include "compiler/ir/op_def.h"
#include "compiler/reference/value.h"

namespace dyn {

// All tables of the list of data values. Errors: a tensor of another size than its type says.
Result<std::vector<Value>> evaluateNodeTables(const EvalContext& c, const Module& module, const Value& roots);

}  // namespace dyn
