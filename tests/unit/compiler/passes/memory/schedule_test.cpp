// The order of kernels and the memory that lives at once.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::randomTensor;

// Two large products, each wanted for a small one only: as written, both live at once.
const char kTwoLarge[] =
    R"(fn @main(%x: Tensor[(n, 8), f32], %y: Tensor[(8, n), f32], %z: Tensor[(8, n), f32]) {
  %a = matmul(%x, %y)
  %b = matmul(%x, %z)
  %p = matmul(%a, %x)
  %q = matmul(%b, %x)
  %r = add(%p, %q)
  return %r
})";

std::vector<HostTensor> scheduleInputsOf(int64_t n) {
  return {randomTensor(Dtype::f32, {n, 8}, 1), randomTensor(Dtype::f32, {8, n}, 2),
          randomTensor(Dtype::f32, {8, n}, 3)};
}

class Schedule : public testing::Test {
 protected:
  std::unique_ptr<Compiled> compiled(const std::string& text, const std::string& passes) {
    Result<Module> module = test::parseText(context_, text);
    EXPECT_TRUE(module.ok()) << module.error().toString();
    CompileOptions options;
    options.passes = passes;
    Result<std::unique_ptr<Compiled>> made = Compiled::make(*module, options);
    EXPECT_TRUE(made.ok()) << made.error().toString();
    return std::move(made).value();
  }
  static uint64_t peakOf(const Compiled& program) {
    dyn_statistics statistics{};
    EXPECT_EQ(dyn_context_statistics(program.context.get(), &statistics), DYN_OK);
    return statistics.peak_bytes;
  }
  static int64_t reorderedIn(const Compiled& program) {
    const TraceStep* step = program.model->trace.find("schedule");
    return step ? step->counters.at("reordered_functions") : -1;
  }
  // From now on the program may take so many bytes.
  static void limit(Compiled& program, uint64_t bytes) {
    dyn_options options{};
    options.memory_limit_bytes = bytes;
    dyn_context* context = nullptr;
    ASSERT_EQ(dyn_context_create(program.module.get(), &options, &context), DYN_OK);
    program.context.reset(context);
  }
  IrContext context_;
};

TEST_F(Schedule, M22_WithSeventyPercentOfThePeakTheModelStillRunsAndGivesTheSame) {
  const std::unique_ptr<Compiled> written = compiled(kTwoLarge, "-schedule"),
                                  scheduled = compiled(kTwoLarge, "");
  EXPECT_EQ(reorderedIn(*scheduled), 1);
  for (int64_t n : {0, 1, 7, 300}) {
    Result<std::vector<HostTensor>> before = written->run(scheduleInputsOf(n)),
                                    after = scheduled->run(scheduleInputsOf(n));
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_TRUE(Value((*before)[0]).identical(Value((*after)[0]))) << n;
    EXPECT_LE(peakOf(*scheduled), peakOf(*written)) << n;
  }
  ASSERT_TRUE(written->run(scheduleInputsOf(1000)).ok());
  const uint64_t bytes = peakOf(*written) * 7 / 10;
  limit(*written, bytes);
  Result<std::vector<HostTensor>> refused = written->run(scheduleInputsOf(1000));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("the limit is " + std::to_string(bytes)), std::string::npos)
      << refused.error().message;
  limit(*scheduled, bytes);
  Result<std::vector<HostTensor>> fits = scheduled->run(scheduleInputsOf(1000));
  ASSERT_TRUE(fits.ok()) << fits.error().message;
  EXPECT_LE(peakOf(*scheduled), bytes);
}

TEST_F(Schedule, AnOrderThatIsAsGoodAsAnyIsKept) {
  EXPECT_EQ(reorderedIn(
                *compiled("fn @main(%x: Tensor[(n, m), f32]) { softmax(softmax(softmax(softmax(x)))) }", "")),
            0);
}

// Which of the sizes is the larger is not known: an order is taken only if it is no worse for any of them.
TEST_F(Schedule, NoSizesAreMadeWorse) {
  const char* text =
      R"(fn @main(%x: Tensor[(n, 8), f32], %y: Tensor[(8, m), f32], %z: Tensor[(8, k), f32], %u: Tensor[(m, k), f32]) {
  %a = matmul(%x, %y)
  %b = matmul(%x, %z)
  %p = matmul(%a, %u)
  %r = add(%p, %b)
  return %r
})";
  const std::unique_ptr<Compiled> written = compiled(text, "-schedule"), scheduled = compiled(text, "");
  for (const auto& [n, m, k] : {std::tuple<int64_t, int64_t, int64_t>{5, 300, 3},
                                {5, 3, 300},
                                {300, 3, 5},
                                {64, 64, 64},
                                {1, 1, 1}}) {
    const std::vector<HostTensor> inputs = {
        randomTensor(Dtype::f32, {n, 8}, 1), randomTensor(Dtype::f32, {8, m}, 2),
        randomTensor(Dtype::f32, {8, k}, 3), randomTensor(Dtype::f32, {m, k}, 4)};
    Result<std::vector<HostTensor>> before = written->run(inputs), after = scheduled->run(inputs);
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_TRUE(Value((*before)[0]).identical(Value((*after)[0])));
    EXPECT_LE(peakOf(*scheduled), peakOf(*written)) << n << " " << m << " " << k;
  }
}

}  // namespace
}  // namespace dyn
