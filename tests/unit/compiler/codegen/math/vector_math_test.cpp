// Own element-wise functions against the C library in double precision, for every machine this host can run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include "compiler/codegen/emit/math_kernel.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/codegen/object/engine.h"
#include "tests/support/math_reference.h"
#include "tests/support/paths.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {
namespace {

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<MachineDescription> runnableMachines() {
  std::vector<MachineDescription> machines;
  if (auto host = detectHost(); host.ok()) machines.push_back(*host);
  for (const std::string& name : machinePresetNames())
    if (auto machine = machinePreset(name); machine.ok() && runsOnThisHost(*machine))
      machines.push_back(*machine);
  return machines;
}

struct MathKernel {
  KernelEngine engine;
  KernelSet set;
  DynKernelFunction call;

  template <typename Number>
  std::vector<Number> operator()(const std::vector<Number>& x, const std::vector<Number>& y = {}) const {
    std::vector<Number> out(x.size());
    std::vector<void*> buffers = {const_cast<Number*>(x.data())};
    if (!y.empty()) buffers.push_back(const_cast<Number*>(y.data()));
    buffers.push_back(out.data());
    EXPECT_EQ(call(buffers.data(), nullptr, 0, static_cast<int64_t>(x.size()), nullptr), DYN_KERNEL_OK);
    return out;
  }
};

Result<MathKernel> makeKernel(MathFunction function, FloatType type, const MachineDescription& machine) {
  DYN_TRY(KernelEngine engine, KernelEngine::create(machine));
  DYN_TRY(ObjectCode object,
          engine.compile({.name = "math", .build = [&] { return emitMathKernel(function, type, machine); }}));
  const std::string symbol = mathKernelSymbol(function, type);
  DYN_TRY(KernelSet set, engine.load({object}, {symbol}));
  DYN_TRY(auto call, set.function<DynKernelFunction>(symbol));
  return MathKernel{std::move(engine), std::move(set), call};
}

template <typename To, typename From>
To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
uint32_t bitsOf(float x) { return bitCast<uint32_t>(x); }
uint64_t bitsOf(double x) { return bitCast<uint64_t>(x); }

// All signs, exponents, denormals, infinities, NaN: every 4099th float (a prime, so all mantissas are met),
// as many doubles; and densely where functions bend.
template <typename Number>
std::vector<Number> sweep() {
  constexpr Number kInf = std::numeric_limits<Number>::infinity(),
                   kNot = std::numeric_limits<Number>::quiet_NaN();
  std::vector<Number> x = {0.0,        -0.0,       kInf,       -kInf,      kNot,       -kNot,      1.0,
                           -1.0,       0.5,        2.0,        88.722839,  88.72284,   -87.33655,  -103.97207,
                           -103.97209, 104.0,      1e6,        1.0001e6,   16777216.0, 9.01,       9.02,
                           3.92,       3.93,       89.4159,    89.42,      709.782712, 709.782713, 710.4758,
                           710.476,    -745.13321, -745.13322, -708.39641, 5.9,        6.0,        6.1,
                           0.41421356, 2.41421356, 0.9,        22.0,       -37.5,      -17.4};
  for (Number limit : {std::numeric_limits<Number>::max(), std::numeric_limits<Number>::min(),
                       std::numeric_limits<Number>::denorm_min()})
    for (Number sign : {Number(1), Number(-1)}) x.push_back(sign * limit);
  if constexpr (sizeof(Number) == 4)
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099)
      x.push_back(bitCast<float>(static_cast<uint32_t>(bits)));
  else
    for (uint64_t i = 0; i < 300000; ++i) x.push_back(bitCast<double>(i * 0x9e3779b97f4a7c15));
  for (int i = -200000; i <= 200000; ++i) x.push_back(static_cast<Number>(i) * static_cast<Number>(5.3e-5));
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<Number>(i) * static_cast<Number>(5.3e-3));
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<Number>(i) * static_cast<Number>(0.0373));
  for (int i = 0; i < 20000; ++i)  // close to 1 and -1
    for (Number sign : {Number(1), Number(-1)})
      x.push_back(sign * (1 + static_cast<Number>(i - 10000) * std::numeric_limits<Number>::epsilon() * 7));
  return x;
}

