// Products that cuBLASLt does on a device (policy matmul=cublaslt), here the simulated one's library: which
// products it takes, its results beside the reference and beside the kernels' own forms, at sizes of 0, 1,
// primes and with a workspace; what it is not given; where it is not there. Small integers: sums are exact.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <array>

#include "compiler/driver/device_versions.h"
#include "tests/unit/compiler/driver/on_device.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// How many products the library has done in this process.
uint64_t productsDone() {
  void* driver = dlopen(getenv("DYN_CUDA_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
  if (!driver) return 0;
  const auto count = reinterpret_cast<uint64_t (*)()>(dlsym(driver, "dyn_simcuda_commands_run"));
  return count ? count() : 0;
}

HostTensor integers(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, static_cast<int>(random() % 5) - 2);
  return tensor;
}

class DeviceLibrary : public testing::Test {
 protected:
  void SetUp() override {
    if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
  static CompileOptions byLibrary(const char* math = "fp32") {
    CompileOptions options = deviceOptions();
    options.versions["matmul"] = "cublaslt";
    options.math = math;
    return options;
  }
  // With the reference's results, and so many products of the library; none of them is the kernels'.
  static void same(const std::string& text, const std::vector<std::vector<HostTensor>>& inputs,
                   uint64_t products, const char* math = "fp32") {
    SCOPED_TRACE(text);
    const uint64_t before = productsDone();
    expectSame(text, inputs, byLibrary(math), 0);
    EXPECT_EQ(productsDone() - before, products);
  }
  static std::string versionsOf(const std::string& text, const CompileOptions& options) {
    IrContext context;
    Result<Module> parsed = parseText(context, text);
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<CompiledModel> compiled = compileModel(*parsed, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
    std::string all;
    for (size_t i = 0; i < compiled->lowered.kernels.size(); ++i) {
      const std::string versions = deviceVersions(*compiled, i);
      if (!versions.empty()) all += (all.empty() ? "" : "\n") + versions;
    }
    return all;
  }
};

std::string product(const std::string& type, bool transposesA, bool transposesB) {
  const std::string a = transposesA ? "%at = transpose(%a) {perm = [1, 0]}\n" : "";
  return "fn @main(%a: Tensor[(" + std::string(transposesA ? "k, m" : "m, k") + "), " + type +
         "], %w: Tensor[(" + (transposesB ? "n, k" : "k, n") + "), " + type + "]) {\n  " + a +
         "  %y = matmul(" + (transposesA ? "%at" : "%a") +
         ", %w) {transpose_b = " + (transposesB ? "1" : "0") + "}\n  return %y\n}";
}

TEST_F(DeviceLibrary, allTypesTransposesAndSizes) {
  for (const char* type : {"f32", "f16", "bf16"})
    for (const bool transposesA : {false, true})
      for (const bool transposesB : {false, true}) {
        std::vector<std::vector<HostTensor>> inputs;
        uint64_t products = 0;
        const Dtype dtype = *parseDtype(type);
        for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                      {3, 5, 7},
                                      {1, 13, 11},
                                      {13, 1, 11},
                                      {13, 11, 1},
                                      {0, 5, 3},
                                      {5, 0, 3},
                                      {2, 3, 0},
                                      {31, 37, 101},
                                      {64, 8, 64},
                                      {4, 130, 67}}) {
          using Shape = std::vector<int64_t>;
          inputs.push_back({integers(dtype, transposesA ? Shape{k, m} : Shape{m, k}, 1),
                            integers(dtype, transposesB ? Shape{n, k} : Shape{k, n}, 2)});
          products += m * n * k > 0;
        }
        same(product(type, transposesA, transposesB), inputs, products);
        if (HasFatalFailure()) return;
      }
}

TEST_F(DeviceLibrary, manyMatricesAndThoseThatAreShared) {
  const auto inputs = [](std::vector<int64_t> a, std::vector<int64_t> w) {
    return std::vector<HostTensor>{integers(Dtype::f32, std::move(a), 1),
                                   integers(Dtype::f32, std::move(w), 2)};
  };
  // Rows of all matrices are those of one product where the right factor is the same for all.
  same(
      "fn @main(%a: Tensor[(b, m, k), f32], %w: Tensor[(k, n), f32]) {\n  %y = matmul(%a, %w)\n  return "
      "%y\n}",
      {inputs({3, 5, 7}, {7, 11}), inputs({1, 1, 50}, {50, 3}), inputs({0, 5, 7}, {7, 2})}, 2);
  same(
      "fn @main(%a: Tensor[(b, h, m, k), f32], %w: Tensor[(b, h, k, n), f32]) {\n  %y = matmul(%a, %w)\n"
      "  return %y\n}",
      {inputs({2, 3, 5, 7}, {2, 3, 7, 11}), inputs({1, 1, 1, 1}, {1, 1, 1, 1}),
       inputs({3, 1, 2, 60}, {3, 1, 60, 5})},
      3);
  // Either side may be one for all; for one axis of two it is no even distance, and the kernel does it
  // itself.
  same(
      "fn @main(%a: Tensor[(b, h, m, k), f32], %w: Tensor[(c, g, k, n), f32]) {\n  %y = matmul(%a, %w)\n"
      "  return %y\n}",
      {inputs({2, 3, 5, 7}, {1, 1, 7, 11}), inputs({1, 1, 5, 7}, {2, 3, 7, 11}),
       inputs({2, 3, 5, 7}, {1, 3, 7, 11})},
      2);
}

TEST_F(DeviceLibrary, biasOfF32) {
  const std::string text =
      "fn @main(%a: Tensor[(b, m, k), f32], %w: Tensor[(k, n), f32], %c: Tensor[(n), f32]) {\n"
      "  %y = matmul(%a, %w)\n  %z = add(%y, %c)\n  return %z\n}";
  std::vector<std::vector<HostTensor>> inputs;
  for (const auto& [b, m, n, k] : {std::array{1, 1, 1, 1}, {2, 3, 5, 7}, {1, 31, 17, 64}, {2, 0, 5, 3}})
    inputs.push_back(
        {integers(Dtype::f32, {b, m, k}, 1), integers(Dtype::f32, {k, n}, 2), integers(Dtype::f32, {n}, 3)});
  same(text, inputs, 3);
}

// 1 + 2^-11 has one bit more than tf32 keeps.
TEST_F(DeviceLibrary, f32IsRoundedWhereMathSaysSoAlone) {
  HostTensor a = *HostTensor::create(Dtype::f32, {1, 1}), w = *HostTensor::create(Dtype::f32, {1, 1});
  a.setReal(0, 1 + 0x1p-11);
  w.setReal(0, 1);
  for (const auto& [math, expected] : {std::pair{"fp32", 1 + 0x1p-11}, {"tf32", 1.0}, {"bf16", 1.0}}) {
    IrContext context;
    Result<Module> parsed = parseText(context, product("f32", false, false));
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, byLibrary(math));
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    Result<std::vector<HostTensor>> y = (*compiled)->run({a, w});
    ASSERT_TRUE(y.ok()) << y.error().toString();
    EXPECT_EQ((*y)[0].realAt(0), expected) << math;
  }
}

