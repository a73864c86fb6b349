// What no kernel of a device can be generated for.
#pragma once

#include <span>
#include <string>

#include "compiler/ir/op_def.h"

namespace dyn {

// Why `op` on operands of these types (an invalid type: left out) can not run on a device; empty: it can.
std::string deviceRefusal(const Op& op, std::span<const Type> operandTypes);

}  // namespace dyn
