// Arithmetic of reals in integers beside that of this machine's processor: the same bits, for edges and for
// many random values. NaNs are NaNs.
#include "vm/freestanding/soft_real.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace dyn {
namespace {

template <typename Real>
using Word = std::conditional_t<sizeof(Real) == 4, uint32_t, uint64_t>;

template <typename Real>
Word<Real> bitsOf(Real value) {
  return std::bit_cast<Word<Real>>(value);
}

template <typename Real>
struct Soft;
#define SOFT_OF(real, prefix)                                \
  template <>                                                \
  struct Soft<real> {                                        \
    static constexpr auto add = prefix##Add;                 \
    static constexpr auto subtract = prefix##Subtract;       \
    static constexpr auto multiply = prefix##Multiply;       \
    static constexpr auto divide = prefix##Divide;           \
    static constexpr auto root = prefix##Root;               \
    static constexpr auto compare = prefix##Compare;         \
    static constexpr auto fromNatural = prefix##FromNatural; \
    static constexpr auto fromInteger = prefix##FromInteger; \
    static constexpr auto toNatural = prefix##ToNatural;     \
    static constexpr auto toInteger = prefix##ToInteger;     \
    static constexpr auto floor = prefix##Floor;             \
    static constexpr auto ceiling = prefix##Ceiling;         \
    static constexpr auto truncate = prefix##Truncate;       \
    static constexpr auto nearestEven = prefix##NearestEven; \
    static constexpr auto nearestAway = prefix##NearestAway; \
  };
SOFT_OF(float, soft32)
SOFT_OF(double, soft64)
#undef SOFT_OF

// Zeros, the smallest, the largest, ones and halves, whole numbers and their neighbours, what is none.
template <typename Real>
std::vector<Real> edges() {
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> values;
  for (Real value : {Real(0),
                     Limits::denorm_min(),
                     Limits::min(),
                     Limits::max(),
                     Limits::infinity(),
                     Limits::quiet_NaN(),
                     Limits::epsilon(),
                     Real(0.5),
                     Real(1),
                     Real(1.5),
                     Real(2),
                     Real(2.5),
                     Real(3),
                     Real(10),
                     Real(32767.5),
                     Real(2147483648.0),
                     Real(4294967296.0),
                     Real(9223372036854775808.0),
                     Real(18446744073709551616.0),
                     Real(16777216),
                     Real(8388608),
                     Real(65504),
                     Real(65520),
                     Real(6.103515625e-05),
                     Real(5.9604644775390625e-08)})
    for (Real sign : {Real(1), Real(-1)}) {
      values.push_back(sign * value);
      values.push_back(std::nextafter(sign * value, Limits::infinity()));
      values.push_back(std::nextafter(sign * value, -Limits::infinity()));
    }
  return values;
}

// Of all exponents, or (every second one) of those near 1, with few bits or with many.
template <typename Real>
Real randomReal(std::mt19937_64& random) {
  Word<Real> bits = static_cast<Word<Real>>(random());
  const uint64_t kind = random();
  constexpr int kFraction = std::numeric_limits<Real>::digits - 1;
  if (kind & 1) {
    const Word<Real> exponent = bitsOf(Real(1)) >> kFraction;
    bits &= (Word<Real>{1} << kFraction) - 1;
    bits |= (exponent - 32 + static_cast<Word<Real>>(random() % 64)) << kFraction;
    bits |= static_cast<Word<Real>>(random() & 1) << (sizeof(Real) * 8 - 1);
  }
  if (kind & 2) bits &= ~Word<Real>{0} << (random() % kFraction);
  if ((kind & 60) == 0) bits &= (Word<Real>{1} << kFraction) - 1;  // subnormal
  return std::bit_cast<Real>(bits);
}

template <typename Real>
testing::AssertionResult same(Word<Real> actual, Real expected, Real a, Real b) {
  const Real given = std::bit_cast<Real>(actual);
  if (std::isnan(expected) ? std::isnan(given) : actual == bitsOf(expected))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << std::hexfloat << "of " << a << " and " << b << ": " << given
                                     << ", expected " << expected;
}

template <typename Real>
void pairIsRight(Real a, Real b) {
  using S = Soft<Real>;
  const Word<Real> x = bitsOf(a), y = bitsOf(b);
  ASSERT_TRUE(same<Real>(S::add(x, y), a + b, a, b)) << "add";
  ASSERT_TRUE(same<Real>(S::subtract(x, y), a - b, a, b)) << "subtract";
  ASSERT_TRUE(same<Real>(S::multiply(x, y), a * b, a, b)) << "multiply";
  ASSERT_TRUE(same<Real>(S::divide(x, y), a / b, a, b)) << "divide";
  const int32_t order = std::isnan(a) || std::isnan(b) ? SOFT_UNORDERED
                        : a < b                        ? SOFT_LESS
                        : a > b                        ? SOFT_GREATER
                                                       : SOFT_EQUAL;
  ASSERT_EQ(S::compare(x, y), order) << std::hexfloat << a << " and " << b;
}

template <typename Integer, typename Real>
Integer fitted(Real value) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  if (value < static_cast<Real>(std::numeric_limits<Integer>::min()))
    return std::numeric_limits<Integer>::min();
  // The largest integer is no real of this width, the next power of two is.
  if (value >= std::ldexp(Real(1), std::numeric_limits<Integer>::digits))
    return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

template <typename Real>
void oneIsRight(Real a) {
  using S = Soft<Real>;
  const Word<Real> x = bitsOf(a);
  ASSERT_TRUE(same<Real>(S::root(x), std::sqrt(a), a, a)) << "root";
  ASSERT_TRUE(same<Real>(S::floor(x), std::floor(a), a, a)) << "floor";
  ASSERT_TRUE(same<Real>(S::ceiling(x), std::ceil(a), a, a)) << "ceiling";
  ASSERT_TRUE(same<Real>(S::truncate(x), std::trunc(a), a, a)) << "truncate";
  ASSERT_TRUE(same<Real>(S::nearestEven(x), std::nearbyint(a), a, a)) << "nearest, even";
  ASSERT_TRUE(same<Real>(S::nearestAway(x), std::round(a), a, a)) << "nearest, away";
  ASSERT_EQ(S::toInteger(x, 32), fitted<int32_t>(a)) << a;
  ASSERT_EQ(S::toInteger(x, 64), fitted<int64_t>(a)) << a;
  ASSERT_EQ(S::toNatural(x, 32), fitted<uint32_t>(a)) << a;
  ASSERT_EQ(S::toNatural(x, 64), fitted<uint64_t>(a)) << a;
}

template <typename Real>
void integerIsRight(uint64_t value) {
  using S = Soft<Real>;
  const auto integer = static_cast<int64_t>(value);
  ASSERT_EQ(S::fromNatural(value), bitsOf(static_cast<Real>(value))) << value;
  ASSERT_EQ(S::fromInteger(integer), bitsOf(static_cast<Real>(integer))) << integer;
}

constexpr int kRandomValues = 300'000;

template <typename Real>
void valuesAreRight() {
  const std::vector<Real> some = edges<Real>();
  for (Real a : some) {
    ASSERT_NO_FATAL_FAILURE(oneIsRight(a));
    for (Real b : some) ASSERT_NO_FATAL_FAILURE(pairIsRight(a, b));
  }
  std::mt19937_64 random(17);
  for (int i = 0; i < kRandomValues; ++i) {
    const Real a = randomReal<Real>(random);
    Real b = randomReal<Real>(random);
    // Differences of neighbours lose all their upper bits.
    if (i % 5 == 0) b = std::nextafter(a, b);
    ASSERT_NO_FATAL_FAILURE(pairIsRight(a, b));
    ASSERT_NO_FATAL_FAILURE(pairIsRight(a, some[static_cast<size_t>(i) % some.size()]));
    ASSERT_NO_FATAL_FAILURE(oneIsRight(a));
    ASSERT_NO_FATAL_FAILURE(integerIsRight<Real>(random() >> (random() % 64)));
  }
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, ~uint64_t{0}, (uint64_t{1} << 24) + 1,
                         (uint64_t{1} << 53) + 1, (uint64_t{1} << 63) - 1})
    ASSERT_NO_FATAL_FAILURE(integerIsRight<Real>(value));
}

