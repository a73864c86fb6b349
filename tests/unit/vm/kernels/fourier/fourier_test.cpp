// dft: against sums by definition in f64, for every length up to 150, primes, both directions, one side, cut
// and filled, along every axis; bits and threads;
// hostile lengths; the plans that a context keeps.
#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/core/builtin/plan_cache.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/fourier/fourier_plan.h"

extern const dyn::vm::kernels::FourierKernels<float> dynFourierFloatPortable, dynFourierFloatAvx2,
    dynFourierFloatAvx512;

namespace dyn::vm::test {
namespace {

using ::testing::HasSubstr;
using Complex = std::complex<double>;

constexpr int32_t kForward = 0, kInverse = 1, kOneSided = 2, kReals = 3;

std::vector<Complex> byDefinition(const std::vector<Complex>& x, double sign) {
  const size_t n = x.size();
  std::vector<Complex> turns, y(n);
  for (size_t k = 0; k < n; ++k)
    turns.push_back(
        std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  for (size_t k = 0; k < n; ++k)
    for (size_t j = 0; j < n; ++j) y[k] += x[j] * turns[j * k % n];
  return y;
}

class FourierTest : public BuiltinTest {
 protected:
  static constexpr int64_t kNone = -1;

  // x [outer, size, inner, parts] along axis 1; checked against the definition in f64.
  template <typename T>
  void check(int32_t flags, int64_t size, int64_t length, int64_t outer, int64_t inner, int64_t parts) {
    constexpr DataType dtype = std::is_same_v<T, float> ? DataType::f32 : DataType::f64;
    std::vector<T> values(static_cast<size_t>(outer * size * inner * parts));
    std::normal_distribution<double> normal;
    for (T& value : values) value = static_cast<T>(normal(random_));
    Tensor* x = tensor(dtype, {outer, size, inner, parts}, values);
    const int64_t n = length != kNone ? length : flags == kReals ? 2 * (size - 1) : size;
    const int64_t outputs = flags == kOneSided ? n / 2 + 1 : n, partsOut = flags == kReals ? 1 : 2;
    Tensor* y = output({outer, outputs, inner, partsOut}, dtype);
    std::vector<Object*> arguments = {x, nullptr, tensor<int64_t>(DataType::i64, {}, {1})};
    if (length != kNone) arguments[1] = tensor<int64_t>(DataType::i64, {1}, {length});
    ASSERT_TRUE(call("dft", arguments, {.numbers = {flags}}, {y}).ok());
    double error = 0, norm = 0;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        std::vector<Complex> row(static_cast<size_t>(n));
        for (int64_t j = 0; j < std::min(size, flags == kReals ? n / 2 + 1 : n); ++j) {
          const T* from = x->as<T>() + ((o * size + j) * inner + i) * parts;
          row[static_cast<size_t>(j)] = {static_cast<double>(from[0]),
                                         parts == 2 ? static_cast<double>(from[1]) : 0};
          if (flags == kReals && j > 0 && 2 * j < n)
            row[static_cast<size_t>(n - j)] = std::conj(row[static_cast<size_t>(j)]);
          else if (flags == kReals)
            row[static_cast<size_t>(j)].imag(0);
        }
        const bool isInverse = (flags & kInverse) != 0;
        const std::vector<Complex> expected = byDefinition(row, isInverse ? 1 : -1);
        for (int64_t k = 0; k < outputs; ++k) {
          const T* to = y->as<T>() + ((o * outputs + k) * inner + i) * partsOut;
          const Complex wanted =
              expected[static_cast<size_t>(k)] / (isInverse ? static_cast<double>(n) : 1.0);
          const Complex got(static_cast<double>(to[0]),
                            partsOut == 2 ? static_cast<double>(to[1]) : wanted.imag());
          error += std::norm(got - wanted);
          norm += std::norm(wanted);
        }
      }
    ASSERT_LE(std::sqrt(error), std::sqrt(norm) * (dtype == DataType::f32 ? 6e-7 : 6e-15))
        << "flags " << flags << " size " << size << " length " << n << " rows " << outer << " x " << inner
        << " parts " << parts;
  }
};

TEST_F(FourierTest, everyLengthAndWay) {
  for (int64_t n = 1; n <= 150; ++n)
    for (int64_t rows : {1, 19}) {
      check<float>(kForward, n, kNone, rows, 1, 2);
      check<float>(kForward, n, kNone, rows, 1, 1);
      check<float>(kOneSided, n, kNone, rows, 1, 1);
      check<float>(kInverse, n, kNone, rows, 1, 1 + n % 2);
      check<float>(kReals, n / 2 + 1, n, rows, 1, 2);
      check<double>(n % 2 == 0 ? kOneSided : kForward, n, kNone, rows, 1, 1);
      check<double>(kReals, n / 2 + 1, n, rows, 1, 1 + n % 2);
    }
}

TEST_F(FourierTest, lengthsOfSpeechAndPrimes) {
  for (int64_t n : {256, 400, 512, 1000, 1009, 1024, 2018, 4099})
    for (int64_t rows : {1, 9}) {
      check<float>(kOneSided, n, kNone, rows, 1, 1);
      check<float>(kForward, n, kNone, rows, 1, 2);
      check<double>(kInverse, n, kNone, rows, 1, 2);
      check<float>(kReals, n / 2 + 1, n, rows, 1, 2);
    }
}

TEST_F(FourierTest, cutFilledAndAlongOtherAxes) {
  for (int64_t length : {1, 2, 5, 8, 31, 37, 64})
    for (int64_t size : {1, 3, 8, 40, 100})
      for (int64_t inner : {1, 3, 33}) {
        check<float>(kForward, size, length, 2, inner, 2);
        check<float>(kForward, size, length, 2, inner, 1);
        check<float>(kOneSided, size, length, 1, inner, 1);
        check<float>(kInverse, size, length, 2, inner, 1);
        check<float>(kReals, size, length, 2, inner, 2);
        check<float>(kReals, size, length, 1, inner, 1);
      }
}

TEST_F(FourierTest, anInfinityStaysInItsRow) {
  for (int64_t n : {8, 12, 37}) {
    std::vector<float> values(static_cast<size_t>(40 * n), 1.0f);
    values[static_cast<size_t>(3 * n)] = INFINITY;
    Tensor* x = tensor(DataType::f32, {40, n, 1}, values);
    Tensor* y = output({40, n, 2});
    ASSERT_TRUE(call("dft", {x}, {.numbers = {kForward}}, {y}).ok());
    for (int64_t i = 0; i < 40 * n; ++i)
      ASSERT_NEAR(i / n == 3 ? 0 : y->as<float>()[2 * i],
                  i / n != 3 && i % n == 0 ? static_cast<float>(n) : 0.0f, 1e-4f);
  }
}

TEST_F(FourierTest, threadsGiveTheSameBits) {
  for (int64_t n : {400, 1009, 5000}) {
    Tensor* x = floats({61, n, 1});
    Tensor *one = output({61, n / 2 + 1, 2}), *three = output({61, n / 2 + 1, 2});
    threads_ = &single_;
    ASSERT_TRUE(call("dft", {x}, {.numbers = {kOneSided}}, {one}).ok());
    threads_ = &three_;
    ASSERT_TRUE(call("dft", {x}, {.numbers = {kOneSided}}, {three}).ok());
    EXPECT_EQ(memcmp(one->data, three->data, one->sizeBytes()), 0) << n;
  }
}

// By the definition this would take 10^12 steps.
TEST_F(FourierTest, aMillionElements) {
  for (int64_t n : {int64_t{1000000}, int64_t{1000003}}) {
    std::vector<float> values(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j)
      values[static_cast<size_t>(j)] = static_cast<float>(
          std::cos(2 * std::numbers::pi * static_cast<double>(j * 777 % n) / static_cast<double>(n)));
    Tensor* y = output({1, n / 2 + 1, 2});
    ASSERT_TRUE(call("dft", {tensor(DataType::f32, {1, n, 1}, values)}, {.numbers = {kOneSided}}, {y}).ok());
    const float* bins = y->as<float>();
    EXPECT_NEAR(bins[2 * 777], static_cast<double>(n) / 2, 1);
    EXPECT_NEAR(bins[2 * 778], 0, 1);
    EXPECT_NEAR(bins[2 * 123456], 0, 1);
  }
}

TEST_F(FourierTest, whatDoesNotFit) {
  Tensor* x = floats({2, 8, 1});
  const auto one = [&](int64_t value) { return tensor<int64_t>(DataType::i64, {}, {value}); };
  Tensor* y = output({2, 8, 2});
  EXPECT_THAT(call("dft", {x, one(-1)}, {.numbers = {0}}, {y}).message, HasSubstr("length out of range"));
  EXPECT_THAT(call("dft", {x, one(INT64_MAX)}, {.numbers = {0}}, {y}).message,
              HasSubstr("length out of range"));
  EXPECT_THAT(call("dft", {x, one(int64_t{1} << 40)}, {.numbers = {0}}, {y}).message,
              HasSubstr("do not fit"));
  EXPECT_THAT(call("dft", {x, nullptr, one(2)}, {.numbers = {0}}, {y}).message, HasSubstr("no such axis"));
  EXPECT_THAT(call("dft", {x, nullptr, one(-4)}, {.numbers = {0}}, {y}).message, HasSubstr("no such axis"));
  EXPECT_THAT(call("dft", {floats({2, 8, 3})}, {.numbers = {0}}, {y}).message, HasSubstr("do not fit"));
  EXPECT_THAT(call("dft", {floats({2, 8, 2})}, {.numbers = {kOneSided}}, {output({2, 5, 2})}).message,
              HasSubstr("do not fit"));
  // No rows: nothing to do, however long they are.
  EXPECT_TRUE(
      call("dft", {output({0, int64_t{1} << 40, 1})}, {.numbers = {0}}, {output({0, int64_t{1} << 40, 2})})
          .ok());
}

// The instruction sets share no code that is compiled once: each is checked on the CPU that has it.
TEST_F(FourierTest, narrowVectorsGiveTheSameTransforms) {
  using namespace kernels;
  for (int64_t n : {30, 64, 77, 101, 700, 1009}) {
    const auto transformed = [&](const FourierKernels<float>& kernels) {
      const FourierShape shape(n, kernels.lanes);
      std::vector<float> tables(static_cast<size_t>(FourierPlan<float>::tableElements(shape, kernels.lanes))),
          scratch(static_cast<size_t>(FourierPlan<float>::rowElements(shape, kernels.lanes)));
      const FourierPlan<float> plan(shape, kernels, tables.data(), scratch.data());
      std::vector<float> real(static_cast<size_t>(n)), imaginary(static_cast<size_t>(n));
      for (size_t j = 0; j < real.size(); ++j) {
        real[j] = std::sin(static_cast<float>(j * j % 101));
        imaginary[j] = std::cos(static_cast<float>(3 * j % 89));
      }
      plan.row(real.data(), imaginary.data(), scratch.data());
      real.insert(real.end(), imaginary.begin(), imaginary.end());
      return real;
    };
    const std::vector<float> portable = transformed(dynFourierFloatPortable);
    std::vector<const FourierKernels<float>*> others = {&fourierKernels<float>()};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      others.push_back(&dynFourierFloatAvx2);
    if (__builtin_cpu_supports("avx512f")) others.push_back(&dynFourierFloatAvx512);
#endif
    for (const FourierKernels<float>* kernels : others) {
      const std::vector<float> same = transformed(*kernels);
      for (size_t i = 0; i < same.size(); ++i)
        ASSERT_NEAR(same[i], portable[i], 1e-4) << n << " in vectors of " << kernels->lanes;
    }
  }
}

TEST(PlanCache, KeepsThoseUsedLast) {
  PlanCache cache;
  const auto made = [] { return std::make_unique<const CachedPlan>(); };
  for (int64_t size = 0; size < 40; ++size) cache.keep({0, size}, made(), 100);
  EXPECT_EQ(cache.count(), PlanCache::kPlans);
  EXPECT_EQ(cache.find({0, 3}), nullptr);
  EXPECT_NE(cache.find({0, 39}), nullptr);
  EXPECT_EQ(cache.find({1, 39}), nullptr);
  // One that is used stays.
  for (int64_t size = 40; size < 80; ++size) {
    cache.keep({0, size}, made(), 100);
    EXPECT_NE(cache.find({0, 39}), nullptr);
  }
  cache.keep({0, 1000}, made(), PlanCache::kBytes);
  EXPECT_EQ(cache.count(), 1u);
}

}  // namespace
}  // namespace dyn::vm::test
