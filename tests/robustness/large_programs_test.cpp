// Programs of a size that nobody writes by hand: a million nodes, bodies nested ten thousand deep, calls
// ninety thousand deep. Each is loaded, compiled and run to its right result, in time and memory that its
// size justifies.
#include <gtest/gtest.h>

#include <cmath>

#include "app/engine/run/run_result.h"
#include "tests/robustness/onnx_builder.h"
#include "tests/robustness/shell.h"
#include "tests/robustness/worker.h"

namespace dyn::robustness {
namespace {

struct Row {
  const char* name;
  std::string file, content, run;
  double first;            // element 0 of the result; NaN: there is an error instead
  const char* says;        // the begin of that error
  double mostSeconds;      // CPU time
  uint64_t mostMegabytes;  // grown
};

// sin and neg by turns: -sin(-sin(... x)), small but not 0.
std::string chain(int64_t count) {
  OnnxModel model;
  model.input("v0", kFloat, {"n"}).output("y");
  for (int64_t i = 0; i < count; ++i) {
    const std::string in = "v" + std::to_string(i), out = i + 1 == count ? "y" : "v" + std::to_string(i + 1);
    model.node(i % 2 ? "Neg" : "Sin", {in.c_str()}, {out.c_str()});
  }
  return model.bytes();
}

double chainOf(double x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) x = i % 2 ? -x : std::sin(static_cast<float>(x));
  return x;
}

// k calls of f, each with an addition to come after it.
constexpr const char* kRecursion = R"(fn @main(%x: Tensor[(n), f32], %k: Tensor[(), i64]) {
  %y = call(%x, %k) {callee = "f"}
  return %y
}
fn @f(%v: Tensor[(k), f32], %i: Tensor[(), i64]) -> (Tensor[(k), f32]) {
  %z = constant() {value = i64[] 0}
  %stop = less_equal(%i, %z)
  %r = if(%stop, %v, %i) then (%a: Tensor[(k), f32], %b: Tensor[(), i64]) {
    return %a
  } else (%c: Tensor[(k), f32], %d: Tensor[(), i64]) {
    %one = constant() {value = i64[] 1}
    %e = sub(%d, %one)
    %s = call(%c, %e) {callee = "f"}
    %t = add(%s, %c)
    return %t
  }
  return %r
})";

// Loops in loops, of which the innermost makes what all of them carry twice as long: each finds out that its
// size changes.
std::string growingLoops(int depth) {
  std::string text =
      "fn @main(%x0: Tensor[(n), f32]) {\n%t0 = constant() {value = i64[] 1}\n%g0 = constant() {value = "
      "bool[] "
      "true}\n";
  for (int k = 0; k < depth; ++k) {
    const std::string at = std::to_string(k), in = std::to_string(k + 1);
    text += "%r" + at + " = loop(%t" + at + ", %g" + at + ", %x" + at + ", %t" + at + ", %g" + at +
            ") {carried = 1} body (%i" + in + ": Tensor[(), i64], %x" + in + ", %t" + in +
            ": Tensor[(), i64], %g" + in + ": Tensor[(), bool]) {\n";
  }
  const std::string last = std::to_string(depth);
  text += "%z = concat(%x" + last + ", %x" + last + ") {axis = 0}\nreturn %g" + last + ", %z\n";
  for (int k = depth; k-- > 0;)
    text += "}\nreturn " + (k ? "%g" + std::to_string(k) + ", " : std::string()) + "%r" + std::to_string(k) +
            "\n";
  return text + "}\n";
}

void check(const Row& row) {
  const std::vector<CaseOutcome> outcomes = runApart(
      1,
      [&](size_t) {
        Shell shell(0);
        std::string text = said(*shell.load(row.file, row.content));
        if (!text.empty()) return text;
        const auto run = shell.line(row.run, std::chrono::minutes(9));
        text = said(*run);
        if (text.rfind("E0501", 0) == 0 || text.rfind("E0502", 0) == 0) return "skip " + text;
        if (!text.empty()) return text;
        const HostTensor& result = run->as<RunResult>()->outputs.at(0).value.tensor();
        return std::abs(result.realAt(0) - row.first) <= 1e-2 * std::abs(row.first)
                   ? text
                   : std::to_string(result.realAt(0)) + " instead of " + std::to_string(row.first);
      },
      540);
  const CaseOutcome& outcome = outcomes[0];
  EXPECT_EQ(outcome.fault(), "");
  if (outcome.text.rfind("skip ", 0) == 0) GTEST_SKIP() << outcome.text;
  EXPECT_EQ(outcome.text.substr(0, row.says[0] == 0 ? std::string::npos : std::string(row.says).size()),
            row.says)
      << outcome.text;
  if (!kMeasures) return;
  EXPECT_LE(outcome.cpuNs, static_cast<int64_t>(row.mostSeconds * 1e9));
  EXPECT_LE(outcome.grownBytes, static_cast<int64_t>(row.mostMegabytes * kMegabyte));
}

constexpr int64_t kNodes = kMeasures ? 1'000'000 : 50'000;
constexpr int kDepth = kMeasures ? 10'000 : 1'000;

TEST(LargePrograms, aMillionNodes) {
  check({"a chain", "m.onnx", chain(kNodes), ":run --dim n=3 --input v0=ones", chainOf(1, kNodes), "", 120,
         1100});
}
TEST(LargePrograms, bodiesTenThousandDeep) {
  check(
      {"ifs", "m.onnx", nestedIfs(kDepth), ":run --dim n=3 --input x=ones --input c=true", -1, "", 20, 1000});
}
TEST(LargePrograms, growingLoopsAHundredDeep) {
  check({"loops", "m.dyn", growingLoops(100), ":run --dim n=3 --input x0=ones", 1, "", 20, 1000});
}
TEST(LargePrograms, callsNinetyThousandDeep) {
  check(
      {"calls", "m.dyn", kRecursion, ":run --dim n=2 --input x=ones --input k=90000", 90'001, "", 20, 1000});
}
TEST(LargePrograms, callsTooDeep) {
  check({"calls", "m.dyn", kRecursion, ":run --dim n=2 --input x=ones --input k=100000000", NAN,
         "E0303 depth limit", 60, 2000});
}

}  // namespace
}  // namespace dyn::robustness
