// What each operation computes on one scalar: the one place that constant folding and the interpreter share.
//
// Reals travel as double and are rounded to their dtype after each operation (f32 arithmetic through double
// and back is exact for + - * / sqrt); integers travel as int64_t, sign- or zero-extended from their width,
// u64 as its bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "compiler/loop/expr.h"

namespace dyn::loop {

inline int integerBits(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
      return 1;
    case Dtype::i2:
    case Dtype::u2:
      return 2;
    case Dtype::i4:
    case Dtype::u4:
      return 4;
    case Dtype::i8:
    case Dtype::u8:
      return 8;
    case Dtype::i16:
    case Dtype::u16:
      return 16;
    case Dtype::i32:
    case Dtype::u32:
      return 32;
    default:
      return 64;
  }
}

// The value as the dtype stores it: wrapped to its width, then sign- or zero-extended.
inline int64_t wrapInteger(Dtype dtype, int64_t value) {
  const int bits = integerBits(dtype);
  if (bits == 64) return value;
  const uint64_t shifted = static_cast<uint64_t>(value) << (64 - bits);
  if (isSigned(dtype)) return static_cast<int64_t>(shifted) >> (64 - bits);
  return static_cast<int64_t>(shifted >> (64 - bits));
}

inline double roundReal(Dtype dtype, double value) {
  if (dtype == Dtype::f32) return static_cast<float>(value);
  if (dtype == Dtype::f64) return value;
  return decodeReal(dtype, encodeReal(dtype, value));
}

// Result of an operation of this dtype: narrow types compute in f32 first.
inline double roundResult(Dtype dtype, double value) {
  if (dtype == Dtype::f64) return value;
  const double single = static_cast<float>(value);
  return dtype == Dtype::f32 ? single : decodeReal(dtype, encodeReal(dtype, single));
}

inline uint64_t asNatural(int64_t value) { return static_cast<uint64_t>(value); }

inline double realUnary(UnaryOp op, double a) {
  switch (op) {
    case UnaryOp::neg:
      return -a;
    case UnaryOp::abs:
      return std::fabs(a);
    case UnaryOp::sign:
      return std::isnan(a) ? a : (a > 0) - (a < 0);
    case UnaryOp::floor:
      return std::floor(a);
    case UnaryOp::ceil:
      return std::ceil(a);
    case UnaryOp::round:
      return std::nearbyint(a);
    case UnaryOp::trunc:
      return std::trunc(a);
    case UnaryOp::sqrt:
      return std::sqrt(a);
    case UnaryOp::exp:
      return std::exp(a);
    case UnaryOp::log:
      return std::log(a);
    case UnaryOp::sin:
      return std::sin(a);
    case UnaryOp::cos:
      return std::cos(a);
    case UnaryOp::tan:
      return std::tan(a);
    case UnaryOp::asin:
      return std::asin(a);
    case UnaryOp::acos:
      return std::acos(a);
    case UnaryOp::atan:
      return std::atan(a);
    case UnaryOp::sinh:
      return std::sinh(a);
    case UnaryOp::cosh:
      return std::cosh(a);
    case UnaryOp::tanh:
      return std::tanh(a);
    case UnaryOp::asinh:
      return std::asinh(a);
    case UnaryOp::acosh:
      return std::acosh(a);
    case UnaryOp::atanh:
      return std::atanh(a);
    case UnaryOp::erf:
      return std::erf(a);
    case UnaryOp::expm1:
      return std::expm1(a);
    case UnaryOp::log1p:
      return std::log1p(a);
    case UnaryOp::sigmoid:
      return 1 / (1 + std::exp(-a));
    case UnaryOp::isNan:
      return std::isnan(a);
    case UnaryOp::isInf:
      return std::isinf(a);
    case UnaryOp::logicalNot:
    case UnaryOp::bitNot:
      break;
  }
  return a;
}

inline int64_t integerUnary(UnaryOp op, Dtype dtype, int64_t a) {
  switch (op) {
    case UnaryOp::neg:
      return wrapInteger(dtype, static_cast<int64_t>(0 - asNatural(a)));
    case UnaryOp::abs:
      return isSigned(dtype) && a < 0 ? wrapInteger(dtype, static_cast<int64_t>(0 - asNatural(a))) : a;
    case UnaryOp::logicalNot:
      return a == 0;
    case UnaryOp::bitNot:
      return wrapInteger(dtype, ~a);
    case UnaryOp::sign:
      return isSigned(dtype) ? (a > 0) - (a < 0) : a != 0;
    default:
      return a;  // floor, ceil, ... of an integer
  }
}

inline double realBinary(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::floorDiv:
      return std::floor(a / b);
    case BinaryOp::mod: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case BinaryOp::rem:
      return std::fmod(a, b);
    case BinaryOp::min:
      return std::isnan(a) ? a : std::isnan(b) ? b : (a < b ? a : b);
    case BinaryOp::max:
      return std::isnan(a) ? a : std::isnan(b) ? b : (a > b ? a : b);
    case BinaryOp::pow:
      return std::pow(a, b);
    default:
      return a;
  }
}

inline bool realCompare(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::equal:
      return a == b;
    case BinaryOp::notEqual:
      return a != b;
    case BinaryOp::less:
      return a < b;
    default:
      return a <= b;
  }
}

inline bool isComparison(BinaryOp op) {
  return op == BinaryOp::equal || op == BinaryOp::notEqual || op == BinaryOp::less ||
         op == BinaryOp::lessEqual;
}
inline bool isIntegerDivision(BinaryOp op) {
  return op == BinaryOp::div || op == BinaryOp::floorDiv || op == BinaryOp::mod || op == BinaryOp::rem;
}

