#include "tests/simcuda/ptx/small_floats.h"

namespace simcuda {

uint32_t roundTo(double v, int exponentBits, int mantissaBits, Rounding rounding) {
  int bias = (1 << (exponentBits - 1)) - 1;
  uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
  uint32_t sign = std::signbit(v) ? 1u << (exponentBits + mantissaBits) : 0;
  if (std::isnan(v)) return infinity | ((1u << mantissaBits) - 1);
  double magnitude = std::fabs(v);
  if (std::isinf(v)) return sign | infinity;
  if (magnitude == 0) return sign;

  // In units of the last place: what lies above the point is kept.
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  double scaled = std::scalbn(magnitude, mantissaBits - exponent);
  double kept = std::floor(scaled), lost = scaled - kept;
  bool up = false;
  switch (rounding) {
    case Rounding::NearestEven:
      up = lost > 0.5 || (lost == 0.5 && std::fmod(kept, 2) != 0);
      break;
    case Rounding::NearestAway:
      up = lost >= 0.5;
      break;
    case Rounding::Zero:
      break;
    case Rounding::Down:
      up = lost > 0 && sign;
      break;
    case Rounding::Up:
      up = lost > 0 && !sign;
      break;
  }
  // Denormals have the field 0 and no hidden bit; a carry runs into the exponent, which is what is wanted.
  auto units = static_cast<uint64_t>(kept) + up;
  uint64_t hidden = 1ull << mantissaBits;
  uint64_t bits = units < hidden && exponent == 1 - bias
                      ? units
                      : (static_cast<uint64_t>(exponent + bias) << mantissaBits) + (units - hidden);
  if (bits < infinity) return sign | static_cast<uint32_t>(bits);
  bool toLargest = rounding == Rounding::Zero || (rounding == Rounding::Down && !sign) ||
                   (rounding == Rounding::Up && sign);
  return sign | (toLargest ? infinity - 1 : infinity);
}

double fmaToOdd(double a, double b, double c) {
  double product = a * b, productRest = std::fma(a, b, -product);
  double sum = product + c, other = sum - product;
  double rest = (product - (sum - other)) + (c - other) + productRest;
  if (rest == 0 || !std::isfinite(sum)) return sum;
  auto bits = std::bit_cast<int64_t>(sum);
  if (bits & 1) return sum;
  // One step towards where the rest points makes the last bit odd without passing a number of the shorter
  // format.
  bool away = (rest > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

}  // namespace simcuda
