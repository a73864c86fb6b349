// Products on a device, by each of their forms and at all sizes around the tiles', against the reference
// interpreter. Where both sides are small integers the sums are exact, and so are the comparisons.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>

#include "tests/unit/compiler/driver/on_device.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;
using testing::Not;

HostTensor integersOnDevice(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, static_cast<int>(random() % 5) - 2);
  return tensor;
}

std::string productOnDevice(const char* dtype, bool transposed) {
  const std::string type(dtype);
  return "fn @main(%a: Tensor[(m, k), " + type + "], %w: Tensor[" + (transposed ? "(n, k)" : "(k, n)") +
         ", " + type + "], %c: Tensor[(n), " + type +
         "]) {\n  %y = matmul(%a, %w) {transpose_b = " + (transposed ? "1" : "0") +
         "}\n  %z = add(%y, %c)\n  %t = relu(%z)\n  return %t\n}";
}

// Rows, columns and length of the sum, one of them at a time through all sizes up to twice a tile and one
// more; `step` leaves some out.
std::vector<std::vector<HostTensor>> everySize(Dtype dtype, bool transposed, int64_t step) {
  std::vector<std::vector<HostTensor>> inputs;
  const auto add = [&](int64_t m, int64_t n, int64_t k) {
    const std::vector<int64_t> w = transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n};
    inputs.push_back(
        {integersOnDevice(dtype, {m, k}, 1), integersOnDevice(dtype, w, 2), integersOnDevice(dtype, {n}, 3)});
  };
  for (int64_t size = 0; size <= 129; size += step) {
    add(size, 37, 9);
    add(11, size, 17);
    if (size <= 65) add(9, 35, size);
  }
  add(70, 72, 64);   // rows of 16 bytes
  add(131, 67, 41);  // primes
  add(64, 128, 96);
  return inputs;
}

struct ProductCase {
  const char* name;
  const char* dtype;
  const char* math;
};

