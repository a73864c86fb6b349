// Programs with `device = cuda` on the simulated driver (tests/simcuda), against the reference interpreter:
// the kernels' PTX is what runs. Skipped where that library is not built.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/unit/compiler/driver/on_device.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
  static HostTensor reals(std::vector<int64_t> shape, uint32_t seed = 1) {
    return randomTensor(Dtype::f32, std::move(shape), seed);
  }
  static void same(const std::string& text, const std::vector<std::vector<HostTensor>>& inputs,
                   double tolerance = 1e-5) {
    expectSame(text, inputs, deviceOptions(), tolerance);
  }
  // A counter of the pass `devices`.
  static int64_t counted(const std::string& text, const char* counter) {
    IrContext context;
    Result<Module> parsed = parseText(context, text);
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    Trace trace;
    Result<Module> placed = runPasses(*parsed, deviceOptions(), trace);
    EXPECT_TRUE(placed.ok()) << placed.error().toString();
    for (const TraceStep& step : trace.steps)
      if (step.name == "devices")
        if (const auto found = step.counters.find(counter); found != step.counters.end())
          return found->second;
    return -1;
  }
};

constexpr const char* kElementwise =
    "fn @main(%x: Tensor[(n, m), f32], %b: Tensor[(m), f32]) {\n"
    "  %y = add(%x, %b)\n  %z = gelu(%y)\n  %t = tanh(%z)\n  return %t\n}";

TEST_F(OnDevice, elementwise) {
  std::vector<std::vector<HostTensor>> inputs;
  for (const auto& [n, m] : {std::pair{1, 1}, {3, 5}, {0, 4}, {17, 300}, {70, 33}})
    inputs.push_back({reals({n, m}), reals({m}, 2)});
  same(kElementwise, inputs, 1e-6);
  EXPECT_EQ(counted(kElementwise, "device_kernels"), 1);
  EXPECT_EQ(counted(kElementwise, "device_copies"), 3) << "two inputs, one result";
}

TEST_F(OnDevice, rowsAndReductions) {
  std::vector<std::vector<HostTensor>> inputs;
  for (const auto& [n, m] : {std::pair{1, 1}, {3, 5}, {2, 129}, {17, 300}, {1, 1000}})
    inputs.push_back({reals({n, m})});
  same("fn @main(%x: Tensor[(n, m), f32]) {\n  %y = softmax(%x) {axis = -1}\n  return %y\n}", inputs);
  const std::string axes = "fn @main(%x: Tensor[(n, m), f32]) {\n  %a = constant() {value = i64[1] [";
  for (const char* axis : {"0", "1"})
    same(axes + axis +
             "]}\n  %y = reduce_sum(%x, %a)\n  %z = reduce_max(%x, %a) {keepdims = 0}\n  return %y, %z\n}",
         inputs);
  same(
      "fn @main(%x: Tensor[(n, m), f32], %g: Tensor[(m), f32]) {\n  %y = layer_norm(%x, %g, %g)\n  return "
      "%y\n}",
      {{reals({4, 200}), reals({200}, 3)}, {reals({3, 7}), reals({7}, 3)}});
}

TEST_F(OnDevice, productsInTiles) {
  const std::string text =
      "fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(k, m), f32], %b: Tensor[(m), f32]) {\n"
      "  %y = matmul(%x, %w)\n  %z = add(%y, %b)\n  %t = relu(%z)\n  return %t\n}";
  std::vector<std::vector<HostTensor>> inputs;
  for (const std::array<int64_t, 3>& s : {std::array<int64_t, 3>{1, 8, 8},
                                          {8, 8, 8},
                                          {16, 16, 64},
                                          {17, 33, 65},
                                          {31, 20, 130},
                                          {64, 7, 3},
                                          {9, 64, 1}})
    inputs.push_back({reals({s[0], s[1]}), reals({s[1], s[2]}, 2), reals({s[2]}, 3)});
  same(text, inputs);
  same(
      "fn @main(%x: Tensor[(b, n, k), f32], %w: Tensor[(b, k, m), f32]) {\n  %y = matmul(%x, %w)\n  return "
      "%y\n}",
      {{reals({2, 9, 17}), reals({2, 17, 70}, 2)}, {reals({3, 33, 16}), reals({3, 16, 20}, 2)}});
}

TEST_F(OnDevice, faultsNameTheirPlace) {
  const std::string text =
      "fn @main(%x: Tensor[(n, m), f32], %i: Tensor[(k), i64]) {\n  %y = gather(%x, %i) {axis = 0}\n"
      "  return %y\n}";
  const HostTensor x = reals({4, 100});
  HostTensor i = *HostTensor::create(Dtype::i64, {3});
  for (int64_t at = 0; at < 3; ++at) i.setInt(at, at);
  same(text, {{x, i}});
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, deviceOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  HostTensor wrong = *HostTensor::create(Dtype::i64, {3});
  for (int64_t at = 0; at < 3; ++at) wrong.setInt(at, at == 1 ? 9 : 0);
  Result<std::vector<HostTensor>> result = (*compiled)->run({x, wrong});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().toString(), HasSubstr("index 9"));
  EXPECT_TRUE((*compiled)->run({x, i}).ok()) << "the device goes on";
}