template <typename Number>
void expectStatedErrors(FloatType type, double MathFunctionRow::*stated) {
  const std::vector<Number> x = sweep<Number>();
  for (const MathFunctionRow& row : mathFunctionTable()) {
    if (row.arity != 1) continue;
    const auto exact = test::exactOf<long double>(row.function);
    ASSERT_NE(exact, nullptr) << row.name << " has no reference here";
    std::vector<long double> wanted;
    for (Number value : x) wanted.push_back(exact(value));
    for (const MachineDescription& machine : runnableMachines()) {
      SCOPED_TRACE(std::string(row.name) + " on " + machine.name);
      auto kernel = makeKernel(row.function, type, machine);
      ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
      const std::vector<Number> got = (*kernel)(x);
      double worst = 0;
      size_t where = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = test::ulpError(got[i], wanted[i]);
        if (error > worst) worst = error, where = i;
        if (wanted[i] == 0 && got[i] == 0) {
          ASSERT_EQ(std::signbit(got[i]), std::signbit(wanted[i])) << "at " << x[i];
        }
      }
      EXPECT_LE(worst, row.*stated) << "at " << x[where] << " (bits " << std::hex << bitsOf(x[where])
                                    << "): got " << got[where] << ", exactly " << wanted[where];
      if (std::getenv("DYN_PRINT_ERRORS"))
        printf("%s f%zu %s %.3f at %.17g\n", machine.name.c_str(), sizeof(Number) * 8,
               std::string(row.name).c_str(), worst, static_cast<double>(x[where]));
    }
  }
}

// DYN_PRINT_ERRORS=1 prints what was measured.
TEST(VectorMath, FloatsStayWithinTheirStatedErrors) {
  expectStatedErrors<float>(FloatType::float32, &MathFunctionRow::floatUlp);
}

TEST(VectorMath, DoublesStayWithinTheirStatedErrors) {
  if (std::numeric_limits<long double>::digits <= 53) GTEST_SKIP() << "long double is no reference here";
  expectStatedErrors<double>(FloatType::float64, &MathFunctionRow::doubleUlp);
}

template <typename Number>
void expectRemainders(FloatType type) {
  std::vector<Number> some = sweep<Number>(), x, y;
  some.resize(some.size() - some.size() % 2);
  for (size_t i = 0; i < some.size(); ++i)
    x.push_back(some[i]), y.push_back(some[(i * 7919 + 13) % some.size()]);
  for (size_t i = 0; i < 60; ++i)
    for (size_t j = 0; j < 60; ++j) x.push_back(some[i]), y.push_back(some[j]);
  // Quotients that are whole numbers, or nearly.
  for (int i = 1; i < 20000; ++i) {
    const Number step = static_cast<Number>(0.1) * static_cast<Number>(i % 37 + 1),
                 whole = step * static_cast<Number>(i);
    for (Number value : {whole, std::nextafter(whole, Number(0)), -whole})
      x.push_back(value), y.push_back(step);
  }
  for (const MachineDescription& machine : runnableMachines()) {
    auto kernel = makeKernel(MathFunction::fmod, type, machine);
    ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
    const std::vector<Number> got = (*kernel)(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const Number exact = std::fmod(x[i], y[i]);
      if (std::isnan(exact) && std::isnan(got[i])) continue;
      ASSERT_EQ(bitsOf(got[i]), bitsOf(exact))
          << machine.name << ": fmod(" << x[i] << ", " << y[i] << ") = " << got[i] << ", not " << exact;
    }
  }
}
TEST(VectorMath, RemaindersAreExact) {
  expectRemainders<float>(FloatType::float32);
  expectRemainders<double>(FloatType::float64);
}