inline int64_t integerPower(int64_t base, int64_t exponent, bool isSignedType) {
  if (isSignedType && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1, factor = asNatural(base);
  for (uint64_t e = asNatural(exponent); e != 0; e >>= 1) {
    if (e & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

// Nullopt: division by zero. Comparisons give 0 or 1.
inline std::optional<int64_t> integerBinary(BinaryOp op, Dtype dtype, int64_t a, int64_t b) {
  const bool natural = !isSigned(dtype);
  const uint64_t ua = asNatural(a), ub = asNatural(b);
  const auto wrap = [&](uint64_t v) { return wrapInteger(dtype, static_cast<int64_t>(v)); };
  switch (op) {
    case BinaryOp::add:
      return wrap(ua + ub);
    case BinaryOp::sub:
      return wrap(ua - ub);
    case BinaryOp::mul:
      return wrap(ua * ub);
    case BinaryOp::div:
    case BinaryOp::floorDiv: {
      if (b == 0) return std::nullopt;
      if (natural) return wrap(ua / ub);
      if (b == -1) return wrap(0 - ua);
      const int64_t q = a / b;
      return op == BinaryOp::floorDiv && a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
    }
    case BinaryOp::mod:
    case BinaryOp::rem: {
      if (b == 0) return std::nullopt;
      if (natural) return wrap(ua % ub);
      if (b == -1) return 0;
      const int64_t r = a % b;
      return op == BinaryOp::mod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case BinaryOp::min:
      return natural ? (ua < ub ? a : b) : (a < b ? a : b);
    case BinaryOp::max:
      return natural ? (ua > ub ? a : b) : (a > b ? a : b);
    case BinaryOp::pow:
      return wrapInteger(dtype, integerPower(a, b, !natural));
    case BinaryOp::equal:
      return a == b;
    case BinaryOp::notEqual:
      return a != b;
    case BinaryOp::less:
      return natural ? ua < ub : a < b;
    case BinaryOp::lessEqual:
      return natural ? ua <= ub : a <= b;
    case BinaryOp::logicalAnd:
      return (a != 0) && (b != 0);
    case BinaryOp::logicalOr:
      return (a != 0) || (b != 0);
    case BinaryOp::logicalXor:
      return (a != 0) != (b != 0);
    case BinaryOp::bitAnd:
      return a & b;
    case BinaryOp::bitOr:
      return a | b;
    case BinaryOp::bitXor:
      return a ^ b;
    case BinaryOp::shiftLeft:
      return ub >= static_cast<uint64_t>(integerBits(dtype)) ? 0 : wrap(ua << ub);
    case BinaryOp::shiftRight:
      if (ub >= static_cast<uint64_t>(integerBits(dtype))) return !natural && a < 0 ? -1 : 0;
      return natural ? static_cast<int64_t>(ua >> ub) : a >> b;
  }
  return 0;
}

// Largest and smallest value of an integer dtype, in storage form.
inline int64_t integerLowest(Dtype dtype) {
  return isSigned(dtype) ? static_cast<int64_t>(~uint64_t{0} << (integerBits(dtype) - 1)) : 0;
}
inline int64_t integerHighest(Dtype dtype) {
  const int bits = integerBits(dtype) - (isSigned(dtype) ? 1 : 0);
  return static_cast<int64_t>(bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
}

// Truncates, saturates, NaN → 0. Types narrower than a byte wrap, after the byte that holds them has
// saturated.
inline int64_t realToInteger(Dtype dtype, double value) {
  if (std::isnan(value)) return 0;
  if (integerBits(dtype) < 8) return wrapInteger(dtype, realToInteger(Dtype::i8, value));
  value = std::trunc(value);
  if (dtype == Dtype::u64) {
    if (value <= 0) return 0;
    return value >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  const int64_t low = integerLowest(dtype), high = integerHighest(dtype);
  if (value <= static_cast<double>(low)) return low;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<int64_t>(value);
}

// One rounding from the integer to f32 or f64; narrow types go through f32.
inline double integerToReal(Dtype from, Dtype to, int64_t value) {
  if (to == Dtype::f64)
    return from == Dtype::u64 ? static_cast<double>(asNatural(value)) : static_cast<double>(value);
  const float single = from == Dtype::u64 ? static_cast<float>(asNatural(value)) : static_cast<float>(value);
  return roundReal(to, single);
}

// Neutral elements of reductions.
inline double realNeutral(ReduceOp op) {
  switch (op) {
    case ReduceOp::product:
      return 1;
    case ReduceOp::minimum:
      return std::numeric_limits<double>::infinity();
    case ReduceOp::maximum:
      return -std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}
inline int64_t integerNeutral(ReduceOp op, Dtype dtype) {
  switch (op) {
    case ReduceOp::product:
    case ReduceOp::logicalAnd:
      return 1;
    case ReduceOp::minimum:
      return integerHighest(dtype);
    case ReduceOp::maximum:
      return integerLowest(dtype);
    default:
      return 0;
  }
}
inline BinaryOp combineOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return BinaryOp::add;
    case ReduceOp::product:
      return BinaryOp::mul;
    case ReduceOp::minimum:
      return BinaryOp::min;
    case ReduceOp::maximum:
      return BinaryOp::max;
    case ReduceOp::logicalAnd:
      return BinaryOp::logicalAnd;
    case ReduceOp::logicalOr:
      return BinaryOp::logicalOr;
  }
  return BinaryOp::add;
}

}  // namespace dyn::loop
