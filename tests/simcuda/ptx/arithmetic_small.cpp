// float16 and bfloat16, one or two in a register. Each operation rounds once.
#include <cmath>

#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

template <class T>
T rounded(double v) {
  if constexpr (std::is_same_v<T, Half>) {
    return toHalf(v);
  } else {
    return toBfloat(v);
  }
}

// Sums and products of two such numbers are exact in double, but for sums of far exponents: these are rounded
// to odd first.
template <class T>
constexpr auto kAdd = [](T x, T y) { return rounded<T>(fmaToOdd(toFloat(x), 1, toFloat(y))); };
template <class T>
constexpr auto kSub = [](T x, T y) { return rounded<T>(fmaToOdd(toFloat(x), 1, -toFloat(y))); };
template <class T>
constexpr auto kMul = [](T x, T y) { return rounded<T>(double{toFloat(x)} * double{toFloat(y)}); };
template <class T>
constexpr auto kFma = [](T x, T y, T z) { return rounded<T>(fmaToOdd(toFloat(x), toFloat(y), toFloat(z))); };
template <class T>
constexpr auto kNegate = [](T x) { return T{static_cast<uint16_t>(x.bits ^ 0x8000)}; };
template <class T>
constexpr auto kAbsolute = [](T x) { return T{static_cast<uint16_t>(x.bits & 0x7fff)}; };

// kLargest: max, else min. kNan: of a number and NaN the result is NaN.
template <class T, bool kLargest, bool kNan>
constexpr auto kExtreme = [](T x, T y) {
  float a = toFloat(x), b = toFloat(y);
  if (std::isnan(a) || std::isnan(b)) {
    if (kNan || (std::isnan(a) && std::isnan(b))) return T{0x7fff};
    return std::isnan(a) ? y : x;
  }
  bool first = a == b ? std::signbit(a) != kLargest : kLargest ? a > b : a < b;
  return first ? x : y;
};

template <auto F, class T>
constexpr auto kTwice = [](uint32_t x, auto... rest) {
  auto half = [](uint32_t v, int which) { return T{static_cast<uint16_t>(v >> (16 * which))}; };
  uint32_t low = F(half(x, 0), half(rest, 0)...).bits, high = F(half(x, 1), half(rest, 1)...).bits;
  return high << 16 | low;
};

template <auto F, class T, class... Rest>
void single(OpTable& t, const std::string& name) {
  define<F, T, T, Rest...>(t, name + "." + typeName<T>());
}

template <class T>
void defineBoth(OpTable& t) {
  std::string two = "." + typeName<T>() + "x2";
  using W = uint32_t;
  for (const std::string& rounding : {std::string(), std::string(".rn")}) {
    single<kAdd<T>, T, T>(t, "add" + rounding);
    single<kSub<T>, T, T>(t, "sub" + rounding);
    single<kMul<T>, T, T>(t, "mul" + rounding);
    define<kTwice<kAdd<T>, T>, W, W, W>(t, "add" + rounding + two);
    define<kTwice<kSub<T>, T>, W, W, W>(t, "sub" + rounding + two);
    define<kTwice<kMul<T>, T>, W, W, W>(t, "mul" + rounding + two);
  }
  single<kFma<T>, T, T, T>(t, "fma.rn");
  single<kNegate<T>, T>(t, "neg");
  single<kAbsolute<T>, T>(t, "abs");
  single<kExtreme<T, false, false>, T, T>(t, "min");
  single<kExtreme<T, true, false>, T, T>(t, "max");
  single<kExtreme<T, false, true>, T, T>(t, "min.NaN");
  single<kExtreme<T, true, true>, T, T>(t, "max.NaN");
  define<kTwice<kFma<T>, T>, W, W, W, W>(t, "fma.rn" + two);
  define<kTwice<kNegate<T>, T>, W, W>(t, "neg" + two);
  define<kTwice<kAbsolute<T>, T>, W, W>(t, "abs" + two);
  define<kTwice<kExtreme<T, false, false>, T>, W, W, W>(t, "min" + two);
  define<kTwice<kExtreme<T, true, false>, T>, W, W, W>(t, "max" + two);
  define<kTwice<kExtreme<T, false, true>, T>, W, W, W>(t, "min.NaN" + two);
  define<kTwice<kExtreme<T, true, true>, T>, W, W, W>(t, "max.NaN" + two);
}

}  // namespace

void addSmallFloatOps(OpTable& t) {
  defineBoth<Half>(t);
  defineBoth<Bfloat>(t);
}

}  // namespace simcuda
