// Four floats at once, anywhere in memory: what every CPU has, for the loops around the micro-kernels.
#pragma once

namespace dyn::vm::kernels {

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
inline Four& four(float* at) { return *reinterpret_cast<Four*>(at); }
inline const Four& four(const float* at) { return *reinterpret_cast<const Four*>(at); }

}  // namespace dyn::vm::kernels