TEST(SoftReal, of32Bits) { valuesAreRight<float>(); }
TEST(SoftReal, of64Bits) { valuesAreRight<double>(); }

TEST(SoftReal, fromOneWidthToAnother) {
  std::mt19937_64 random(18);
  std::vector<double> values = edges<double>();
  for (float value : edges<float>()) values.push_back(value);
  for (int i = 0; i < kRandomValues; ++i) {
    values.push_back(randomReal<double>(random));
    values.push_back(randomReal<float>(random));
  }
  for (double value : values) {
    const auto narrow = static_cast<float>(value);
    ASSERT_TRUE(same<float>(soft64To32(bitsOf(value)), narrow, narrow, narrow)) << value;
    ASSERT_TRUE(same<double>(soft32To64(bitsOf(narrow)), static_cast<double>(narrow), value, value));
  }
}

#if defined(__FLT16_MAX__)
#if defined(__aarch64__)
using Half = __fp16;  // what GCC 12 has there in C++
#else
using Half = _Float16;
#endif

TEST(SoftReal, of16Bits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = std::bit_cast<Half>(static_cast<uint16_t>(bits));
    const auto wide = static_cast<float>(half);
    ASSERT_TRUE(same<float>(soft16To32(static_cast<uint16_t>(bits)), wide, wide, wide)) << bits;
  }
  std::mt19937_64 random(19);
  std::vector<double> values = edges<double>();
  for (int i = 0; i < kRandomValues; ++i)
    values.push_back(i % 2 ? randomReal<double>(random)
                           : std::ldexp(randomReal<float>(random), static_cast<int>(random() % 40) - 20));
  for (double value : values) {
    const auto fromDouble = static_cast<Half>(value);
    const auto fromFloat = static_cast<Half>(static_cast<float>(value));
    if (std::isnan(value)) {
      ASSERT_EQ(soft64To16(bitsOf(value)) & 0x7E00, 0x7E00);
      continue;
    }
    ASSERT_EQ(soft64To16(bitsOf(value)), std::bit_cast<uint16_t>(fromDouble)) << std::hexfloat << value;
    ASSERT_EQ(soft32To16(bitsOf(static_cast<float>(value))), std::bit_cast<uint16_t>(fromFloat))
        << std::hexfloat << value;
  }
}
#endif

