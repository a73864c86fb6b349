// Checklist: what runs on a GPU and what stays on the host. The lines C26 to C28, M11 to M13 and M20; what of
// them is counted by the driver is tests/device/runs_test.sh's.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "tests/unit/app/session/checklist.h"
#include "tests/unit/compiler/driver/on_device.h"

namespace dyn {
namespace {

using test::deviceOptions;
using test::expectSame;
using test::reals;
using testing::HasSubstr;

// A size that is computed, a kernel of the GPU, one of the host in between, and one of the GPU again.
constexpr const char* kBothSides = R"(fn @main(%x: Tensor[(n, m), f32], %w: Tensor[(m, 9), f32]) {
  %squares = constant() {value = i64[3] [-1, 3, 3]}
  %s = shape(%x)
  %p = matmul(%x, %w)
  %t = tanh(%p)
  %r = reshape(%t, %squares)
  %d = det(%r)
  %g = gelu(%d)
  return %g, %s
}
)";

struct Placed {
  IrContext ir;
  Module before, after;
  Trace trace;
  std::optional<Diagnostic> error;

  explicit Placed(const std::string& text, std::vector<std::string> places = {}) {
    Result<Module> parsed = test::parseText(ir, text);
    if (!parsed.ok()) {
      error = parsed.error();
      return;
    }
    CompileOptions options = deviceOptions();
    options.verifyEach = true;
    options.places = std::move(places);
    Result<Module> placed = runPasses(*parsed, options, trace);
    if (!placed.ok()) {
      error = placed.error();
      return;
    }
    before = trace.find("devices")->before;
    after = trace.find("devices")->after;
  }
};