TEST(VectorMath, KeepsTheSignOfZero) {
  for (const MachineDescription& machine : runnableMachines()) {
    for (MathFunction function : {MathFunction::tanh, MathFunction::erf, MathFunction::sin}) {
      auto kernel = makeKernel(function, FloatType::float32, machine);
      ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
      std::vector<float> got = (*kernel)(std::vector<float>(17, -0.0f));
      for (float value : got) EXPECT_EQ(bitsOf(value), 0x80000000u) << mathFunctionRow(function).name;
      got = (*kernel)(std::vector<float>(17, 0.0f));
      for (float value : got) EXPECT_EQ(bitsOf(value), 0u) << mathFunctionRow(function).name;
    }
  }
}

TEST(VectorMath, PowFollowsTheCLibrary) {
  std::vector<float> bases = {0.0f,   -0.0f,       1.0f,       -1.0f, 2.0f,   -2.0f,   0.5f,
                              -0.5f,  kInfinity,   -kInfinity, kNan,  1e-45f, -1e-45f, 3.4e38f,
                              1e-38f, 0.99999994f, 1.0000001f, 7.3f,  -7.3f,  1e10f,   1e-10f};
  for (int i = 1; i < 400; ++i) bases.push_back(static_cast<float>(i) * 0.0371f);
  for (int i = 0; i < 200; ++i) bases.push_back(std::ldexp(1.0f + static_cast<float>(i) / 201, i - 120));
  std::vector<float> exponents = {0.0f,       -0.0f, 1.0f,  -1.0f,       2.0f,         3.0f,        -3.0f,
                                  0.5f,       -0.5f, 1.5f,  16777215.0f, -16777215.0f, 16777216.0f, kInfinity,
                                  -kInfinity, kNan,  1e30f, -1e30f,      0.1f,         1e-30f};
  for (int i = -300; i < 300; ++i) exponents.push_back(static_cast<float>(i) * 0.217f);
  std::vector<float> x, y;
  for (float base : bases)
    for (float exponent : exponents) x.push_back(base), y.push_back(exponent);
  for (const MachineDescription& machine : runnableMachines()) {
    auto kernel = makeKernel(MathFunction::pow, FloatType::float32, machine);
    ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
    std::vector<float> got = (*kernel)(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
      ASSERT_LE(test::ulpError(got[i], exact), mathFunctionRow(MathFunction::pow).floatUlp)
          << machine.name << ": " << x[i] << " ^ " << y[i] << " = " << got[i] << ", not " << exact;
      if (exact == 0) {
        ASSERT_EQ(std::signbit(got[i]), std::signbit(exact)) << x[i] << " ^ " << y[i];
      }
    }
  }
}

TEST(VectorMath, PowOfDoublesIsExactWhereItCanBe) {
  if (std::numeric_limits<long double>::digits <= 53) GTEST_SKIP() << "long double is no reference here";
  std::vector<double> some = sweep<double>(), x, y;
  for (size_t i = 0; i < 300000; ++i) {
    x.push_back(std::fabs(some[i * 11 % some.size()]));
    // Exponents that lead to results of all sizes.
    const double logarithm = std::fabs(std::log(x.back())) + 1e-300;
    y.push_back(static_cast<double>(i % 1490) / logarithm * (i % 2 ? -0.5 : 0.5));
  }
  for (size_t i = 0; i < 46; ++i)
    for (size_t j = 0; j < 46; ++j) x.push_back(some[i]), y.push_back(some[j]);
  std::vector<double> whole;
  for (int base = -40; base <= 40; ++base)
    for (int exponent = 0; exponent <= 9; ++exponent)
      whole.push_back(base), x.push_back(base), y.push_back(exponent);
  for (const MachineDescription& machine : runnableMachines()) {
    auto kernel = makeKernel(MathFunction::pow, FloatType::float64, machine);
    ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
    const std::vector<double> got = (*kernel)(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double exact = std::pow(static_cast<long double>(x[i]), static_cast<long double>(y[i]));
      ASSERT_LE(test::ulpError(got[i], exact), mathFunctionRow(MathFunction::pow).doubleUlp)
          << machine.name << ": " << x[i] << " ^ " << y[i] << " = " << got[i] << ", not " << exact;
      if (i + whole.size() >= x.size()) {
        ASSERT_EQ(got[i], static_cast<double>(exact)) << machine.name << ": " << x[i] << " ^ " << y[i];
      }
    }
  }
}

