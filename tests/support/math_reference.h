// The C library's functions as references for those of generated code (math_functions.def), and the distance
// to them.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/codegen/math/vector_math.h"

namespace dyn::test {

// Distance in units of the number's spacing at the exact value.
template <typename Number>
inline double ulpError(Number got, long double exact) {
  using Limits = std::numeric_limits<Number>;
  const auto rounded = static_cast<Number>(exact);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    const bool close = std::isinf(rounded) ? std::fabs(got) >= Limits::max()
                                           : std::fabs(exact) >= static_cast<long double>(Limits::max());
    return close && std::signbit(got) == std::signbit(exact) ? 1 : INFINITY;
  }
  int exponent;
  std::frexp(exact, &exponent);
  const long double spacing = std::ldexp(1.0L, std::max(exponent, Limits::min_exponent) - Limits::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / spacing);
}

// In a precision of one's own; null for functions of two arguments.
template <typename Real>
Real (*exactOf(MathFunction function))(Real) {
  switch (function) {
    case MathFunction::exp:
      return std::exp;
    case MathFunction::log:
      return std::log;
    case MathFunction::tanh:
      return std::tanh;
    case MathFunction::erf:
      return std::erf;
    case MathFunction::sigmoid:
      return [](Real x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); };
    case MathFunction::sin:
      return std::sin;
    case MathFunction::cos:
      return std::cos;
    case MathFunction::expm1:
      return std::expm1;
    case MathFunction::log1p:
      return std::log1p;
    case MathFunction::tan:
      return std::tan;
    case MathFunction::asin:
      return std::asin;
    case MathFunction::acos:
      return std::acos;
    case MathFunction::atan:
      return std::atan;
    case MathFunction::sinh:
      return std::sinh;
    case MathFunction::cosh:
      return std::cosh;
    case MathFunction::asinh:
      return std::asinh;
    case MathFunction::acosh:
      return std::acosh;
    case MathFunction::atanh:
      return std::atanh;
    default:
      return nullptr;  // of two arguments
  }
}

}  // namespace dyn::test
