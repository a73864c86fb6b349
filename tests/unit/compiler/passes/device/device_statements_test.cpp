// Running sums, scatters, the first of a row and selections as kernels of a device, on the simulated driver,
// against the reference interpreter: sizes of less than a block, of exactly one, and of several; what two
// indices write; ties, zeros of both signs, NaN.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/compiler/passes/device/device_statements.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

constexpr double kDeviceStatementsNan = std::numeric_limits<double>::quiet_NaN();

using OnDeviceStatements = DeviceStatements;

TEST_F(OnDeviceStatements, runningSums) {
  for (const char* dtype : {"f32", "f64", "i32", "i64", "u8", "f16"})
    for (const char* attributes : {"", " {exclusive = 1}", " {reverse = 1}", " {exclusive = 1, reverse = 1}"})
      for (const int64_t axis : {0, 1}) {
        const std::string text = std::string("fn @main(%x: Tensor[(n, m), ") + dtype +
                                 "]) {\n  %a = constant() {value = i64[] " + std::to_string(axis) +
                                 "}\n  %y = cumsum(%x, %a)" + attributes + "\n  return %y\n}";
        const Dtype element = *parseDtype(dtype);
        std::vector<std::vector<HostTensor>> inputs;
        for (const auto& [n, m] :
             {std::pair{1, 1}, {0, 3}, {3, 0}, {2, 127}, {1, 128}, {3, 129}, {1, 1009}, {300, 2}})
          inputs.push_back({randomTensor(element, {n, m}, 5)});
        SCOPED_TRACE(text);
        same(text, inputs, element == Dtype::f16 ? 4e-3 : isReal(element) ? 2e-5 : 0);
      }
}

TEST_F(OnDeviceStatements, runningProducts) {
  const std::string text =
      "fn @main(%x: Tensor[(n, m), f32]) {\n  %a = constant() {value = i64[] 1}\n  %y = cumprod(%x, %a)\n"
      "  return %y\n}";
  same(text, {{reals({3, 20})}, {reals({2, 300})}, {reals({1, 1})}}, 1e-5);
}

TEST_F(OnDeviceStatements, scatterElements) {
  for (const char* dtype : {"f32", "f16", "i64", "u8"})
    for (const char* how : {"none", "add", "mul", "min", "max"})
      for (const int64_t axis : {0, 1}) {
        const std::string text = std::string("fn @main(%x: Tensor[(n, m), ") + dtype +
                                 "], %i: Tensor[(k, l), i64], %u: Tensor[(k, l), " + dtype +
                                 "]) {\n  %y = scatter_elements(%x, %i, %u) {axis = " + std::to_string(axis) +
                                 ", reduction = \"" + how + "\"}\n  return %y\n}";
        const Dtype element = *parseDtype(dtype);
        std::vector<std::vector<HostTensor>> inputs;
        for (const std::array<int64_t, 4>& s : {std::array<int64_t, 4>{1, 1, 1, 1},
                                                {5, 3, 5, 3},
                                                {7, 130, 4, 30},
                                                {131, 2, 60, 2},
                                                {3, 5, 0, 5},
                                                {70, 70, 41, 67}}) {
          const int64_t size = axis == 0 ? s[0] : s[1];
          inputs.push_back({randomTensor(element, {s[0], s[1]}, 7), places({s[2], s[3]}, -size, size - 1),
                            randomTensor(element, {s[2], s[3]}, 8)});
        }
        SCOPED_TRACE(text);
        // Each step rounds to the result's type, as the host's do; the reference does so at the end.
        same(text, inputs, element == Dtype::f16 ? 2e-2 : isReal(element) ? 1e-5 : 0);
      }
}