TEST_F(OnDevice, whatIsCarriedStaysThere) {
  const std::string text =
      "fn @main(x: Tensor[(n), f32], t: Tensor[(), i64]) {\n"
      "  y = loop(t, _, x, x) {carried = 1} body (i, c, k) {\n    return true, tanh(add(c, k))\n  }\n"
      "  return y\n}";
  HostTensor iterations = *HostTensor::create(Dtype::i64, {});
  iterations.setInt(0, 5);
  same(text, {{reals({40}), iterations}});
  EXPECT_EQ(counted(text, "device_copies"), 2) << "in and out, whatever the number of iterations";
}

// What a run asks of the driver, by its own account: the second, when code and memory are there.
TEST_F(OnDevice, aRunCopiesAtItsBordersAlone) {
  // The same name in the process that runs and in the one that looks.
  setenv("DYN_TEST_TRACE", (testing::TempDir() + "dyn_trace_" + std::to_string(getpid())).c_str(), 0);
  const std::string trace = getenv("DYN_TEST_TRACE"), mark = trace + ".mark";
  const auto second = [&] {
    setenv("DYN_SIMCUDA_TRACE", trace.c_str(), 1);
    IrContext context;
    Result<Module> parsed = parseText(context, kElementwise);
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, deviceOptions());
    if (!compiled.ok()) return 2;
    const std::vector<HostTensor> inputs = {reals({6, 50}), reals({50}, 2)};
    if (!(*compiled)->run(inputs).ok()) return 3;
    std::ifstream first(trace);
    std::ofstream(mark) << std::count(std::istreambuf_iterator<char>(first), {}, '\n') << std::flush;
    return (*compiled)->run(inputs).ok() ? 0 : 4;
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process whose driver nobody opened before
  EXPECT_EXIT(_exit(second()), testing::ExitedWithCode(0), "");
  std::ifstream file(trace);
  std::map<std::string, int> counts;
  int before = 0;
  std::ifstream(mark) >> before;
  for (std::string line; std::getline(file, line);)
    if (--before < 0) ++counts[line.substr(0, line.find(" stream"))];
  EXPECT_EQ(counts["copy host to device 1200 bytes pinned"], 1) << "the input";
  EXPECT_EQ(counts["copy host to device 200 bytes pinned"], 1) << "the bias";
  EXPECT_EQ(counts["copy device to host 1200 bytes pinned"], 1) << "the result";
  int copies = 0, launches = 0, allocations = 0;
  for (const auto& [line, count] : counts) {
    copies += line.rfind("copy", 0) == 0 ? count : 0;
    launches += line.rfind("launch", 0) == 0 ? count : 0;
    allocations += line.rfind("allocate", 0) == 0 ? count : 0;
  }
  EXPECT_EQ(copies, 3);
  EXPECT_EQ(launches, 1);
  EXPECT_EQ(allocations, 0) << "the pool has it";
  std::remove(trace.c_str());
  std::remove(mark.c_str());
}

// A list is a value of the host, also where a branch hands it on without looking at it.
TEST_F(OnDevice, listsStayOnTheHost) {
  const char* const text = R"(fn @main(%x: Tensor[(n), f32], %c: Tensor[(), i64]) {
  %zero = constant() {value = i64[] 0}
  %l = list(%x, %x)
  %p = less(%c, %zero)
  %a, %b = if(%p, %l) then (%k) { return %k, %k } else (%m) { return %m, %m }
  %y = concat_from_sequence(%b) {axis = 0}
  return %y
})";
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, deviceOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  HostTensor condition = *HostTensor::create(Dtype::i64, {});
  condition.setInt(0, 1);
  const HostTensor x = reals({5});
  Result<std::vector<HostTensor>> result = (*compiled)->run({x, condition});
  ASSERT_TRUE(result.ok()) << result.error().toString();
  ASSERT_EQ((*result)[0].shape(), (std::vector<int64_t>{10}));
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ((*result)[0].realAt(i), x.realAt(i % 5));
}

TEST_F(OnDevice, isUnavailableWithoutADriver) {
  const auto without = [] {
    setenv("DYN_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
    IrContext context;
    Result<Module> parsed = parseText(context, kElementwise);
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, deviceOptions());
    if (compiled.ok()) return 2;
    return compiled.error().toString().find("unavailable: there is no CUDA driver here") != std::string::npos
               ? 0
               : 3;
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(without()), testing::ExitedWithCode(0), "");
}

TEST_F(OnDevice, runsOutOfItsMemory) {
  const auto little = [] {
    setenv("DYN_SIMCUDA_MEMORY", "100000", 1);
    IrContext context;
    Result<Module> parsed = parseText(context, kElementwise);
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, deviceOptions());
    if (!compiled.ok()) return 2;
    Result<std::vector<HostTensor>> result = (*compiled)->run({reals({300, 100}), reals({100})});
    if (result.ok() || result.error().id != DiagnosticId::memoryLimit) return 3;
    return (*compiled)->run({reals({3, 100}), reals({100})}).ok() ? 0 : 4;  // it goes on
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(little()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dyn::test
