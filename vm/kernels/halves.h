// Elements of f16 and bf16 as floats, for kernels that compute in f32.
#pragma once

#include <cstring>

#include "vm/core/builtin/builtin.h"
#include "vm/kernels/half_bits.h"
#include "vm/kernels/pool_scratch.h"

namespace dyn::vm::kernels {

// From memory that was not made for halves: bytes of a file at any address.
inline uint16_t halfAnywhere(const uint16_t* at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
// By bytes: memcpy of a typed pointer demands that it is aligned to its type.
inline void copyAnywhere(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }

// to[i] = from[i]: exact. `from` may lie at any address.
inline void widenHalves(DataType dtype, const uint16_t* from, int64_t count, float* to) {
  if (dtype == DataType::bf16) {
    for (int64_t i = 0; i < count; ++i) to[i] = floatOfBf16(halfAnywhere(from + i));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = floatOfF16(halfAnywhere(from + i));
  }
}

inline bool isHalf(const Tensor* t) { return t->dtype == DataType::f16 || t->dtype == DataType::bf16; }

// The elements of a tensor of f32, f16 or bf16 as floats: as they lie, or widened for the time of a call.
class FloatElements {
 public:
  FloatElements(BuiltinCall& call, const Tensor* tensor)
      : tensor_(tensor), scratch_(call.pool, isHalf(tensor) ? tensor->elementCount : 0) {
    if (scratch_ && isHalf(tensor))
      widenHalves(tensor->dtype, tensor->as<uint16_t>(), tensor->elementCount, scratch_.data());
  }
  explicit operator bool() const { return static_cast<bool>(scratch_); }
  Status status() const { return scratch_.status(); }
  const float* data() const { return isHalf(tensor_) ? scratch_.data() : tensor_->as<float>(); }

 private:
  const Tensor* tensor_;
  const PoolScratch scratch_;
};

}  // namespace dyn::vm::kernels
