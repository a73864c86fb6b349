// float and double: what the standard fixes to the last bit (arithmetic_approximate.cpp has the rest).
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

// -0 is less than +0. Of a number and NaN the plain forms give the number, those with .NaN the NaN.
constexpr auto kMin = []<class T>(T x, T y) {
  if (x == y) return std::signbit(x) ? x : y;
  return x < y || std::isnan(y) ? x : y;
};
constexpr auto kMax = []<class T>(T x, T y) {
  if (x == y) return std::signbit(x) ? y : x;
  return x > y || std::isnan(y) ? x : y;
};
constexpr auto kMinNan = []<class T>(T x, T y) {
  return std::isnan(x) || std::isnan(y) ? T(NAN) : kMin(x, y);
};
constexpr auto kMaxNan = []<class T>(T x, T y) {
  return std::isnan(x) || std::isnan(y) ? T(NAN) : kMax(x, y);
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
    define<kMin, T, T, T>(t, "min" + type);
    define<kMax, T, T, T>(t, "max" + type);
    define<[](T x) { return std::isfinite(x); }, bool, T>(t, "testp.finite" + type);
    define<[](T x) { return std::isinf(x); }, bool, T>(t, "testp.infinite" + type);
    define<[](T x) { return !std::isnan(x); }, bool, T>(t, "testp.number" + type);
    define<[](T x) { return std::isnan(x); }, bool, T>(t, "testp.notanumber" + type);
    define<[](T x) { return std::isnormal(x); }, bool, T>(t, "testp.normal" + type);
    define<[](T x) { return std::fpclassify(x) == FP_SUBNORMAL; }, bool, T>(t, "testp.subnormal" + type);
  });
  define<kMinNan, float, float, float>(t, "min.NaN.f32");
  define<kMaxNan, float, float, float>(t, "max.NaN.f32");
}

}  // namespace simcuda
