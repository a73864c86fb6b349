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

std::string attention(int head, int columns, bool masked) {
  return "fn @main(%q: Tensor[(b, m, " + std::to_string(head) + "), f32], %k: Tensor[(b, n, " +
         std::to_string(head) + "), f32], %v: Tensor[(b, n, " + std::to_string(columns) + "), f32]" +
         (masked ? ", %w: Tensor[(m, n), f32]" : "") +
         ") {\n  %s = matmul(%q, %k) {transpose_b = 1}\n  %d = mul(%s, f32[] 0.125)\n  %e = " +
         (masked ? "add(%d, %w)" : "neg(%d)") +
         "\n  %p = softmax(%e) {axis = -1}\n  %y = matmul(%p, %v)\n  return %y\n}";
}

// Row i sees the keys up to i + n - m, at least the first.
HostTensor causal(int64_t m, int64_t n) {
  HostTensor mask = *HostTensor::create(Dtype::f32, {m, n});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      mask.setReal(i * n + j,
                   j <= std::max<int64_t>(i + n - m, 0) ? 0 : -std::numeric_limits<double>::infinity());
  return mask;
}

std::vector<HostTensor> inputsOf(int head, int columns, bool masked, int64_t m, int64_t n) {
  std::vector<HostTensor> inputs = {randomTensor(Dtype::f32, {2, m, head}, 1),
                                    randomTensor(Dtype::f32, {2, n, head}, 2),
                                    randomTensor(Dtype::f32, {2, n, columns}, 3)};
  if (masked) inputs.push_back(causal(m, n));
  return inputs;
}

struct AttentionCase {
  const char* math;
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
        if (!masked || n > 0) inputs.push_back(inputsOf(head, columns, masked, m, n));
      SCOPED_TRACE(attention(head, columns, masked));
      expectSame(attention(head, columns, masked), inputs, options, GetParam().tolerance);
    }
}

// 0: it ran. The driver's calls go to a file.
int runs(const char* chip, const char* math, const std::string& trace) {
  setenv("DYN_SIMCUDA_ARCH", chip, 1);
  setenv("DYN_SIMCUDA_TRACE", trace.c_str(), 1);
  IrContext context;
  Result<Module> parsed = parseText(context, attention(16, 16, true));
  CompileOptions options = deviceOptions();
  options.math = math;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
  if (!compiled.ok()) return 2;
  return (*compiled)->run(inputsOf(16, 16, true, 5, 9)).ok() ? 0 : 3;
}

TEST_P(DeviceAttentionForms, chipsWithoutSuchUnitsHaveTheOtherForm) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const bool rounds = GetParam().math != std::string("fp32");
  for (const char* chip : {"75", "80"}) {
    const std::string trace = testing::TempDir() + "dyn_attention_" + GetParam().math + chip + ".txt";
    std::remove(trace.c_str());
    EXPECT_EXIT(_exit(runs(chip, GetParam().math, trace)), testing::ExitedWithCode(0), "");
    std::ifstream file(trace);
    const std::string lines{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(
        lines, HasSubstr(rounds && chip == std::string("80") ? "_attention_tensor grid" : "_attention grid"));
  }
}

INSTANTIATE_TEST_SUITE_P(Math, DeviceAttentionForms,
                         testing::Values(AttentionCase{"fp32", 1e-5}, AttentionCase{"tf32", 4e-3},
                                         AttentionCase{"bf16", 3e-2}),
                         [](const auto& info) { return std::string(info.param.math); });

}  // namespace
}  // namespace dyn::test
