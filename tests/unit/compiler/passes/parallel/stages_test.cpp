// Programs with stages: the results of those without, on any number of threads, from the same memory again.
#include <gmock/gmock.h>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::randomTensor;

// Towers over one input that meet again, twice; a value that outlives a branch; a view.
const char kTowers[] =
    R"(fn @main(%x: Tensor[(n, 32), f32], %w: Tensor[(32, 32), f32], %v: Tensor[(32, 32), f32]) {
  %a = matmul(%x, %w)
  %a2 = relu(%a)
  %a3 = matmul(%a2, %v)
  %b = matmul(%x, %v)
  %b2 = matmul(%b, %w)
  %c = softmax(%x) {axis = -1}
  %s = matmul(%c, %w)
  %j = concat(%a3, %b2, %s) {axis = 1}
  %p = exp(%j)
  %q = softmax(%j) {axis = 0}
  %t = transpose(%q) {perm = [1, 0]}
  %m = matmul(%p, %t)
  return %m, %b, %q
})";
constexpr const char* kForced = "+stages{threads=4,steps=16777216}";

class Stages : public testing::Test {
 protected:
  std::unique_ptr<Compiled> compiled(const std::string& text, const std::string& passes, int threads) {
    Result<Module> module = test::parseText(context_, text);
    EXPECT_TRUE(module.ok()) << module.error().toString();
    CompileOptions options;
    options.passes = passes;
    Result<std::unique_ptr<Compiled>> made = Compiled::make(*module, options, threads);
    EXPECT_TRUE(made.ok()) << made.error().toString();
    return std::move(made).value();
  }
  static int64_t counterOf(const Compiled& program, const char* name) {
    const TraceStep* step = program.model->trace.find("stages");
    return step ? step->counters.at(name) : -1;
  }
  IrContext context_;
};

TEST_F(Stages, ResultsAreTheSameToTheBit) {
  const std::unique_ptr<Compiled> plain = compiled(kTowers, "", 1);
  for (const int threads : {1, 2, 3, 7}) {
    const std::unique_ptr<Compiled> staged = compiled(kTowers, kForced, threads);
    EXPECT_GE(counterOf(*staged, "stages"), 1);
    EXPECT_GE(counterOf(*staged, "operations_in_stages"), 4);
    for (const int64_t n : {1, 13, 0, 64, 13}) {
      const std::vector<HostTensor> inputs = {randomTensor(Dtype::f32, {n, 32}, 1),
                                              randomTensor(Dtype::f32, {32, 32}, 2),
                                              randomTensor(Dtype::f32, {32, 32}, 3)};
      const auto expected = plain->run(inputs);
      ASSERT_TRUE(expected.ok()) << expected.error().toString();
      for (int run = 0; run < 4; ++run) {  // both ways
        const auto actual = staged->run(inputs);
        ASSERT_TRUE(actual.ok()) << actual.error().toString();
        for (size_t i = 0; i < expected->size(); ++i)
          EXPECT_TRUE((*actual)[i].identical((*expected)[i]))
              << threads << " threads, n " << n << ", result " << i;
      }
    }
  }
}

// A chain has nothing that could run beside it, and small operations nothing to gain.
TEST_F(Stages, WhereNothingIsGainedNothingChanges) {
  const std::string chain =
      "fn @main(%x: Tensor[(n, 512), f32], %w: Tensor[(512, 512), f32]) {\n"
      "  %a = matmul(%x, %w)\n  %b = matmul(%a, %w)\n  return %b\n}";
  EXPECT_EQ(counterOf(*compiled(chain, kForced, 2), "stages"), 0);
  const std::string small =
      "fn @main(%x: Tensor[(4, 8), f32], %w: Tensor[(8, 8), f32]) {\n  %a = matmul(%x, %w)\n"
      "  %b = softmax(%x) {axis = 0}\n  %c = matmul(%b, %w)\n  %d = matmul(%a, %c) {transpose_b = 1}\n"
      "  return %d\n}";
  EXPECT_EQ(counterOf(*compiled(small, "+stages", 2), "stages"), 0);
}

TEST_F(Stages, OptionsThatAreNoNumbersAreRefused) {
  Result<Module> module = test::parseText(context_, kTowers);
  ASSERT_TRUE(module.ok());
  for (const char* passes : {"+stages{threads=1}", "+stages{threads=many}", "+stages{steps=-1}"}) {
    CompileOptions options;
    options.passes = passes;
    const auto made = Compiled::make(*module, options);
    ASSERT_FALSE(made.ok()) << passes;
    EXPECT_THAT(made.error().toString(), testing::HasSubstr("a number from"));
  }
}

}  // namespace
}  // namespace dyn
