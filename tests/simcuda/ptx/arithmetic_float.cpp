// float and double: what the standard fixes to the last bit (arithmetic_approximate.cpp has the rest).
#include <bit>
#include <cmath>

#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

constexpr auto kAdd = []<class T>(T x, T y) { return x + y; };
constexpr auto kSub = []<class T>(T x, T y) { return x - y; };
constexpr auto kMul = []<class T>(T x, T y) { return x * y; };
constexpr auto kDivide = []<class T>(T x, T y) { return x / y; };
constexpr auto kFma = []<class T>(T x, T y, T z) { return std::fma(x, y, z); };
constexpr auto kSqrt = []<class T>(T x) { return std::sqrt(x); };
constexpr auto kReciprocal = []<class T>(T x) { return 1 / x; };
constexpr auto kNegate = []<class T>(T x) { return -x; };
constexpr auto kAbsolute = []<class T>(T x) { return std::fabs(x); };
constexpr auto kCopySign = []<class T>(T sign, T x) { return std::copysign(x, sign); };

// -0 is less than +0. Of a number and NaN the plain forms give the number, those with .NaN the NaN; a NaN is
// always the same one.
template <class T>
T canonicalNan() {
  if constexpr (sizeof(T) == 4) return std::bit_cast<float>(0x7fffffffu);
  if constexpr (sizeof(T) == 8) return std::bit_cast<double>(0x7fffffffffffffffull);
}
template <bool kLargest>
constexpr auto kExtreme = []<class T>(T x, T y) {
  if (x == y) return std::signbit(x) == kLargest ? y : x;
  if (std::isnan(x)) return std::isnan(y) ? canonicalNan<T>() : y;
  return (kLargest ? x > y : x < y) || std::isnan(y) ? x : y;
};
template <bool kLargest>
constexpr auto kExtremeNan = []<class T>(T x, T y) {
  return std::isnan(x) || std::isnan(y) ? canonicalNan<T>() : kExtreme<kLargest>(x, y);
};

}  // namespace

void addFloatOps(OpTable& t) {
  eachType<float, double>([&]<class T>() {
    std::string type = "." + typeName<T>();
    // Without .rn the assembler may fuse a product with a sum; the rounding is the same.
    for (const std::string& rounding : {std::string(), std::string(".rn")}) {
      define<kAdd, T, T, T>(t, "add" + rounding + type);
      define<kSub, T, T, T>(t, "sub" + rounding + type);
      define<kMul, T, T, T>(t, "mul" + rounding + type);
    }
    define<kDivide, T, T, T>(t, "div.rn" + type);
    define<kFma, T, T, T, T>(t, "fma.rn" + type);
    define<kSqrt, T, T>(t, "sqrt.rn" + type);
    define<kReciprocal, T, T>(t, "rcp.rn" + type);
    define<kNegate, T, T>(t, "neg" + type);
    define<kAbsolute, T, T>(t, "abs" + type);
    define<kCopySign, T, T, T>(t, "copysign" + type);
    define<kExtreme<false>, T, T, T>(t, "min" + type);
    define<kExtreme<true>, T, T, T>(t, "max" + type);
    define<[](T x) { return std::isfinite(x); }, bool, T>(t, "testp.finite" + type);
    define<[](T x) { return std::isinf(x); }, bool, T>(t, "testp.infinite" + type);
    define<[](T x) { return !std::isnan(x); }, bool, T>(t, "testp.number" + type);
    define<[](T x) { return std::isnan(x); }, bool, T>(t, "testp.notanumber" + type);
    define<[](T x) { return std::isnormal(x); }, bool, T>(t, "testp.normal" + type);
    define<[](T x) { return std::fpclassify(x) == FP_SUBNORMAL; }, bool, T>(t, "testp.subnormal" + type);
  });
  define<kExtremeNan<false>, float, float, float>(t, "min.NaN.f32");
  define<kExtremeNan<true>, float, float, float>(t, "max.NaN.f32");
}

}  // namespace simcuda