// To bf16: the nearest of the two neighbours in f32, of two equally near ones the even one.
TEST(SoftReal, ofABriefExponent) {
  std::mt19937_64 random(20);
  for (int i = 0; i < kRandomValues; ++i) {
    const auto value = randomReal<float>(random);
    const uint16_t made = soft32ToBrief(bitsOf(value));
    const auto wide = [](uint32_t upper) { return std::bit_cast<float>(upper << 16); };
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(wide(made)));
      continue;
    }
    const uint32_t low = bitsOf(value) >> 16;
    const double below = std::fabs(double(value) - double(wide(low)));
    const double above = std::fabs(double(wide(low + 1)) - double(value));
    if (!std::isfinite(wide(low + 1))) continue;
    ASSERT_EQ(made, below < above || (below == above && low % 2 == 0) ? low : low + 1)
        << std::hexfloat << value;
  }
}

TEST(SoftReal, integersOf64Bits) {
  std::mt19937_64 random(21);
  for (int i = 0; i < kRandomValues; ++i) {
    const uint64_t a = random() >> (random() % 64), b = random() >> (random() % 64);
    const auto left = static_cast<int64_t>(a), right = static_cast<int64_t>(b);
    const auto bits = static_cast<int32_t>(random() % 64);
    ASSERT_EQ(softMultiply(a, b), a * b);
    ASSERT_EQ(softShiftLeft(a, bits), a << bits);
    ASSERT_EQ(softShiftRight(a, bits), a >> bits);
    ASSERT_EQ(softShiftRightSigned(left, bits), left >> bits);
    ASSERT_EQ(softLeadingZeros(a), std::countl_zero(a));
    uint64_t rest = 1;
    if (b == 0) {
      ASSERT_EQ(softDivideNatural(a, b, &rest), 0U);
      ASSERT_EQ(rest, a);
      continue;
    }
    ASSERT_EQ(softDivideNatural(a, b, &rest), a / b);
    ASSERT_EQ(rest, a % b);
    if (left == std::numeric_limits<int64_t>::min() && right == -1) continue;
    int64_t signedRest = 1;
    ASSERT_EQ(softDivide(left, right, &signedRest), left / right);
    ASSERT_EQ(signedRest, left % right);
  }
}

}  // namespace
}  // namespace dyn
