// What bounds a launch, what a run would take, and the file the machine's limits are kept in.
#include "app/session/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/engine/run/run_result.h"
#include "app/session/views/predict_views.h"
#include "tests/support/compiled.h"
#include "tests/support/session_fixture.h"
#include "tests/support/text_module.h"

namespace dyn {
namespace {

using testing::HasSubstr;

// A machine on which all numbers are round.
MachineLimits roundMachine() {
  MachineLimits limits;
  limits.cpu = "a test";
  limits.launchNs = limits.gemmLaunchNs = limits.attentionLaunchNs = 100;
  limits.convolutionLaunchNs = limits.otherLaunchNs = 100;
  limits.gemmOperations = limits.attentionOperations = limits.convolutionOperations = 100;
  limits.convolutionFewOperations = 50;
  limits.pairOperations = 200;
  limits.byteOperations = 400;
  limits.byteMoreDepth = 30;
  limits.loopOperations = 10;
  limits.loopCalls = limits.scattered = limits.visits = limits.packed = 1;
  limits.bytesSmall = 80;
  limits.bytesMiddle = 40;
  limits.bytesLarge = 20;
  limits.bytesHuge = 10;
  limits.weightsMiddle = limits.weightsLarge = limits.weightsHuge = 10;
  limits.fewRows = 1;
  return limits;
}

TEST(Limits, PrintedAndParsedAreTheSame) {
  const MachineLimits limits = roundMachine();
  Result<MachineLimits> again = parseLimits(printLimits(limits));
  ASSERT_TRUE(again.ok()) << again.error().toString();
  EXPECT_EQ(*again, limits);
}

TEST(Limits, DamagedTextIsRefusedWithItsLine) {
  const std::string text = printLimits(roundMachine());
  for (size_t end = 0; end + 1 < text.size(); end += 7)
    EXPECT_FALSE(parseLimits(text.substr(0, end)).ok()) << end;
  std::string zero = text;
  zero.replace(zero.find("loopCalls = 1"), 13, "loopCalls = 0");
  Result<MachineLimits> refused = parseLimits(zero);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().toString(), HasSubstr("machine limits:17"));
}

TEST(Limits, TheRateFallsWithTheFootprint) {
  const MachineLimits limits = roundMachine();
  EXPECT_EQ(limits.bytesPerNs(100), 80);
  EXPECT_EQ(limits.bytesPerNs(MachineLimits::kMiddleBytes), 40);
  EXPECT_EQ(limits.bytesPerNs(1e12), 10);
  EXPECT_LT(limits.bytesPerNs(3e6), 40);
  EXPECT_GT(limits.bytesPerNs(3e6), 20);
}

TEST(Explain, TheLongestOfThreeBounds) {
  const MachineLimits limits = roundMachine();
  LaunchWork work;
  work.kind = LaunchKind::gemm;
  work.bytes = 1000;
  EXPECT_STREQ(timeOf(work, limits, {}).bound(), "overhead");
  work.products = 1e6;
  EXPECT_STREQ(timeOf(work, limits, {}).bound(), "compute");
  EXPECT_EQ(timeOf(work, limits, {}).expectedNs(), 10100);
  work.weightBytes = 1e9;
  EXPECT_STREQ(timeOf(work, limits, {}).bound(), "memory");
}

TEST(Explain, ProductsAreCountedFromTheirShapes) {
  TimelineEvent event;
  event.kind = "builtin";
  event.name = "gemm";
  event.shapes = "f32[2,5,7] f32[2,5,3] f32[3,7]";
  event.resultsCount = 1;
  event.numbers = {0};
  const LaunchWork work = workOf(event, LoweredModule());
  EXPECT_EQ(work.products, 2.0 * 2 * 5 * 3 * 7);
  EXPECT_EQ(work.rows, 10);
  EXPECT_EQ(work.packed, 21);
  EXPECT_EQ(work.dims, "10 x 3 x 7");
  EXPECT_EQ(work.weightBytes, 0);
  event.shapes = "f32[2,5,7] f32[2,5,3] f32[24]";  // a panel of eight columns
  event.numbers = {4};
  EXPECT_EQ(workOf(event, LoweredModule()).weightBytes, 4.0 * 24);
  EXPECT_EQ(workOf(event, LoweredModule()).products, 2.0 * 2 * 5 * 3 * 8);
  event.shapes = "f32[5,7] f32[3,5] f32[3,7]";  // A turned around by an order behind a schedule
  event.numbers = {8 + 16, 1, 3, 100, 0, 1, 0, 0, 1, 0, 1};
  EXPECT_EQ(workOf(event, LoweredModule()).dims, "5 x 3 x 7");
}

// Pairs of bf16 and bytes have rates of their own; what is only kept in bf16 is widened.
TEST(Explain, ProductsOfPairsAndBytesHaveTheirOwnRates) {
  const MachineLimits limits = roundMachine();
  TimelineEvent event;
  event.kind = "builtin";
  event.name = "gemm";
  event.shapes = "f32[10,8] f32[10,100] bf16[800]";
  event.resultsCount = 1;
  event.numbers = {4};
  const LaunchWork pairs = workOf(event, LoweredModule());
  EXPECT_EQ(pairs.productsOf, ProductsOf::pairs);
  EXPECT_EQ(timeOf(pairs, limits, {}).computeNs, 2.0 * 10 * 8 * 100 / 200);
  event.numbers = {4 + 32};
  EXPECT_EQ(workOf(event, LoweredModule()).productsOf, ProductsOf::f32);
  event.shapes = "f32[10,8] f32[10,100] f32[800]";
  event.numbers = {4};
  EXPECT_EQ(workOf(event, LoweredModule()).productsOf, ProductsOf::f32);

  event.name = "bytegemm";
  event.place = "here";
  event.shapes = "i32[10,8] u8[10,100] i8[800]";
  event.numbers = {1};
  const LaunchWork bytes = workOf(event, LoweredModule());
  EXPECT_EQ(bytes.kind, LaunchKind::gemm);
  EXPECT_EQ(bytes.productsOf, ProductsOf::bytes);
  EXPECT_EQ(bytes.products, 2.0 * 10 * 8 * 100);
  EXPECT_EQ(bytes.weightBytes, 800);
  EXPECT_EQ(bytes.dims, "10 x 100 x 8");
  EXPECT_EQ(timeOf(bytes, limits, {}).computeNs, 2.0 * 10 * 8 * (100 + 30) / 400);
  EXPECT_EQ(siteOf(event), "here");
}

// A convolution of bytes is as many times as fast as a product of bytes is, and makes its results besides.
TEST(Explain, ConvolutionsOfBytes) {
  const MachineLimits limits = roundMachine();
  TimelineEvent event;
  event.kind = "builtin";
  event.name = "conv_packed";
  event.shapes = "u8[1,32,32,64] u8[1,64,64,3] i8[11008] u8[] i32[1,1,1,64] f32[] f32[]";
  event.resultsCount = 1;
  event.numbers = {570, 1, 2, 2, 1, 1, 64, 3, 7, 7};
  event.scalars = {3, 3};
  const LaunchWork work = workOf(event, LoweredModule());
  EXPECT_EQ(work.productsOf, ProductsOf::bytes);
  const double results = 32.0 * 32 * 64, products = 2 * results * 3 * 7 * 7;
  EXPECT_EQ(work.products, products);
  EXPECT_EQ(timeOf(work, limits, {}).computeNs, products / 400 + 2 * results * 30 / 400);
  event.name = "byteconv";
  event.shapes = "i32[1,64,56,56] u8[1,64,56,56] u8[64,3,3,64] u8[]";
  event.numbers = {10, 1, 1, 1, 1, 1};
  event.scalars = {1, 1};
  const LaunchWork matrix = workOf(event, LoweredModule());
  EXPECT_EQ(matrix.kind, LaunchKind::gemm);
  EXPECT_EQ(matrix.rows, 56.0 * 56);
  EXPECT_EQ(matrix.products, 2.0 * 64 * 56 * 56 * 64 * 9);
}

TEST(Explain, ARecurrenceReadsItsWeightsOnceAStep) {
  TimelineEvent event;
  event.kind = "builtin";
  event.name = "recurrence";
  event.place = "here";
  // An LSTM of 8 units over 10 steps of 3 rows: state, cell and states; gates, panels, state, cell.
  event.shapes = "f32[3,8] f32[3,8] f32[10,3,8] f32[10,3,32] f32[256] f32[3,8] f32[3,8]";
  event.resultsCount = 3;
  event.numbers = {1 << 5};
  const LaunchWork one = workOf(event, LoweredModule(), 32);
  EXPECT_EQ(one.products, 2.0 * 10 * 3 * 32 * 8);
  EXPECT_EQ(one.calls, 10.0 * 3 * 8 * 5);
  EXPECT_EQ(one.rows, 3);
  EXPECT_EQ(one.weightBytes, 1024);
  EXPECT_EQ(one.weightReads, 10);
  EXPECT_EQ(one.dims, "10 x 3 x 8 x 32");
  EXPECT_EQ(siteOf(event), "here");
  // Read once from far away, then from where they came to lie: at 10 bytes a nanosecond, and at 40.
  MachineLimits limits = roundMachine();
  limits.weightsMiddle = 40;
  LaunchWork read;
  read.kind = LaunchKind::recurrence;
  read.weightBytes = 1000;
  read.weightReads = 5;
  EXPECT_EQ(timeOf(read, limits, {.weightsBytes = 1e9}).memoryNs, 1000 / 10.0 + 4 * 1000 / 40.0);
  // Both directions.
  event.shapes =
      "f32[3,8] f32[3,8] f32[10,3,8] f32[3,8] f32[3,8] f32[10,3,8] f32[10,3,32] f32[256] f32[3,8] f32[3,8] "
      "f32[10,3,32] f32[256] f32[3,8] f32[3,8]";
  event.resultsCount = 6;
  EXPECT_EQ(workOf(event, LoweredModule(), 32).products, 2 * one.products);
  EXPECT_EQ(workOf(event, LoweredModule(), 32).weightBytes, 2 * one.weightBytes);
}

TEST(Explain, FewRowsTakeAsLongAsSomeMore) {
  MachineLimits limits = roundMachine();
  LaunchWork work;
  work.kind = LaunchKind::gemm;
  work.products = 1000;
  work.rows = 1;
  const double alone = timeOf(work, limits, {}).computeNs;
  limits.fewRows = 4;
  EXPECT_EQ(timeOf(work, limits, {}).computeNs, 4 * alone);
  work.rows = 4;
  EXPECT_EQ(timeOf(work, limits, {}).computeNs, alone);
}

// What is counted of a kernel of one operation.
LaunchWork workOfKernel(const std::string& text, int64_t n) {
  IrContext ir;
  Result<Module> module = test::parseText(ir, text);
  EXPECT_TRUE(module.ok());
  Trace trace;
  Result<Module> placed = runPasses(*module, CompileOptions(), trace);
  EXPECT_TRUE(placed.ok());
  LowerOptions options;
  options.versions = *parseVersionPolicy("generic");
  Result<LoweredModule> lowered = lowerModule(*placed, options);
  EXPECT_TRUE(lowered.ok() && lowered->kernels.size() == 1);
  const loop::Kernel& kernel = lowered->kernels[0];
  DimBinding binding;
  binding.set(ir.dims().symbol("n").symbol(), n);
  TimelineEvent event;
  event.kind = "kernel";
  event.index = 0;
  const loop::Expr units = kernel.unitCount;
  event.scalars = {
      units.kind() == loop::ExprKind::dim ? *evaluate(units.dimValue(), binding) : units.intValue(), 1};
  for (Dim scalar : kernel.scalars) event.scalars.push_back(*evaluate(scalar, binding));
  return workOf(event, *lowered);
}

TEST(Explain, KernelsAreCountedFromTheirLoops) {
  for (int64_t n : {1, 7, 4096, 4097, 10000}) {  // blocks of 4096, the last one shorter
    const LaunchWork add = workOfKernel("fn @main(%x: Tensor[(n), f32]) { x + 1.0 }", n);
    EXPECT_EQ(add.operations, n);
    EXPECT_EQ(add.bytes, 8 * n + 4) << "x, the number and the result, with n = " << n;
    EXPECT_EQ(add.scattered, 0);
  }
  const LaunchWork turned =
      workOfKernel("fn @main(%x: Tensor[(n, 5), f32]) { %y = transpose(%x) return %y }", 300);
  EXPECT_EQ(turned.scattered, 5 * 300) << "its rows are read with a stride";
  const LaunchWork exp = workOfKernel("fn @main(%x: Tensor[(n), f32]) { exp(x) }", 100);
  EXPECT_EQ(exp.calls, 100);
}

class ExplainSession : public test::SessionFixture {
 protected:
  void SetUp() override {
    if (!canRun()) GTEST_SKIP() << "this build generates no code";
    ASSERT_TRUE(line(":set cache-dir " + folder_.path())->ok());
    MachineLimits limits = roundMachine();  // as if it had been measured
    limits.cpu = processorName();
    folder_.write("machine-limits-1.txt", printLimits(limits));
    ASSERT_TRUE(loadText("fn @main(%x: Tensor[(n, m), f32], %w: Tensor[(m, 64), f32]) "
                         "{ softmax(x, axis = -1) @ w }\n")
                    ->ok());
  }
};

TEST_F(ExplainSession, EveryKernelHasItsWorkAndItsBound) {
  auto outcome = line(":profile --explain --dim n=30 --dim m=50");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const KernelTable& table = *outcome->as<RunResult>()->profile;
  EXPECT_TRUE(table.explained);
  bool softmax = false, gemm = false;
  for (const KernelRow& row : table.rows) {
    if (row.kind != "kernel" && row.kind != "builtin") continue;
    EXPECT_THAT(row.bound, testing::AnyOf("memory", "compute", "overhead")) << row.name;
    EXPECT_GT(row.boundNs, 0) << row.name;
    if (row.name == "gemm") {
      gemm = true;
      EXPECT_EQ(row.operations, 2.0 * 30 * 50 * 64);
      EXPECT_EQ(row.dims, "30 x 50 x 64");
    } else {
      softmax = true;
      EXPECT_EQ(row.movedBytes, 2.0 * 30 * 50 * 4)
          << "each element read and written once, however often it is looked at";
      EXPECT_GE(row.calls, 30.0 * 50);
      EXPECT_THAT(row.dims, HasSubstr("m = 50"));
    }
  }
  EXPECT_TRUE(softmax && gemm);
}

// The rows that are taken count, not the table that they are taken from.
TEST_F(ExplainSession, ALookupMovesTheRowsItTakes) {
  ASSERT_TRUE(loadText("fn @main(%t: Tensor[(100000, 16), f32], %i: Tensor[(n), i64]) "
                       "{ gather(%t, %i) * 2.0 }\n")
                  ->ok());
  auto outcome = line(":profile --dim n=10 --input i=zeros");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const auto& result = *outcome->as<RunResult>();
  int64_t kernels = 0;
  for (const KernelRow& row : result.profile->rows) {
    if (row.kind != "kernel") continue;
    ++kernels;
    EXPECT_EQ(row.bytes, 2 * 10 * 16 * 4 + 10 * 8 + 4) << row.name << ": rows twice, indexes, the factor";
  }
  EXPECT_EQ(kernels, 1);
}

TEST_F(ExplainSession, APredictionAnswersAndScales) {
  auto at = [&](int64_t n) {
    auto outcome = line(":predict --dim m=50 --dim n=" + std::to_string(n));
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    return *outcome->as<PredictView>();
  };
  const PredictView small = at(100), large = at(100000);
  EXPECT_GT(small.timeNs, 0);
  EXPECT_GT(large.timeNs, 20 * small.timeNs);
  EXPECT_GT(large.peakBytes, 100 * small.peakBytes);
  auto run = line(":run --dim m=50 --dim n=100");
  EXPECT_EQ(run->as<RunResult>()->peakBytes, small.peakBytes);
}

TEST_F(ExplainSession, TheMachineIsMeasuredAgainWhenTheFileIsDamaged) {
  const std::string file = folder_ / "machine-limits-1.txt";
  auto contents = [&] {
    std::ifstream stream(file);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string first = contents();
  ASSERT_TRUE(line(":predict --dim n=1 --dim m=1")->ok());
  EXPECT_EQ(contents(), first) << "kept, not measured";
  folder_.write("machine-limits-1.txt", first.substr(0, first.size() / 2));
  ASSERT_TRUE(line(":predict --dim n=1 --dim m=1")->ok());
  Result<MachineLimits> measured = parseLimits(contents());
  ASSERT_TRUE(measured.ok()) << measured.error().toString();
  EXPECT_GT(measured->gemmOperations, 0.01);
  EXPECT_NE(contents(), first);
}

}  // namespace
}  // namespace dyn