class DeviceProducts : public testing::TestWithParam<ProductCase> {
 protected:
  void SetUp() override {
    if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
  static CompileOptions options() {
    CompileOptions made = deviceOptions();
    made.math = GetParam().math;
    return made;
  }
  static Dtype dtype() { return *parseDtype(GetParam().dtype); }
};

TEST_P(DeviceProducts, everySize) {
  const bool all = std::string(GetParam().name) == "f32" || std::string(GetParam().name) == "bf16";
  for (const bool transposed : {false, true})
    expectSame(productOnDevice(GetParam().dtype, transposed), everySize(dtype(), transposed, all ? 1 : 9),
               options(), 0);
}

TEST_P(DeviceProducts, severalAtOnce) {
  const std::string type = GetParam().dtype;
  std::vector<std::vector<HostTensor>> inputs;
  for (const auto& [b, m, k, n] : {std::array{1, 9, 16, 1}, {3, 17, 33, 65}, {2, 40, 8, 48}, {2, 1, 9, 70}})
    inputs.push_back(
        {integersOnDevice(dtype(), {b, 2, m, k}, 1), integersOnDevice(dtype(), {b, 2, k, n}, 2)});
  expectSame("fn @main(%a: Tensor[(b, 2, m, k), " + type + "], %w: Tensor[(b, 2, k, n), " + type +
                 "]) {\n  %y = matmul(%a, %w)\n  return %y\n}",
             inputs, options(), 0);
}

TEST_P(DeviceProducts, convolutions) {
  const std::string type = GetParam().dtype;
  std::vector<std::vector<HostTensor>> inputs;
  for (const auto& [b, h, w] : {std::array{1, 1, 1}, {1, 5, 7}, {2, 9, 11}, {1, 3, 65}, {3, 1, 2}})
    inputs.push_back({integersOnDevice(dtype(), {b, 5, h, w}, 1), integersOnDevice(dtype(), {18, 5, 3, 3}, 2),
                      integersOnDevice(dtype(), {18}, 3)});
  for (const char* how : {"pads = [1, 1, 1, 1]", "pads = [1, 1, 1, 1], strides = [2, 2]"})
    expectSame("fn @main(%x: Tensor[(b, 5, h, w), " + type + "], %w: Tensor[(18, 5, 3, 3), " + type +
                   "], %c: Tensor[(18), " + type + "]) {\n  %y = conv(%x, %w, %c) {" + how +
                   "}\n  %z = relu(%y)\n  return %z\n}",
               inputs, options(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceProducts,
                         testing::Values(ProductCase{"f32", "f32", "fp32"}, ProductCase{"f16", "f16", "fp32"},
                                         ProductCase{"bf16", "bf16", "fp32"},
                                         ProductCase{"tf32", "f32", "tf32"},
                                         ProductCase{"roundedToBf16", "f32", "bf16"}),
                         [](const auto& info) { return info.param.name; });

// --- attention

std::string attention(int64_t head, const char* scores) {
  const std::string d = std::to_string(head);
  return "fn @main(%q: Tensor[(b, 2, m, " + d + "), f32], %k: Tensor[(b, 2, n, " + d +
         "), f32], %v: Tensor[(b, 2, n, " + d +
         "), f32], %mask: Tensor[(m, n), f32]) {\n"
         "  %s = matmul(%q, %k) {transpose_b = 1}\n" +
         scores + "  %p = softmax(%t) {axis = -1}\n  %z = matmul(%p, %v)\n  return %z\n}";
}

TEST(DeviceAttention, anyLength) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  constexpr const char* kMasked = "  %t = add(%s, %mask)\n";
  for (const int64_t head : {8, 33, 64}) {
    std::vector<std::vector<HostTensor>> inputs;
    const auto add = [&](int64_t b, int64_t m, int64_t n, bool causal) {
      HostTensor mask = *HostTensor::create(Dtype::f32, {m, n});
      for (int64_t i = 0; i < m * n; ++i)
        mask.setReal(i, causal && i % n > i / n ? -std::numeric_limits<double>::infinity() : 0);
      inputs.push_back({randomTensor(Dtype::f32, {b, 2, m, head}, 1),
                        randomTensor(Dtype::f32, {b, 2, n, head}, 2),
                        randomTensor(Dtype::f32, {b, 2, n, head}, 3), mask});
    };
    if (head == 8)
      for (int64_t n = 1; n <= 65; n += 4) {
        add(1, n, n, true);
        add(1, 3, n, false);
        add(1, n, 7, false);
      }
    add(2, 37, 67, false);
    add(1, 0, 5, false);
    expectSame(attention(head, kMasked), inputs, deviceOptions(), 1e-5);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(opsAfter(
                attention(64, kMasked), "attention", [](const Op& op) { return op.def->name == "fused"; },
                deviceOptions()),
            1);
}

TEST(DeviceAttention, rowsThatAreMaskedWholly) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  HostTensor mask = *HostTensor::create(Dtype::f32, {3, 40});
  for (int64_t i = 0; i < mask.elementCount(); ++i)
    mask.setReal(i, i < 40 || i % 40 < 35 ? -std::numeric_limits<double>::infinity() : 0);
  const auto numbers = [](int64_t rows, uint32_t seed) {
    return randomTensor(Dtype::f32, {1, 2, rows, 16}, seed);
  };
  expectSame(attention(16, "  %t = add(%s, %mask)\n"),
             {{numbers(3, 1), numbers(40, 2), numbers(40, 3), mask}}, deviceOptions(), 1e-5);
}

// --- functions of large arguments

TEST(DeviceFunctions, largeArguments) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  std::mt19937_64 random(5);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const int most = dtype == Dtype::f32 ? 127 : 1023;
    HostTensor x = *HostTensor::create(dtype, {400}), y = *HostTensor::create(dtype, {400});
    for (int64_t i = 0; i < 400; ++i) {
      const auto number = [&] {
        const double digits = 1 + static_cast<double>(random() >> 11) * 0x1p-53;
        return std::ldexp(random() % 2 ? digits : -digits, static_cast<int>(random() % 2000) * most / 2000);
      };
      x.setReal(i, number());
      y.setReal(i, i % 2 ? number() : std::ldexp(number(), -most));
    }
    x.setReal(0, std::numeric_limits<double>::infinity());
    x.setReal(1, std::numeric_limits<double>::quiet_NaN());
    x.setReal(2, -0.0);
    if (dtype == Dtype::f64) x.setReal(3, 6381956970095103.0 * std::ldexp(1.0, 797));  // nearest to n pi/2
    y.setReal(4, 0);
    y.setReal(5, std::numeric_limits<double>::infinity());
    const std::string type = dtype == Dtype::f32 ? "f32" : "f64";
    const std::string text = "fn @main(%x: Tensor[(n), " + type + "], %y: Tensor[(n), " + type +
                             "]) {\n  %s = sin(%x)\n  %c = cos(%x)\n  %t = tan(%x)\n"
                             "  %m = mod(%x, %y) {fmod = 1}\n  return %s, %c, %t, %m\n}";
    expectSame(text, {{x, y}}, deviceOptions(), dtype == Dtype::f32 ? 1e-6 : 1e-14);
    EXPECT_EQ(opsAfter(
                  text, "devices", [](const Op& op) { return op.attributes.string("device") == "cuda"; },
                  deviceOptions()),
              opsAfter(
                  text, "devices", [](const Op& op) { return op.def->name == "fused"; }, deviceOptions()))
        << "all on the device";
  }
}

