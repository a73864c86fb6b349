/* Conversions between the narrow real types and double, for compiler and runtime alike (C++20, header only). The enumerations of element
 * types on both sides come from dyn_dtype.def and name their values alike, so that the functions take either. */
#ifndef DYN_NARROW_REAL_H
#define DYN_NARROW_REAL_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dyn::narrow {

// A narrow binary format: sign · exponent · mantissa. Codes above `largest` (without the sign) are NaN or infinity.
struct NarrowFormat {
  int exponentBits;
  int mantissaBits;
  int bias;
  uint64_t largest;   // code of the largest finite magnitude
  uint64_t infinity;  // code, 0 = the format has none
  uint64_t nan;       // code a NaN is written as, with its sign bit; 0 = the format has none
  bool negativeZero;  // false (fnuz): the code of -0 is the NaN
  bool mayOverflow;   // false: the `saturate` switch of Cast matters; true: out of range is always infinity
};

inline constexpr NarrowFormat kF16{5, 10, 15, 0x7bff, 0x7c00, 0x7e00, true, true};
inline constexpr NarrowFormat kBf16{8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, true, true};
inline constexpr NarrowFormat kF8e4m3fn{4, 3, 7, 0x7e, 0, 0x7f, true, false};
inline constexpr NarrowFormat kF8e4m3fnuz{4, 3, 8, 0x7f, 0, 0x80, false, false};
inline constexpr NarrowFormat kF8e5m2{5, 2, 15, 0x7b, 0x7c, 0x7e, true, false};
inline constexpr NarrowFormat kF8e5m2fnuz{5, 2, 16, 0x7f, 0, 0x80, false, false};
inline constexpr NarrowFormat kF4e2m1{2, 1, 1, 0x7, 0, 0, true, false};

template <typename Dtype>
const NarrowFormat* formatOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return &kF16;
    case Dtype::bf16:
      return &kBf16;
    case Dtype::f8e4m3fn:
      return &kF8e4m3fn;
    case Dtype::f8e4m3fnuz:
      return &kF8e4m3fnuz;
    case Dtype::f8e5m2:
      return &kF8e5m2;
    case Dtype::f8e5m2fnuz:
      return &kF8e5m2fnuz;
    case Dtype::f4e2m1:
      return &kF4e2m1;
    default:
      return nullptr;
  }
}

inline double decodeNarrow(const NarrowFormat& f, uint64_t bits) {
  const int signShift = f.exponentBits + f.mantissaBits;
  const uint64_t magnitude = bits & ((uint64_t{1} << signShift) - 1);
  const bool negative = (bits >> signShift) & 1;
  if (!f.negativeZero && negative && magnitude == 0) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > f.largest) {
    if (f.infinity != 0 && magnitude == f.infinity) {
      return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0);
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissaBits);
  const uint64_t fraction = magnitude & ((uint64_t{1} << f.mantissaBits) - 1);
  const double value = exponent == 0
                           ? std::ldexp(static_cast<double>(fraction), 1 - f.bias - f.mantissaBits)
                           : std::ldexp(static_cast<double>(fraction | (uint64_t{1} << f.mantissaBits)),
                                        exponent - f.bias - f.mantissaBits);
  return negative ? -value : value;
}

inline uint64_t encodeNarrow(const NarrowFormat& f, double value, bool saturate) {
  const int signShift = f.exponentBits + f.mantissaBits;
  const uint64_t sign = uint64_t{std::signbit(value)} << signShift;
  if (std::isnan(value)) {
    if (f.nan == 0) return uint64_t{1} << signShift;  // f4e2m1 has no NaN: -0, as the ONNX reference does
    return f.negativeZero ? (sign | f.nan) : f.nan;
  }
  uint64_t magnitude = f.largest + 1;
  if (value == 0) {
    magnitude = 0;
  } else if (std::isfinite(value)) {
    int exponent = 0;
    std::frexp(value, &exponent);
    const int lowest = 1 - f.bias;
    exponent = exponent - 1 < lowest ? lowest : exponent - 1;
    if (exponent <= lowest + (1 << f.exponentBits)) {
      // The code of a normal number is its rounded significand plus the exponent's offset: a carry moves into the exponent.
      const double scaled = std::ldexp(std::fabs(value), f.mantissaBits - exponent);
      magnitude = static_cast<uint64_t>(std::nearbyint(scaled)) +
                  (static_cast<uint64_t>(exponent - lowest) << f.mantissaBits);
    }
  }
  if (magnitude > f.largest) {
    if (f.mayOverflow) return sign | f.infinity;
    if (saturate || f.nan == 0) return sign | f.largest;
    if (f.infinity != 0) return sign | f.infinity;
    return f.negativeZero ? (sign | f.nan) : f.nan;
  }
  if (magnitude == 0 && !f.negativeZero) return 0;
  return sign | magnitude;
}

inline constexpr int kScaleBias = 127;

inline double decodeScale(uint64_t bits) {
  if ((bits & 0xff) == 0xff) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, static_cast<int>(bits & 0xff) - kScaleBias);
}

// f8e8m0 holds powers of two: up = away from zero, down = toward zero, nearest = ties up. The sign is dropped; zero and what is too small
// become 2^-127.
enum class ScaleRounding : uint8_t { up, down, nearest };

inline uint64_t encodeScale(double value, ScaleRounding rounding, bool saturate) {
  constexpr uint64_t kNan = 0xff, kLargest = 0xfe;
  if (!std::isfinite(value)) return kNan;  // infinities too, as the ONNX reference does
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
  int code = exponent - 1 + kScaleBias;
  const bool exact = fraction == 0.5;
  if (rounding == ScaleRounding::up && !exact) ++code;
  if (rounding == ScaleRounding::nearest && fraction >= 0.75) ++code;
  if (code < 0) return 0;
  if (code > static_cast<int>(kLargest)) return saturate ? kLargest : kNan;
  return static_cast<uint64_t>(code);
}

// One storage element of a real type.
template <typename Dtype>
double decodeReal(Dtype dtype, uint64_t bits) {
  if (dtype == Dtype::f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (dtype == Dtype::f64) return std::bit_cast<double>(bits);
  if (dtype == Dtype::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  if (dtype == Dtype::f8e8m0) return decodeScale(bits);
  const NarrowFormat* format = formatOf(dtype);
  return format ? decodeNarrow(*format, bits) : 0;
}

// Rounds to nearest even.
template <typename Dtype>
uint64_t encodeReal(Dtype dtype, double value, bool saturate) {
  if (dtype == Dtype::f32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (dtype == Dtype::f64) return std::bit_cast<uint64_t>(value);
  if (dtype == Dtype::f8e8m0) return encodeScale(value, ScaleRounding::up, saturate);
  const NarrowFormat* format = formatOf(dtype);
  return format ? encodeNarrow(*format, value, saturate) : 0;
}

}  // namespace dyn::narrow

#endif
