// Divisions of 64-bit integers, which vectors do by way of reals where all lanes are small
// (codegen/emit/integer_division.cpp): each bit, on both sides of what is small, for this host's vectors and
// for those of AVX2.
#include <limits>

#include "tests/unit/compiler/driver/machines_here.h"

namespace dyn {
namespace {

using Limits = std::numeric_limits<int64_t>;
constexpr int64_t kSmall = int64_t{1} << 51;

// Rounded toward 0, or down; division by -1 wraps.
int64_t quotient(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
}
int64_t remainderOf(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t moduloOf(int64_t a, int64_t b) {
  const int64_t rest = remainderOf(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t naturalQuotient(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
}
int64_t naturalRest(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
}

struct Division {
  const char *operation, *dtype;
  int64_t (*expected)(int64_t, int64_t);
};
constexpr Division kDivisions[] = {
    {"div(%x, %y)", "i64", quotient},
    {"mod(%x, %y)", "i64", moduloOf},
    {"mod(%x, %y) {fmod = 1}", "i64", remainderOf},
    {"div(%x, %y)", "u64", naturalQuotient},
    {"mod(%x, %y)", "u64", naturalRest},
};

// Dividends about a multiple of a divisor, and divisors of all lengths: none beyond `limit`, a power of two,
// or any (0).
void fill(HostTensor& x, HostTensor& y, int64_t limit) {
  const int64_t ends[] = {Limits::max(), Limits::min(), Limits::min() + 1, kSmall,         -kSmall,
                          kSmall - 1,    -kSmall - 1,   2 * kSmall + 1,    4 * kSmall + 1, 4 * kSmall - 1};
  std::mt19937_64 random(3);
  const auto inside = [&](int64_t n) {
    if (limit == 0) return n;
    const int64_t rest = x.dtype() == Dtype::u64 ? n & (limit - 1) : n % limit;
    return random() % 9 == 0 ? (rest < 0 ? -limit : limit - 1) : rest;
  };
  const auto anyLength = [&] { return static_cast<int64_t>(random()) >> random() % 64; };
  for (int64_t i = 0; i < y.elementCount(); ++i) {
    const int64_t n = inside(random() % 5 == 0 ? ends[random() % 10] : anyLength());
    y.setInt(i, n == 0 ? 1 : n);
  }
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const int64_t by = y.intAt(i % y.elementCount()),
                  n = random() % 5 == 0 ? ends[random() % 10] : anyLength();
    const uint64_t whole = static_cast<uint64_t>(remainderOf(n, by) == n ? n : n - remainderOf(n, by));
    x.setInt(i, inside(static_cast<int64_t>(whole + random() % 3 - 1)));
  }
}

void expectQuotients(test::Compiled& compiled, const Division& division, Dtype dtype,
                     std::vector<int64_t> shape, std::vector<int64_t> divisors, int64_t limit) {
  HostTensor x = *HostTensor::create(dtype, std::move(shape));
  HostTensor y = *HostTensor::create(dtype, std::move(divisors));
  fill(x, y, limit);
  Result<std::vector<HostTensor>> results = compiled.run({x, y});
  ASSERT_TRUE(results.ok()) << results.error().toString();
  const int64_t columns = x.shape()[1];
  for (int64_t i = 0; i < x.elementCount(); ++i) {
    const int64_t row = i / columns, column = i % columns;
    const int64_t at = y.shape().empty()
                           ? 0
                           : (y.shape()[0] == 1 ? 0 : row * y.shape()[1]) + (y.shape()[1] == 1 ? 0 : column);
    const int64_t by = y.intAt(at);
    ASSERT_EQ((*results)[0].intAt(i), division.expected(x.intAt(i), by))
        << x.intAt(i) << " by " << by << ", element " << i << " of rows of " << columns;
  }
}

TEST(IntegerDivision, QuotientsOfAllSizesAreExact) {
  for (const CompileOptions& options : test::machinesHere())
    for (const Division& division : kDivisions)
      for (const char* divisor : {"n, m", "n, 1", "1, m", ""}) {
        SCOPED_TRACE(std::string(division.operation) + " of " + division.dtype + " by (" + divisor + ")" +
                     (options.target ? " for AVX2" : ""));
        IrContext context;
        Result<Module> parsed = test::parseText(
            context, test::withType("fn @main(%x: Tensor[(n, m), TYPE], %y: Tensor[(", division.dtype) +
                         test::withType(std::string(divisor) + "), TYPE]) { %z = ", division.dtype) +
                         division.operation + " return %z }");
        ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
        Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, options);
        ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
        const Dtype dtype = division.dtype[0] == 'u' ? Dtype::u64 : Dtype::i64;
        for (const int64_t columns : {1, 3, 7, 8, 16, 17, 61, 1031})
          for (const int64_t limit : {int64_t{0}, kSmall, kSmall >> 20}) {
            std::vector<int64_t> divisors;
            if (*divisor) divisors = {divisor[0] == 'n' ? 5 : 1, divisor[3] == 'm' ? columns : 1};
            expectQuotients(**compiled, division, dtype, {5, columns}, divisors, limit);
            if (testing::Test::HasFatalFailure()) return;
          }
      }
}

}  // namespace
}  // namespace dyn