TEST_F(OnDeviceStatements, scatterRows) {
  for (const char* how : {"none", "add", "max"})
    for (const char* index : {"i64", "i32"}) {
      const std::string text =
          std::string("fn @main(%x: Tensor[(n, m, 3), f32], %i: Tensor[(k, 2), ") + index +
          "], %u: Tensor[(k, 3), f32]) {\n  %y = scatter_nd(%x, %i, %u) {reduction = \"" + how +
          "\"}\n  return %y\n}";
      std::vector<std::vector<HostTensor>> inputs;
      for (const auto& [n, k] : {std::pair{1, 1}, {2, 5}, {13, 200}, {40, 0}})
        inputs.push_back(
            {reals({n, n, 3}), places({k, 2}, -n, n - 1, 3, *parseDtype(index)), reals({k, 3}, 2)});
      SCOPED_TRACE(text);
      same(text, inputs, 1e-5);
    }
}

TEST_F(OnDeviceStatements, indicesThatAreNotThere) {
  const std::string text =
      "fn @main(%x: Tensor[(n, m), f32], %i: Tensor[(k, m), i64], %u: Tensor[(k, m), f32]) {\n"
      "  %y = scatter_elements(%x, %i, %u) {axis = 0}\n  return %y\n}";
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, deviceOptions());
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  const HostTensor x = reals({4, 2}), u = reals({1, 2});
  Result<std::vector<HostTensor>> result = (*compiled)->run({x, places({1, 2}, 9, 9), u});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().toString(), HasSubstr("index 9 is out of range: axis 0 has n elements"));
  EXPECT_TRUE((*compiled)->run({x, places({1, 2}, 1, 1), u}).ok()) << "the device goes on";
}

TEST_F(OnDeviceStatements, theFirstOfARow) {
  for (const char* dtype : {"f32", "f16", "i64", "u8"})
    for (const char* attributes : {"", " {largest = 0}", " {axis = 0}", " {axis = 0, largest = 0}"}) {
      const std::string text = std::string("fn @main(%x: Tensor[(n, m), ") + dtype +
                               "], %k: Tensor[(1), i64]) {\n  %v, %p = topk(%x, %k)" + attributes +
                               "\n  return %v, %p\n}";
      const Dtype element = *parseDtype(dtype);
      std::vector<std::vector<HostTensor>> inputs;
      for (const std::array<int64_t, 3>& s :
           {std::array<int64_t, 3>{1, 1, 1}, {5, 7, 3}, {3, 131, 3}, {200, 2, 2}, {4, 4, 0}, {3, 300, 300}}) {
        inputs.push_back({randomTensor(element, {s[0], s[1]}, 7), single(s[2])});
      }
      HostTensor special = *HostTensor::create(element, {8, 8});
      const double values[] = {0.0, -0.0, kDeviceStatementsNan, 1, -1, kDeviceStatementsNan, INFINITY, 1};
      for (int64_t i = 0; i < 64 && isReal(element); ++i) special.setReal(i, values[(i * 5) % 8]);
      inputs.push_back({special, single(8)});
      SCOPED_TRACE(text);
      same(text, inputs);
    }
}

TEST_F(OnDeviceStatements, whatIsNotZero) {
  for (const char* dtype : {"f32", "f16", "i64", "bool"}) {
    const std::string text = std::string("fn @main(%x: Tensor[(n, m), ") + dtype +
                             "]) {\n  %y = nonzero(%x)\n  %z = neg(%y)\n  return %y, %z\n}";
    const Dtype element = *parseDtype(dtype);
    std::vector<std::vector<HostTensor>> inputs;
    for (const auto& [n, m] : {std::pair{1, 1}, {0, 3}, {3, 5}, {1, 128}, {43, 3}, {31, 41}}) {
      HostTensor x = *HostTensor::create(element, {n, m});
      std::mt19937 random(9);
      const double values[] = {0.0, -0.0, kDeviceStatementsNan, 2, 0, -1, 0};
      for (int64_t i = 0; i < x.elementCount(); ++i) {
        if (isReal(element))
          x.setReal(i, values[random() % 7]);
        else
          x.setInt(i, random() % 2);
      }
      inputs.push_back({x});
    }
    inputs.push_back({*HostTensor::create(element, {40, 5})});  // nothing
    SCOPED_TRACE(text);
    same(text, inputs);
    EXPECT_EQ(counted(text, "device_kernels"), 3);
  }
}

