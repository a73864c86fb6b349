// Attention on the simulated device, by floats and by tensor cores, against the reference interpreter: rows
// and keys about the edges of a block, heads that are no multiple of a fragment, masks that hide whole tiles.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "tests/unit/compiler/driver/on_device.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

std::string attentionOnDevice(const std::string& element, int head, int columns, bool masked) {
  return "fn @main(%q: Tensor[(b, m, " + std::to_string(head) + "), " + element + "], %k: Tensor[(b, n, " +
         std::to_string(head) + "), " + element + "], %v: Tensor[(b, n, " + std::to_string(columns) + "), " +
         element + "]" + (masked ? ", %w: Tensor[(m, n), " + element + "]" : "") +
         ") {\n  %s = matmul(%q, %k) {transpose_b = 1}\n  %d = mul(%s, " + element +
         "[] 0.125)\n  %e = " + (masked ? "add(%d, %w)" : "neg(%d)") +
         "\n  %p = softmax(%e) {axis = -1}\n  %y = matmul(%p, %v)\n  return %y\n}";
}

// Row i sees the keys up to i + n - m, at least the first.
HostTensor causal(Dtype dtype, int64_t m, int64_t n) {
  HostTensor mask = *HostTensor::create(dtype, {m, n});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      mask.setReal(i * n + j,
                   j <= std::max<int64_t>(i + n - m, 0) ? 0 : -std::numeric_limits<double>::infinity());
  return mask;
}

std::vector<HostTensor> deviceAttentionInputsOf(const std::string& element, int head, int columns,
                                                bool masked, int64_t m, int64_t n) {
  const Dtype dtype = *parseDtype(element);
  std::vector<HostTensor> inputs = {randomTensor(dtype, {2, m, head}, 1),
                                    randomTensor(dtype, {2, n, head}, 2),
                                    randomTensor(dtype, {2, n, columns}, 3)};
  if (masked) inputs.push_back(causal(dtype, m, n));
  return inputs;
}

struct AttentionCase {
  const char *element, *math;
  double tolerance;
};

class DeviceAttentionForms : public testing::TestWithParam<AttentionCase> {};

TEST_P(DeviceAttentionForms, lengthsHeadsAndMasks) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  CompileOptions options = deviceOptions();
  options.math = GetParam().math;
  for (const auto& [head, columns] : {std::pair{64, 64}, {16, 16}, {20, 12}, {128, 80}})
    for (const bool masked : {false, true}) {
      std::vector<std::vector<HostTensor>> inputs;
      for (const auto& [m, n] :
           {std::pair{1, 1}, {5, 7}, {31, 32}, {32, 33}, {41, 67}, {67, 41}, {3, 0}, {0, 3}})
        if (!masked || n > 0)
          inputs.push_back(deviceAttentionInputsOf(GetParam().element, head, columns, masked, m, n));
      const std::string text = attentionOnDevice(GetParam().element, head, columns, masked);
      SCOPED_TRACE(text);
      expectSame(text, inputs, options, GetParam().tolerance);
    }
}

// 0: it ran. The driver's calls go to a file.
int runs(const char* chip, const AttentionCase& c, const std::string& trace) {
  setenv("DYN_SIMCUDA_ARCH", chip, 1);
  setenv("DYN_SIMCUDA_TRACE", trace.c_str(), 1);
  IrContext context;
  Result<Module> parsed = parseText(context, attentionOnDevice(c.element, 16, 16, true));
  CompileOptions options = deviceOptions();
  options.math = c.math;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
  if (!compiled.ok()) return 2;
  return (*compiled)->run(deviceAttentionInputsOf(c.element, 16, 16, true, 5, 9)).ok() ? 0 : 3;
}

TEST_P(DeviceAttentionForms, chipsWithoutSuchUnitsHaveTheOtherForm) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const bool rounds = GetParam().math != std::string("fp32") || GetParam().element != std::string("f32");
  for (const char* chip : {"75", "80"}) {
    const std::string trace =
        testing::TempDir() + "dyn_attention_" + GetParam().element + GetParam().math + chip + ".txt";
    std::remove(trace.c_str());
    EXPECT_EXIT(_exit(runs(chip, GetParam(), trace)), testing::ExitedWithCode(0), "");
    std::ifstream file(trace);
    const std::string lines{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(
        lines, HasSubstr(rounds && chip == std::string("80") ? "_attention_tensor grid" : "_attention grid"));
  }
}

// Shares between two numbers of f16 or bf16 may go to either: sums are added in another order.
INSTANTIATE_TEST_SUITE_P(
    Math, DeviceAttentionForms,
    testing::Values(AttentionCase{"f32", "fp32", 1e-5}, AttentionCase{"f32", "tf32", 4e-3},
                    AttentionCase{"f32", "bf16", 3e-2}, AttentionCase{"f16", "fp32", 2e-3},
                    AttentionCase{"f16", "tf32", 2e-3}, AttentionCase{"bf16", "fp32", 2e-2}),
    [](const auto& info) { return info.param.element + std::string("_") + info.param.math; });

}  // namespace
}  // namespace dyn::test
