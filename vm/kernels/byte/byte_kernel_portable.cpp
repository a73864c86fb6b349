// 2x16 tiles: any CPU.
#include "vm/kernels/byte/byte_kernel.h"
#include "vm/kernels/byte/rescaled_byte.inc"

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
  Words b{};
  for (int i = 0; i < 4; ++i) {
    b.low[i] = static_cast<uint32_t>(from[2 * i]);
    b.high[i] = static_cast<uint32_t>(from[2 * i + 1]);
  }
  return b;
}
inline Sums multiplyAdd(Sums sums, Words a, Words b) { return sums + a.low * b.low + a.high * b.high; }
inline Words mixed(const uint8_t* from, const int64_t* offsets) {
  Words a{};
  for (int i = 0; i < 4; ++i) {
    a.low[i] = from[offsets[0] + i];
    a.high[i] = from[offsets[1] + i];
  }
  return a;
}

template <bool kSaturates>
struct Rescaler {
  const dyn::vm::kernels::ByteRescale& rescale;

  explicit Rescaler(const dyn::vm::kernels::ByteRescale& of) : rescale(of) {}
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    for (int64_t j = 0; j < 4 && j < columns; ++j)
      to[at + j] = rescaledByte(rescale, static_cast<int32_t>(sums[j]), scales[j]);
  }
};

struct Joiner {
  const dyn::vm::kernels::ByteRescale& rescale;

  explicit Joiner(const dyn::vm::kernels::ByteRescale& of) : rescale(of) {}
  void store(Sums sums, const float* scales, uint8_t* to, int64_t at, int64_t columns) const {
    for (int64_t j = 0; j < 4 && j < columns; ++j)
      to[at + j] =
          joinedByte(rescale, static_cast<int32_t>(sums[j]), scales[j], rescale.shortcut.bytes[at + j]);
  }
};

}  // namespace

#define DYN_LANES 4
#define DYN_VECTORS 4
#define DYN_MAX_ROWS 2
#define DYN_FAMILY byteGemmPortable
#define DYN_NAME "portable"
#include "vm/kernels/byte/byte_kernel.inc"
