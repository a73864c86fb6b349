// Elements of f16 and bf16 as floats, for kernels that compute in f32.
#pragma once

#include <cstring>

#include "vm/core/builtin/builtin.h"
#include "vm/kernels/pool_scratch.h"

namespace dyn::vm::kernels {

// From memory that was not made for halves: bytes of a file at any address.
inline uint16_t halfAnywhere(const uint16_t* at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

// to[i] = from[i]: exact. `from` may lie at any address.
inline void widenHalves(DataType dtype, const uint16_t* from, int64_t count, float* to) {
  if (dtype == DataType::bf16) {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t bits = static_cast<uint32_t>(halfAnywhere(from + i)) << 16;
      memcpy(to + i, &bits, sizeof bits);
    }
    return;
  }
  // Exponent and digits of an f16 moved to their places are a float 2^112 times too small, denormals
  // included; infinities and NaN lack an exponent of all ones.
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t half = halfAnywhere(from + i), magnitude = (half & 0x7fff) << 13,
                   sign = (half & 0x8000) << 16;
    float value;
    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits |= sign | (magnitude >= 0x7c00u << 13 ? 0xffu << 23 : 0);
    memcpy(to + i, &bits, sizeof bits);
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
