// What a program may have at most. The numbers are the VM's, stated once in vm/isa/isa.h; beyond them the
// answer is "unsupported: ...", with the number and the operation, where the VM could only refuse the whole
// program.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/support/result.h"
#include "vm/isa/program.h"

namespace dyn {

// Asked before lowering: axes of tensors, nesting of the types of @main, operands of an operation.
Status withinLimits(const Module& placed);
// Asked of what was lowered: registers, kernels.
Status withinLimits(const vm::Program& program);

}  // namespace dyn
