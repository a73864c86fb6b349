// What tests of kernels that are written in statements share: texts run on the simulated driver and by the
// reference interpreter.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/compiler/driver/on_device.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {

class DeviceStatements : public testing::Test {
 protected:
  void SetUp() override {
    if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
  static HostTensor places(std::vector<int64_t> shape, int64_t low, int64_t high, uint32_t seed = 3,
                           Dtype dtype = Dtype::i64) {
    HostTensor made = *HostTensor::create(dtype, std::move(shape));
    std::mt19937 random(seed);
    for (int64_t i = 0; i < made.elementCount(); ++i)
      made.setInt(i, low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1)));
    return made;
  }
  static HostTensor reals(std::vector<int64_t> shape, uint32_t seed = 1, Dtype dtype = Dtype::f32) {
    return randomTensor(dtype, std::move(shape), seed);
  }
  static HostTensor single(int64_t value) {
    HostTensor made = *HostTensor::create(Dtype::i64, {1});
    made.setInt(0, value);
    return made;
  }
  // As the reference says; on the device, nothing on the host.
  static void same(const std::string& text, const std::vector<std::vector<HostTensor>>& inputs,
                   double tolerance = 0, int64_t hostKernels = 0) {
    expectSame(text, inputs, deviceOptions(), tolerance);
    EXPECT_EQ(counted(text, "host_kernels"), hostKernels) << text;
  }
  static int64_t counted(const std::string& text, const char* counter) {
    const std::optional<TraceStep> step = placed(text);
    return step ? step->counters.at(counter) : -1;
  }
  static std::vector<std::string> remarks(const std::string& text) {
    const std::optional<TraceStep> step = placed(text);
    return step ? step->remarks : std::vector<std::string>();
  }

 private:
  // What the pass `devices` did.
  static std::optional<TraceStep> placed(const std::string& text) {
    IrContext context;
    Result<Module> parsed = parseText(context, text);
    Trace trace;
    Result<Module> made = runPasses(*parsed, deviceOptions(), trace);
    EXPECT_TRUE(made.ok()) << made.error().toString();
    for (TraceStep& step : trace.steps)
      if (step.name == "devices")
        return TraceStep{.name = step.name, .counters = step.counters, .remarks = step.remarks};
    return std::nullopt;
  }
};

}  // namespace dyn::test
