// setp: comparisons that give a predicate. Of floats the plain ones are false where a NaN is, those with u
// are true.
#include <cmath>

#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

template <class T>
auto value(T x) {
  if constexpr (kIsSmallFloat<T>) {
    return toFloat(x);
  } else {
    return x;
  }
}

template <auto F, class T>
void defineOne(OpTable& t, const std::string& comparison, const std::string& type) {
  define<[](T x, T y) { return F(value(x), value(y)); }, bool, T, T>(t, "setp." + comparison + "." + type);
}

constexpr auto kEqual = [](auto x, auto y) { return x == y; };
constexpr auto kNotEqual = [](auto x, auto y) { return x != y; };
constexpr auto kLess = [](auto x, auto y) { return x < y; };
constexpr auto kLessEqual = [](auto x, auto y) { return x <= y; };
constexpr auto kGreater = [](auto x, auto y) { return x > y; };
constexpr auto kOrdered = [](auto x, auto y) { return !std::isnan(x) && !std::isnan(y); };
constexpr auto kGreaterEqual = [](auto x, auto y) { return x >= y; };

template <class T>
void defineOrder(OpTable& t, const std::string& type) {
  defineOne<kEqual, T>(t, "eq", type);
  defineOne<kLess, T>(t, "lt", type);
  defineOne<kLessEqual, T>(t, "le", type);
  defineOne<kGreater, T>(t, "gt", type);
  defineOne<kGreaterEqual, T>(t, "ge", type);
}

template <class T>
void defineFloat(OpTable& t) {
  std::string type = typeName<T>();
  defineOrder<T>(t, type);
  defineOne<[](auto x, auto y) { return kOrdered(x, y) && x != y; }, T>(t, "ne", type);
  defineOne<[](auto x, auto y) { return !kOrdered(x, y) || x == y; }, T>(t, "equ", type);
  defineOne<kNotEqual, T>(t, "neu", type);
  defineOne<[](auto x, auto y) { return !(x >= y); }, T>(t, "ltu", type);
  defineOne<[](auto x, auto y) { return !(x > y); }, T>(t, "leu", type);
  defineOne<[](auto x, auto y) { return !(x <= y); }, T>(t, "gtu", type);
  defineOne<[](auto x, auto y) { return !(x < y); }, T>(t, "geu", type);
  defineOne<kOrdered, T>(t, "num", type);
  defineOne<[](auto x, auto y) { return !kOrdered(x, y); }, T>(t, "nan", type);
}

}  // namespace

void addCompareOps(OpTable& t) {
  eachType<int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>([&]<class T>() {
    std::string type = typeName<T>();
    defineOrder<T>(t, type);
    defineOne<kNotEqual, T>(t, "ne", type);
    if (std::is_unsigned_v<T>) {
      defineOne<kLess, T>(t, "lo", type);
      defineOne<kLessEqual, T>(t, "ls", type);
      defineOne<kGreater, T>(t, "hi", type);
      defineOne<kGreaterEqual, T>(t, "hs", type);
      defineOne<kEqual, T>(t, "eq", "b" + type.substr(1));
      defineOne<kNotEqual, T>(t, "ne", "b" + type.substr(1));
    }
  });
  eachType<float, double, Half, Bfloat>([&]<class T>() { defineFloat<T>(t); });
}

}  // namespace simcuda
