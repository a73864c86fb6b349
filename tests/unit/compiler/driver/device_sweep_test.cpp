// The sweep's programs on the simulated device, against the reference interpreter: one element type of each,
// its first attributes, three sets of sizes. What has no kernel there runs on the host, in the same program.
#include <gmock/gmock.h>

#include "tests/unit/compiler/driver/on_device.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "tests/unit/compiler/driver/sweep_program.h"

namespace dyn::test {
namespace {

constexpr size_t kShares = 8;

class DeviceSweep : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
};

// The reference computes in f64; sums are added in another order.
double toleranceOf(Dtype dtype) {
  if (dtype == Dtype::f16) return 2e-3;
  if (dtype == Dtype::bf16) return 1.6e-2;
  return dtype == Dtype::f64 ? 1e-11 : 1e-5;
}

void compare(const SweepRow& row, const std::string& text) {
  SCOPED_TRACE(text);
  IrContext ir;
  Result<Module> parsed = parseText(ir, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<InferredModule> typed = inferTypes(*parsed);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, deviceOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  constexpr int64_t kSizes[][3] = {{3, 3, 3}, {5, 7, 2}, {0, 4, 1}};
  uint32_t seed = 1;
  for (const auto& sizes : kSizes) {
    const std::vector<HostTensor> inputs =
        Draw(row, ir, *typed->module.main(), seed++)
            .inputs([&](size_t k) { return sizes[k % 3]; }, Draw::Elements::plain);
    Result<std::vector<Value>> expected =
        interpret(typed->module, std::vector<Value>(inputs.begin(), inputs.end()));
    Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
    std::string what;
    for (const HostTensor& input : inputs) what += toString(input, 6) + " ";
    if (!expected.ok()) continue;  // a kernel looks at what it needs, the reference at all
    ASSERT_TRUE(actual.ok()) << what << actual.error().toString();
    for (size_t i = 0; i < expected->size(); ++i) {
      const HostTensor& wanted = (*expected)[i].tensor();
      expectClose((*actual)[i], wanted, what + "output " + std::to_string(i),
                  std::max(row.tolerance, 1.0) * toleranceOf(wanted.dtype()));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(DeviceSweep, asInterpreted) {
  const std::vector<SweepRow>& table = sweepTable();
  for (size_t i = GetParam(); i < table.size(); i += kShares) {
    const SweepRow& row = table[i];
    if (row.parameters.empty()) continue;
    const std::vector<std::string> dtypes = words(row.dtypes), notCompiled = words(row.notCompiled);
    std::string dtype = dtypes.empty() ? "" : dtypes[i % dtypes.size()];
    if (std::find(notCompiled.begin(), notCompiled.end(), dtype) != notCompiled.end()) continue;
    compare(row, programOf(row, dtype, row.attributes[0]));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shares, DeviceSweep, testing::Range(size_t{0}, kShares));

}  // namespace
}  // namespace dyn::test
