// Integers: sums, products, quotients, smallest and largest. Everything wraps; a quotient by zero is all
// ones, as chips have it.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

template <class T>
using Unsigned =
    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;  // wide enough that nothing is promoted to int

template <class T>
using Doubled = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>>;

constexpr auto kAdd = []<class T>(T x, T y) { return static_cast<T>(Unsigned<T>(x) + Unsigned<T>(y)); };
constexpr auto kSub = []<class T>(T x, T y) { return static_cast<T>(Unsigned<T>(x) - Unsigned<T>(y)); };
constexpr auto kMulLow = []<class T>(T x, T y) { return static_cast<T>(Unsigned<T>(x) * Unsigned<T>(y)); };
constexpr auto kMulHigh = []<class T>(T x, T y) {
  return static_cast<T>((Doubled<T>(x) * Doubled<T>(y)) >> (8 * sizeof(T)));
};
constexpr auto kDivide = []<class T>(T x, T y) {
  if (y == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return static_cast<T>(Unsigned<T>(0) - Unsigned<T>(x));
  }
  return static_cast<T>(x / y);
};
constexpr auto kRemainder = []<class T>(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return T{0};
  }
  return static_cast<T>(x % y);
};
constexpr auto kMin = []<class T>(T x, T y) { return std::min(x, y); };
constexpr auto kMax = []<class T>(T x, T y) { return std::max(x, y); };
constexpr auto kNegate = []<class T>(T x) { return static_cast<T>(Unsigned<T>(0) - Unsigned<T>(x)); };
constexpr auto kAbsolute = []<class T>(T x) { return x < 0 ? kNegate(x) : x; };
constexpr auto kMadLow = []<class T>(T x, T y, T z) { return kAdd(kMulLow(x, y), z); };
constexpr auto kMadHigh = []<class T>(T x, T y, T z) { return kAdd(kMulHigh(x, y), z); };

template <class T>
constexpr T saturate(int64_t v) {
  return static_cast<T>(std::clamp<int64_t>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
constexpr auto kAddSaturated = [](int32_t x, int32_t y) { return saturate<int32_t>(int64_t{x} + y); };
constexpr auto kSubSaturated = [](int32_t x, int32_t y) { return saturate<int32_t>(int64_t{x} - y); };

// Wide products: x * y of twice the bits.
template <class T, class Wide>
void defineWide(OpTable& t) {
  define<[](T x, T y) { return static_cast<Wide>(Doubled<T>(x) * Doubled<T>(y)); }, Wide, T, T>(
      t, "mul.wide." + typeName<T>());
  define<[](T x, T y, Wide z) { return kAdd(static_cast<Wide>(Doubled<T>(x) * Doubled<T>(y)), z); }, Wide, T,
         T, Wide>(t, "mad.wide." + typeName<T>());
}

// Four products of bytes and a sum.
template <class A, class B, class D>
D dot4(uint32_t x, uint32_t y, D sum) {
  uint32_t s = static_cast<uint32_t>(sum);
  for (int i = 0; i < 32; i += 8) {
    s += static_cast<uint32_t>(static_cast<int32_t>(static_cast<A>(x >> i)) *
                               static_cast<int32_t>(static_cast<B>(y >> i)));
  }
  return static_cast<D>(s);
}

}  // namespace

void addIntegerOps(OpTable& t) {
  eachType<int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>([&]<class T>() {
    std::string type = "." + typeName<T>();
    define<kAdd, T, T, T>(t, "add" + type);
    define<kSub, T, T, T>(t, "sub" + type);
    define<kMulLow, T, T, T>(t, "mul.lo" + type);
    define<kMulHigh, T, T, T>(t, "mul.hi" + type);
    define<kMadLow, T, T, T, T>(t, "mad.lo" + type);
    define<kMadHigh, T, T, T, T>(t, "mad.hi" + type);
    define<kDivide, T, T, T>(t, "div" + type);
    define<kRemainder, T, T, T>(t, "rem" + type);
    define<kMin, T, T, T>(t, "min" + type);
    define<kMax, T, T, T>(t, "max" + type);
  });
  eachType<int16_t, int32_t, int64_t>([&]<class T>() {
    define<kNegate, T, T>(t, "neg." + typeName<T>());
    define<kAbsolute, T, T>(t, "abs." + typeName<T>());
  });
  defineWide<int16_t, int32_t>(t);
  defineWide<uint16_t, uint32_t>(t);
  defineWide<int32_t, int64_t>(t);
  defineWide<uint32_t, uint64_t>(t);
  define<kAddSaturated, int32_t, int32_t, int32_t>(t, "add.sat.s32");
  define<kSubSaturated, int32_t, int32_t, int32_t>(t, "sub.sat.s32");
  define<dot4<int8_t, int8_t, int32_t>, int32_t, uint32_t, uint32_t, int32_t>(t, "dp4a.s32.s32");
  define<dot4<uint8_t, uint8_t, uint32_t>, uint32_t, uint32_t, uint32_t, uint32_t>(t, "dp4a.u32.u32");
  define<dot4<uint8_t, int8_t, int32_t>, int32_t, uint32_t, uint32_t, int32_t>(t, "dp4a.u32.s32");
  define<dot4<int8_t, uint8_t, int32_t>, int32_t, uint32_t, uint32_t, int32_t>(t, "dp4a.s32.u32");
}

}  // namespace simcuda
