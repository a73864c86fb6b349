// 2x16 tiles: any CPU.
#include "vm/kernels/byte/byte_kernel.h"

namespace {

typedef uint32_t Sums __attribute__((vector_size(16), aligned(4), may_alias));
struct Words {
  Sums low, high;  // the two elements of each lane's group
};
constexpr int kGroup = 2;

inline Words everyLane(uint32_t word) {
  return {Sums{} + (word & 0xffff), Sums{} + (word >> 16)};  // A is not negative
}
inline Words lanes(const int8_t* from) {
  Words b;
  for (int i = 0; i < 4; ++i) {
    b.low[i] = static_cast<uint32_t>(from[2 * i]);
    b.high[i] = static_cast<uint32_t>(from[2 * i + 1]);
  }
  return b;
}
inline Sums multiplyAdd(Sums sums, Words a, Words b) { return sums + a.low * b.low + a.high * b.high; }
inline Words mixed(const uint8_t* from, const int64_t* offsets) {
  Words a;
  for (int i = 0; i < 4; ++i) {
    a.low[i] = from[offsets[0] + i];
    a.high[i] = from[offsets[1] + i];
  }
  return a;
}

struct Rescaler {
  float low, high;
  int32_t zero;

  explicit Rescaler(const dyn::vm::kernels::ByteRescale& rescale)
      : low(rescale.low), high(rescale.high), zero(rescale.zero) {}
  void store(Sums sums, const float* scales, uint8_t* to, int64_t columns) const {
    for (int64_t j = 0; j < 4 && j < columns; ++j) {
      const float real = static_cast<float>(static_cast<int32_t>(sums[j])) * scales[j];
      const float more = real > low ? real : low, inside = more < high ? more : high;
      to[j] = static_cast<uint8_t>(static_cast<int32_t>(__builtin_nearbyintf(inside)) + zero);
    }
  }
};

}  // namespace

#define DYN_LANES 4
#define DYN_VECTORS 4
#define DYN_MAX_ROWS 2
#define DYN_FAMILY byteGemmPortable
#define DYN_NAME "portable"
#include "vm/kernels/byte/byte_kernel.inc"