class ChecklistDevices : public test::ChecklistSession {
 protected:
  void SetUp() override {
    ChecklistSession::SetUp();
    if (!test::useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
};

// Sizes are the host's while the data is on the GPU; a copy stands exactly where a value is needed on a side
// where it does not lie, once for each value; a wish that cannot be met is an error of the compilation.
TEST(Checklist, C26_CopiesExactlyWhereSidesDiffer) {
  const Placed placed(kBothSides);
  ASSERT_FALSE(placed.error) << placed.error->message;
  std::map<ValueId, bool> onDevice;  // by value
  int64_t copies = 0, kernels = 0;
  const Function& main = *placed.after.main();
  for (const Parameter& p : main.parameters) onDevice[p.id] = false;
  const ValueId squares = placed.ir.findValue("squares");
  for (const Op* op : main.ops) {
    const std::string_view name = op->def->name;
    if (name == "device_copy") {
      const bool there = op->attributes.string("to") == "cuda";
      EXPECT_NE(onDevice.at(op->operands[0]), there) << "a copy to where the value is";
      onDevice[op->results[0].id] = there;
      ++copies;
      continue;
    }
    const bool isKernel = op->attributes.has("device");
    const bool there = op->def->traits.view ? onDevice.at(op->operands[0]) : isKernel;
    kernels += isKernel;
    EXPECT_FALSE(there && name == "shape");
    for (const ValueDef& result : op->results) onDevice[result.id] = there;
    for (const ValueId operand : op->operands)
      if (operand != kNoValue && name != "shape" && operand != squares) {
        EXPECT_EQ(there, onDevice.at(operand)) << name << " finds an operand on the other side";
      }
  }
  EXPECT_EQ(kernels, 2);
  // x and w in; r to the host, d back, and the result.
  EXPECT_EQ(copies, 5);
  const Placed conflict(kBothSides, {"det=cuda"});
  ASSERT_TRUE(conflict.error);
  EXPECT_THAT(conflict.error->message, HasSubstr("unsupported: --place det=cuda"));
}

TEST(Checklist, C27_PlacementIsIdempotent) {
  Placed placed(kBothSides);
  ASSERT_FALSE(placed.error) << placed.error->message;
  Trace trace;
  CompileOptions again = deviceOptions();
  again.passes = "infer,devices";
  Result<Module> twice = runPasses(placed.after, again, trace);
  ASSERT_TRUE(twice.ok()) << twice.error().toString();
  EXPECT_FALSE(trace.find("devices")->changed);
  EXPECT_EQ(print(trace.find("devices")->before), print(trace.find("devices")->after));
}

TEST_F(ChecklistDevices, C28_BothSidesTogetherGiveWhatTheHostGives) {
  for (const auto& [n, m] : {std::array<int64_t, 2>{1, 1}, {3, 5}, {0, 4}, {17, 33}}) {
    const std::vector<HostTensor> inputs = {reals({n, m}), reals({m, 9}, 2)};
    expectSame(kBothSides, {inputs}, deviceOptions(), 1e-5);
    expectSame(kBothSides, {inputs});
  }
}

// Of a program whose sizes follow from shapes the host waits for nothing but the results: the number of waits
// does not grow with the program.
TEST_F(ChecklistDevices, M11_SizesMakeNoRoundTrip) {
  // The same name in the process that runs and in the one that looks.
  setenv("DYN_TEST_WAITS", (testing::TempDir() + "dyn_waits_" + std::to_string(getpid())).c_str(), 0);
  const auto traceOf = [](int layers) { return getenv("DYN_TEST_WAITS") + std::to_string(layers); };
  const auto run = [&](int layers) {
    std::string text = "fn @main(%x0: Tensor[(n, m), f32]) {\n";
    for (int i = 0; i < layers; ++i) {
      const std::string a = std::to_string(i), b = std::to_string(i + 1);
      text += "  %s" + a + " = shape(%x" + a + ")\n  %y" + a + " = softmax(%x" + a + ")\n  %x" + b +
              " = reshape(%y" + a + ", %s" + a + ")\n";
    }
    text += "  return %x" + std::to_string(layers) + "\n}";
    setenv("DYN_SIMCUDA_TRACE", traceOf(layers).c_str(), 1);
    IrContext ir;
    Result<Module> parsed = test::parseText(ir, text);
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, deviceOptions());
    return compiled.ok() && (*compiled)->run({reals({3, 40})}).ok() ? 0 : 1;
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process whose driver nobody opened before
  std::map<int, int> waits, launches;
  for (const int layers : {2, 12}) {
    EXPECT_EXIT(_exit(run(layers)), testing::ExitedWithCode(0), "");
    std::ifstream lines(traceOf(layers));
    for (std::string line; std::getline(lines, line);) {
      launches[layers] += line.rfind("launch", 0) == 0;
      waits[layers] += launches[layers] > 0 && line.rfind("synchronize", 0) == 0;
    }
    std::remove(traceOf(layers).c_str());
  }
  EXPECT_EQ(launches[2], 2);
  EXPECT_EQ(launches[12], 12);
  EXPECT_GT(waits[2], 0);
  EXPECT_EQ(waits[12], waits[2]);
}

TEST_F(ChecklistDevices, M12_TheHostProgramOfADeviceIsMachineCode) {
  CompileOptions native = deviceOptions();
  native.hostCode = HostCode::native;
  for (const int64_t n : {0, 1, 7}) expectSame(kBothSides, {{reals({n, 5}), reals({5, 9}, 2)}}, native, 1e-5);
}

TEST_F(ChecklistDevices, M13_OneCompilationForAllSizes) {
  IrContext ir;
  Result<Module> parsed = test::parseText(ir, kBothSides);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, deviceOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  std::mt19937 random(13);
  for (int i = 0; i < 1000; ++i) {
    const int64_t n = random() % 7, m = random() % 9;
    Result<std::vector<HostTensor>> results =
        (*compiled)->run({reals({n, m}, static_cast<uint32_t>(i)), reals({m, 9}, 2)});
    ASSERT_TRUE(results.ok()) << n << " x " << m << ": " << results.error().toString();
    ASSERT_EQ((*results)[0].shape(), (std::vector<int64_t>{n}));
  }
  EXPECT_EQ(kernelsCompiledAfterLoad(*(*compiled)->model), 0);
}

}  // namespace
}  // namespace dyn