TEST_F(OnDeviceStatements, whatConditionsKeep) {
  for (const char* attributes : {"", " {axis = 0}", " {axis = -1}"}) {
    const std::string text =
        std::string("fn @main(%x: Tensor[(n, m), f32], %c: Tensor[(k), bool]) {\n  %y = compress(%x, %c)") +
        attributes + "\n  return %y\n}";
    std::vector<std::vector<HostTensor>> inputs;
    for (const std::array<int64_t, 3>& s :
         {std::array<int64_t, 3>{1, 1, 1}, {5, 7, 3}, {160, 160, 160}, {3, 131, 0}, {2, 300, 2}})
      inputs.push_back({reals({s[0], s[1]}), randomTensor(Dtype::boolean, {s[2]}, 4)});
    SCOPED_TRACE(text);
    same(text, inputs);
  }
}

// In bodies of loops, where their results are what the next iteration begins with.
TEST_F(OnDeviceStatements, insideOfLoops) {
  same(
      "fn @main(x: Tensor[(n, 4), f32], i: Tensor[(k, 1), i64], u: Tensor[(k, 4), f32], t: Tensor[(), i64]) "
      "{\n"
      "  y = loop(t, _, x, i, u) {carried = 1} body (j, c, i, u) {\n"
      "    return true, scatter_nd(tanh(c), i, u)\n  }\n  return y\n}",
      {{reals({70, 4}), places({9, 1}, -70, 69), reals({9, 4}, 2),
        [] {
          HostTensor iterations = *HostTensor::create(Dtype::i64, {});
          iterations.setInt(0, 3);
          return iterations;
        }()}},
      1e-6);
}

// Also where what is written comes from what it is written into.
TEST_F(OnDeviceStatements, updatesInPlace) {
  for (const char* written : {"%u", "%h"})
    for (const char* how : {"none", "add", "max"}) {
      const std::string text =
          std::string(
              "fn @main(%x: Tensor[(n, m), f32], %i: Tensor[(n, 1), i64], %u: Tensor[(n, m), f32]) {\n"
              "  %h = tanh(%x)\n  %y = scatter_nd(%h, %i, ") +
          written + ") {reduction = \"" + how + "\"}\n  return %y, %u\n}";
      SCOPED_TRACE(text);
      same(text,
           {{reals({70, 3}), places({70, 1}, -70, 69), reals({70, 3}, 2)},
            {reals({1, 200}), places({1, 1}, 0, 0), reals({1, 200}, 2)}},
           1e-5);
    }
  // Carried from iteration to iteration (that nothing is copied then: tests/device/simcuda_test.sh); the
  // first value is read afterwards, too.
  const auto iterations = [](int64_t count) { return HostTensor::scalarInt(Dtype::i64, count); };
  for (const char* axis : {"0", "1"}) {
    const std::string text =
        std::string(
            "fn @main(x: Tensor[(n, 4), f32], i: Tensor[(k, l), i64], u: Tensor[(k, l), f32], t: "
            "Tensor[(), i64]) {\n  y = loop(t, _, x, i, u) {carried = 1} body (j, c, i, u) {\n"
            "    d = scatter_elements(c, i, u) {axis = ") +
        axis + ", reduction = \"add\"}\n    return true, scatter_elements(d, i, u) {axis = " + axis +
        ", reduction = \"max\"}\n  }\n  return y, neg(x)\n}";
    std::vector<std::vector<HostTensor>> inputs;
    for (const int64_t count : {0, 1, 4})
      inputs.push_back({reals({150, 4}), places({3, 2}, 0, 3), reals({3, 2}, 2), iterations(count)});
    SCOPED_TRACE(text);
    same(text, inputs, 1e-5);
  }
}

TEST_F(OnDeviceStatements, whatStaysOnTheHostSaysWhy) {
  EXPECT_THAT(
      remarks(
          "fn @main(%x: Tensor[(n, m), f32], %a: Tensor[(1), i64]) {\n  %y = cumsum(%x, %a)\n  return %y\n}"),
      testing::Contains("on the host: cumsum: operand 1 is known only at run time"));
}

}  // namespace
}  // namespace dyn::test
