// A kernel that applies one element-wise function to an array: the smallest real kernel, used where an
// operator is not fused with anything, and to test and measure vector_math.h by itself.
#pragma once

#include <string>

#include "compiler/codegen/llvm/kernel_module.h"
#include "compiler/codegen/math/vector_math.h"

namespace dyn {

enum class FloatType { float32, float64 };

// "dyn_math_exp_f32"
std::string mathKernelSymbol(MathFunction function, FloatType type);

// A module with one DynKernelFunction of that name: out[i] = f(x[i]) or f(x[i], y[i]) for begin <= i < end;
// buffers {x, out} or {x, y, out}, no scalars, no scratch. Whole vectors of the machine first, then single
// elements; every split gives the same bits.
Result<KernelModule> emitMathKernel(MathFunction function, FloatType type, const MachineDescription& machine);

}  // namespace dyn
