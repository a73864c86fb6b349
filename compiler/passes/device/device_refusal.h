// What does not run on a device, and why.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "compiler/ir/op_def.h"

namespace dyn {

// Integers and flags, few and of a known number: the host may need them for sizes.
bool isSmallInteger(Type type);
inline constexpr const char* kSmallIntegers = "small integers";

// Why there is no device kernel for `op` on operands of these types (an invalid type: left out); empty: there
// is one.
// Of what kernels can be generated for, alone or as a group.
std::string generatedRefusal(const Op& op, std::span<const Type> operandTypes);
// Of what has a builtin of the host (compiler/ops/statements/statement_kernel.h).
std::string builtinRefusal(const Op& op, std::span<const Type> operandTypes,
                           const std::function<bool(int operand)>& contentsKnown);
// Of what has results as long as values decide (compiler/ops/statements/selection_kernel.h).
std::string countedRefusal(const Op& op, std::span<const Type> operandTypes);

}  // namespace dyn
