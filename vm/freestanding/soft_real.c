#include "vm/freestanding/soft_real.h"

enum SoftWay { SOFT_TO_ZERO, SOFT_AWAY, SOFT_NEAREST_EVEN, SOFT_NEAREST_AWAY };

static uint32_t upperProduct32(uint32_t a, uint32_t b, uint32_t* low) {
  const uint64_t made = (uint64_t)a * b;
  *low = (uint32_t)made;
  return (uint32_t)(made >> 32);
}
static uint64_t upperProduct64(uint64_t a, uint64_t b, uint64_t* low) {
  const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  const uint64_t lowest = al * bl, first = ah * bl + (lowest >> 32), second = al * bh + (uint32_t)first;
  *low = second << 32 | (uint32_t)lowest;
  return ah * bh + (first >> 32) + (second >> 32);
}

#define WORD uint32_t
#define NAME(function) soft32##function
#define BITS 32
#define FRACTION 23
#define LEADING(value) (softLeadingZeros(value) - 32)
#define PRODUCT upperProduct32
#include "vm/freestanding/soft_width.h"

#define WORD uint64_t
#define NAME(function) soft64##function
#define BITS 64
#define FRACTION 52
#define LEADING softLeadingZeros
#define PRODUCT upperProduct64
#include "vm/freestanding/soft_width.h"

/* --- from one width to another */

/* A magnitude with a fraction of `fromFraction` bits as one with `fraction` bits below an exponent of
 * `exponentBits`. */
static uint32_t narrowed(uint64_t magnitude, int32_t fromFraction, int32_t fromBias, int32_t fraction,
                         int32_t exponentBits) {
  const int32_t most = (1 << exponentBits) - 1, bias = most >> 1, cut = fromFraction - fraction;
  int32_t exponent = (int32_t)(magnitude >> fromFraction) - fromBias + bias;
  uint64_t significand = magnitude & (((uint64_t)1 << fromFraction) - 1);
  if ((magnitude >> fromFraction) != 0) significand |= (uint64_t)1 << fromFraction;
  if (exponent >= most) return (uint32_t)most << fraction;
  int32_t shift = cut;
  if (exponent <= 0) {
    shift += 1 - exponent;
    exponent = 0;
  }
  if (shift > fromFraction + 2) return 0;
  const uint64_t half = (uint64_t)1 << (shift - 1), part = significand & (2 * half - 1);
  significand >>= shift;
  significand += part > half || (part == half && (significand & 1));
  /* The hidden one of what is normal is part of the significand, as is what rounding carries. */
  if (exponent > 0) significand += (uint64_t)(exponent - 1) << fraction;
  return (uint32_t)significand;
}

enum { kBias32 = 127, kBias64 = 1023 };
static const uint32_t kInfinity32 = 0x7F800000u;
static const uint64_t kInfinity64 = (uint64_t)0x7FF << 52;

uint64_t soft32To64(uint32_t a) {
  const uint64_t sign = (uint64_t)(a >> 31) << 63;
  const uint32_t magnitude = a & 0x7FFFFFFFu;
  if (magnitude > kInfinity32) return kInfinity64 | (uint64_t)1 << 51;
  if (magnitude == kInfinity32) return sign | kInfinity64;
  if (magnitude == 0) return sign;
  int32_t exponent;
  const uint32_t significand = soft32Unpack(magnitude, &exponent);
  return sign | (((uint64_t)(exponent - 1 - kBias32 + kBias64) << 52) + ((uint64_t)significand << 29));
}
uint32_t soft64To32(uint64_t a) {
  const uint32_t sign = (uint32_t)(a >> 63) << 31;
  const uint64_t magnitude = a & ~((uint64_t)1 << 63);
  if (magnitude > kInfinity64) return kInfinity32 | 1u << 22;
  return sign | narrowed(magnitude, 52, kBias64, 23, 8);
}
uint16_t soft32To16(uint32_t a) {
  const uint32_t sign = a >> 31 << 15, magnitude = a & 0x7FFFFFFFu;
  if (magnitude > kInfinity32) return (uint16_t)(sign | 0x7E00u);
  return (uint16_t)(sign | narrowed(magnitude, 23, kBias32, 10, 5));
}
uint16_t soft64To16(uint64_t a) {
  const uint32_t sign = (uint32_t)(a >> 63) << 15;
  const uint64_t magnitude = a & ~((uint64_t)1 << 63);
  if (magnitude > kInfinity64) return (uint16_t)(sign | 0x7E00u);
  return (uint16_t)(sign | narrowed(magnitude, 52, kBias64, 10, 5));
}
uint32_t soft16To32(uint16_t a) {
  const uint32_t sign = (uint32_t)(a >> 15) << 31, exponent = (uint32_t)(a >> 10) & 31, fraction = a & 0x3FFu;
  if (exponent == 31) return fraction ? sign | kInfinity32 | 1u << 22 : sign | kInfinity32;
  if (exponent > 0) return sign | (exponent - 15 + kBias32) << 23 | fraction << 13;
  /* fraction * 2^-24 */
  return sign | soft32Multiply(soft32FromNatural(fraction), (uint32_t)(kBias32 - 24) << 23);
}
uint16_t soft32ToBrief(uint32_t a) {
  if ((a & 0x7FFFFFFFu) > kInfinity32) return (uint16_t)((a >> 16 & 0x8000u) | 0x7FC0u);
  const uint32_t part = a & 0xFFFF, kept = a >> 16;
  return (uint16_t)(kept + (part > 0x8000u || (part == 0x8000u && (kept & 1))));
}
