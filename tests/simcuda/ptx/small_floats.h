// small_floats.h — float16, bfloat16 and tf32 as bits, and rounding to them and to float in all four
// directions.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace simcuda {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

template <class T>
constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

enum class Rounding { NearestEven, NearestAway, Zero, Down, Up };

// v in a format of `mantissaBits` and exponents of `exponentBits`, as its bits (sign first). Exact but for
// the one rounding; what is too large becomes infinite or, by the direction, the largest number; what is too
// small loses bits as denormals do. NaN is 0x7fff....
uint32_t roundTo(double v, int exponentBits, int mantissaBits, Rounding rounding);

// a * b + c rounded once to a double whose last bit is set if anything was lost: rounding that again to a
// format of less than half the bits is right.
double fmaToOdd(double a, double b, double c);

inline float toFloat(Bfloat v) { return std::bit_cast<float>(static_cast<uint32_t>(v.bits) << 16); }

inline float toFloat(Half v) {
  uint32_t sign = (v.bits & 0x8000u) << 16, exponent = v.bits >> 10 & 31, mantissa = v.bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline Half toHalf(double v, Rounding r = Rounding::NearestEven) {
  return {static_cast<uint16_t>(roundTo(v, 5, 10, r))};
}
inline Bfloat toBfloat(double v, Rounding r = Rounding::NearestEven) {
  return {static_cast<uint16_t>(roundTo(v, 8, 7, r))};
}
inline float toFloat(double v, Rounding r) { return std::bit_cast<float>(roundTo(v, 8, 23, r)); }

}  // namespace simcuda
