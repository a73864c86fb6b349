// Own element-wise functions against the C library in double precision, for every machine this host can run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/codegen/engine.h"
#include "compiler/codegen/math_kernel.h"
#include "vm/include/dyn_kernel.h"

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

uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Distance in units of the float spacing at the exact value.
double ulpError(float got, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    return std::isinf(rounded) && std::fabs(got) >= 3.4028230e38f && std::signbit(got) == std::signbit(exact)
               ? 1
               : INFINITY;
  }
  int exponent;
  std::frexp(exact, &exponent);
  const double spacing = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(got - exact) / spacing;
}

// Every 4099th float (a prime, so all mantissas are met): all signs, exponents, denormals, infinities, NaN.
std::vector<float> sweep() {
  std::vector<float> x = {0.0f,
                          -0.0f,
                          kInfinity,
                          -kInfinity,
                          kNan,
                          -kNan,
                          1.0f,
                          -1.0f,
                          0.5f,
                          2.0f,
                          88.722839f,
                          88.72284f,
                          -87.33655f,
                          -103.97207f,
                          -103.97209f,
                          104.0f,
                          1e6f,
                          1.0001e6f,
                          16777216.0f,
                          3.4028235e38f,
                          1e-45f,
                          -1e-45f,
                          1.17549435e-38f,
                          1.1754942e-38f,
                          9.01f,
                          9.02f,
                          3.92f,
                          3.93f};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099)
    x.push_back(fromBits(static_cast<uint32_t>(bits)));
  // Densely where functions bend.
  for (int i = -200000; i <= 200000; ++i) x.push_back(static_cast<float>(i) * 5.3e-5f);
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) * 5.3e-3f);
  return x;
}

double sigmoidExactly(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

struct Expectation {
  MathFunction function;
  double (*exact)(double);
  double largestUlp;
};

const Expectation kExpectations[] = {
    {MathFunction::exp, std::exp, 1.1},         {MathFunction::log, std::log, 1.5},
    {MathFunction::tanh, std::tanh, 6},         {MathFunction::erf, std::erf, 6},
    {MathFunction::sigmoid, sigmoidExactly, 4}, {MathFunction::sin, std::sin, 1.6},
    {MathFunction::cos, std::cos, 1.6},
};

TEST(VectorMath, StaysWithinItsStatedErrorEverywhere) {
  const std::vector<float> x = sweep();
  for (const MachineDescription& machine : runnableMachines()) {
    for (const Expectation& row : kExpectations) {
      SCOPED_TRACE(std::string(mathFunctionRow(row.function).name) + " on " + machine.name);
      auto kernel = makeKernel(row.function, FloatType::float32, machine);
      ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
      std::vector<float> got = (*kernel)(x);
      double worst = 0;
      size_t where = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        double error = ulpError(got[i], row.exact(x[i]));
        if (error > worst) worst = error, where = i;
      }
      EXPECT_LE(worst, row.largestUlp) << "at " << x[where] << " (bits " << std::hex << bitsOf(x[where])
                                       << "): got " << got[where] << ", exactly " << row.exact(x[where]);
      RecordProperty(machine.name + "." + std::string(mathFunctionRow(row.function).name),
                     std::to_string(worst));
    }
  }
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
      ASSERT_LE(ulpError(got[i], exact), 1.0)
          << machine.name << ": " << x[i] << " ^ " << y[i] << " = " << got[i] << ", not " << exact;
      if (exact == 0) {
        ASSERT_EQ(std::signbit(got[i]), std::signbit(exact)) << x[i] << " ^ " << y[i];
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
    for (size_t i = 0; i < 9; ++i) EXPECT_LE(ulpError(got[i], precise[i]), 6.0);
    auto object = otherEngine->compile(
        {.name = "other", .build = [&] { return emitMathKernel(row.function, FloatType::float32, *other); }});
    EXPECT_TRUE(object.ok()) << object.error().toString();
  }
}

}  // namespace
}  // namespace dyn