TEST(VectorMath, EverySplitGivesTheSameBits) {
  auto host = detectHost();
  ASSERT_TRUE(host.ok());
  std::vector<float> x;
  for (int i = 0; i < 101; ++i) x.push_back(static_cast<float>(i - 50) * (i % 7 == 0 ? 3.1e5f : 0.173f));
  for (const MathFunctionRow& row : mathFunctionTable()) {
    if (row.arity != 1) continue;
    auto kernel = makeKernel(row.function, FloatType::float32, *host);
    ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
    std::vector<float> whole = (*kernel)(x), pieces(x.size());
    void* buffers[] = {x.data(), pieces.data()};
    for (int64_t begin = 0, size = 1; begin < 101; begin += size, size = size % 11 + 1)
      kernel->call(buffers, nullptr, begin, std::min<int64_t>(101, begin + size), nullptr);
    EXPECT_EQ(std::memcmp(whole.data(), pieces.data(), x.size() * sizeof(float)), 0) << row.name;
  }
}

// Walks the table: every row exists for float and double, and compiles for a machine that is not here.
TEST(VectorMath, EveryRowCompilesAndAgreesWithLibm) {
  auto host = detectHost();
  auto other = machinePreset("cortex-a72");
  ASSERT_TRUE(host.ok() && other.ok());
  auto otherEngine = KernelEngine::create(*other);
  ASSERT_TRUE(otherEngine.ok());
  for (const MathFunctionRow& row : mathFunctionTable()) {
    SCOPED_TRACE(row.name);
    auto wide = makeKernel(row.function, FloatType::float64, *host);
    ASSERT_TRUE(wide.ok()) << wide.error().toString();
    auto narrow = makeKernel(row.function, FloatType::float32, *host);
    ASSERT_TRUE(narrow.ok()) << narrow.error().toString();
    const bool two = row.arity == 2;
    std::vector<double> x(9, 1.25), y(two ? 9 : 0, 0.75);
    std::vector<float> xf(9, 1.25f), yf(two ? 9 : 0, 0.75f);
    std::vector<double> precise = (*wide)(x, y);
    std::vector<float> got = (*narrow)(xf, yf);
    for (size_t i = 0; i < 9; ++i) {
      if (std::isnan(precise[i])) continue;
      EXPECT_LE(test::ulpError(got[i], precise[i]), row.floatUlp + 0.01);
    }
    auto object = otherEngine->compile(
        {.name = "other", .build = [&] { return emitMathKernel(row.function, FloatType::float32, *other); }});
    EXPECT_TRUE(object.ok()) << object.error().toString();
  }
}

// docs/functions.md states the errors of the table, row by row.
TEST(VectorMath, TheDocumentStatesTheErrorsOfTheTable) {
  std::ifstream file(test::sourceFolder() + "/docs/functions.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(text.empty()) << "docs/functions.md is not there";
  for (const MathFunctionRow& row : mathFunctionTable()) {
    char line[100];
    std::snprintf(line, sizeof line, "| %s | %g | %g |", std::string(row.name).c_str(), row.floatUlp,
                  row.doubleUlp);
    EXPECT_NE(text.find(line), std::string::npos) << "docs/functions.md lacks the line\n" << line;
  }
}

}  // namespace
}  // namespace dyn