// --- which form runs

constexpr const char* kOfTwo =
    "fn @main(%a: Tensor[(m, k), f32], %w: Tensor[(k, n), f32]) {\n  %y = matmul(%a, %w)\n  return %y\n}";

// 0: all elements of the product are `wanted`. The driver's calls go to a file.
int productOfOnes(const char* chip, const char* math, double element, double wanted, int64_t m,
                  const std::string& trace) {
  setenv("DYN_SIMCUDA_ARCH", chip, 1);
  setenv("DYN_SIMCUDA_TRACE", trace.c_str(), 1);
  IrContext context;
  Result<Module> parsed = parseText(context, kOfTwo);
  CompileOptions options = deviceOptions();
  options.math = math;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
  if (!compiled.ok()) return 2;
  HostTensor a = *HostTensor::create(Dtype::f32, {m, 64}), w = *HostTensor::create(Dtype::f32, {64, 64});
  for (int64_t i = 0; i < a.elementCount(); ++i) a.setReal(i, element);
  for (int64_t i = 0; i < w.elementCount(); ++i) w.setReal(i, 1);
  Result<std::vector<HostTensor>> result = (*compiled)->run({a, w});
  if (!result.ok()) return 3;
  for (int64_t i = 0; i < (*result)[0].elementCount(); ++i)
    if ((*result)[0].realAt(i) != wanted) return 1;
  return 0;
}

struct FormCase {
  const char* name;
  const char *chip, *math;
  int64_t rows;
  double element, sum;  // of 64
  const char* suffix;
};
// 1 + 2^-12 is 1 to tf32, 1 + 2^-9 to bf16.
constexpr double kFine = 1 + 0x1p-12, kCoarse = 1 + 0x1p-9;
const FormCase kForms[] = {
    {"few", "80", "fp32", 9, kFine, 64 * kFine, "_tile grid"},
    {"many", "80", "fp32", 40, kFine, 64 * kFine, "_square grid"},
    {"tf32", "80", "tf32", 40, kFine, 64, "_tensor grid"},
    {"tf32KeepsTenBits", "80", "tf32", 40, kCoarse, 64 * kCoarse, "_tensor grid"},
    {"bf16", "80", "bf16", 40, kCoarse, 64, "_tensor grid"},
    {"olderChip", "75", "bf16", 40, kCoarse, 64 * kCoarse, "_square grid"},
};

class DeviceForms : public testing::TestWithParam<FormCase> {};

TEST_P(DeviceForms, chosenBySizesAndChip) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  const FormCase& c = GetParam();
  const std::string trace = testing::TempDir() + "dyn_form_" + c.name + ".txt";
  std::remove(trace.c_str());
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(productOfOnes(c.chip, c.math, c.element, c.sum, c.rows, trace)),
              testing::ExitedWithCode(0), "");
  std::ifstream file(trace);
  const std::string lines{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(lines, HasSubstr(c.suffix));
}

INSTANTIATE_TEST_SUITE_P(Cases, DeviceForms, testing::ValuesIn(kForms),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dyn::test
