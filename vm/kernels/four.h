// Four floats at once, anywhere in memory: what every CPU has, for the loops around the micro-kernels.
#pragma once

#include <cstring>

namespace dyn::vm::kernels {

typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
inline Four& four(float* at) { return *reinterpret_cast<Four*>(at); }
inline const Four& four(const float* at) { return *reinterpret_cast<const Four*>(at); }

// From memory that was not made for floats: bytes of a file at any address.
inline Four fourAnywhere(const float* at) {
  Four value;
  memcpy(&value, at, sizeof value);
  return value;
}
inline float floatAnywhere(const float* at) {
  float value;
  memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace dyn::vm::kernels