TEST_F(DeviceLibrary, launchesThatComeAgainAreGraphs) {
  const std::string text =
      "fn @main(%a: Tensor[(m, k), f32], %w: Tensor[(k, k), f32]) {\n  %y = matmul(%a, %w)\n"
      "  %z = matmul(%y, %w)\n  return %z\n}";
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  Result<std::unique_ptr<Compiled>> own = Compiled::make(*parsed, deviceOptions());
  Result<std::unique_ptr<Compiled>> library = Compiled::make(*parsed, byLibrary());
  ASSERT_TRUE(own.ok() && library.ok());
  for (const int64_t k : {64, 7}) {
    const std::vector<HostTensor> inputs{integers(Dtype::f32, {5, k}, 1), integers(Dtype::f32, {k, k}, 2)};
    Result<std::vector<HostTensor>> expected = (*own)->run(inputs);
    ASSERT_TRUE(expected.ok());
    const uint64_t before = productsDone();
    for (int run = 0; run < 4; ++run) {
      Result<std::vector<HostTensor>> actual = (*library)->run(inputs);
      ASSERT_TRUE(actual.ok()) << actual.error().toString();
      expectClose((*actual)[0], (*expected)[0], "run " + std::to_string(run), 1e-5);
    }
    EXPECT_EQ(productsDone() - before, 8u);
  }
}

TEST_F(DeviceLibrary, whatItIsNotGivenIsSaid) {
  const std::string plain = product("f32", false, false);
  EXPECT_EQ(versionsOf(plain, deviceOptions()), "own (by rule), cublaslt");
  EXPECT_THAT(versionsOf(plain, byLibrary()), StartsWith("cublaslt (by policy)"));
  const auto after = [](const std::string& type, const std::string& what) {
    return "fn @main(%a: Tensor[(m, k), " + type + "], %w: Tensor[(k, n), " + type + "], %c: Tensor[(n), " +
           type + "]) {\n  %y = matmul(%a, %w)\n  " + what + "\n  return %z\n}";
  };
  for (const CompileOptions& options : {deviceOptions(), byLibrary()}) {
    EXPECT_THAT(versionsOf(after("f32", "%b = add(%y, %c)\n  %z = tanh(%b)"), options),
                HasSubstr("unavailable: the epilogue of the product is more than an f32 bias"));
    // The model rounds before the bias is added, the library after.
    EXPECT_THAT(versionsOf(after("f16", "%z = add(%y, %c)"), options),
                HasSubstr("unavailable: the epilogue of the product is more than an f32 bias"));
    EXPECT_THAT(versionsOf("fn @main(%x: Tensor[(b, 4, h, w), f32], %w: Tensor[(8, 4, 3, 3), f32]) {\n"
                           "  %y = conv(%x, %w)\n  return %y\n}",
                           options),
                HasSubstr("unavailable: a factor is not a matrix as it lies in memory"));
  }
}

}  // namespace
}  // namespace dyn::test
