// Programs for some sizes beside the one for all (pass `variants`): the same results, and taken where their
// guard holds; rows are padded only where they stay apart.
#include <gmock/gmock.h>

#include "compiler/ir/walk.h"
#include "compiler/passes/analysis/batch_independence.h"
#include "compiler/passes/variants/variant_spec.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::expectClose;
using test::randomTensor;
using testing::HasSubstr;

const std::string kVariantsLayer = R"(fn @main(%x: Tensor[(b, n), f32], %w: Tensor[(n, 5), f32]) {
  %h = matmul(%x, %w)
  %p = softmax(%h) {axis = -1}
  %y = add(%p, %p)
  return %y, %x
})";

Result<std::unique_ptr<Compiled>> compiled(IrContext& context, const std::string& text,
                                           const std::string& variants, const std::string& buckets) {
  DYN_TRY(Module parsed, test::parseText(context, text));
  CompileOptions options;
  options.variants = variants;
  options.buckets = buckets;
  return Compiled::make(parsed, options);
}

std::vector<std::string> functionsOf(const Compiled& model) {
  std::vector<std::string> names;
  for (const Function* f : model.model->trace.find("variants")->after.functions) names.push_back(f->name);
  return names;
}

std::string whyMixed(const std::string& body, const std::string& parameters = "%x: Tensor[(b, n), f32]",
                     passes::RowNumbers numbers = passes::RowNumbers::kept) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, "fn @main(" + parameters + ") {\n" + body + "}\n");
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<InferredModule> inferred = inferTypes(*parsed);
  EXPECT_TRUE(inferred.ok()) << inferred.error().toString();
  return passes::batchIndependence(*inferred, context.dims().symbol("b").symbol(),
                                   passes::RowsInBodies::mixed, numbers)
      .whyNot;
}
std::string whyMovedMix(const std::string& body, const std::string& parameters = "%x: Tensor[(b, n), f32]") {
  return whyMixed(body, parameters, passes::RowNumbers::changed);
}

// Every run is compared with the program for all sizes, and the kernels launched tell which program ran.
TEST(Checklist, C32_BucketsArePaddedAndCutOffWithTheProgramForAllSizesBehind) {
  IrContext context, other;
  auto bucketed = compiled(context, kVariantsLayer, "", "b=8,4"),
       plain = compiled(other, kVariantsLayer, "", "");
  ASSERT_TRUE(bucketed.ok() && plain.ok()) << bucketed.error().toString();
  EXPECT_THAT(functionsOf(**bucketed),
              testing::ElementsAre("main", "main.b_4", "main.up_to_b_4", "main.b_8", "main.up_to_b_8"));
  for (int64_t n : {0, 1, 3, 17})
    for (int64_t b : {0, 1, 3, 4, 5, 7, 8, 9, 31}) {
      const std::vector<HostTensor> inputs = {randomTensor(Dtype::f32, {b, n}, static_cast<uint32_t>(b + n)),
                                              randomTensor(Dtype::f32, {n, 5}, 7)};
      Result<std::vector<HostTensor>> actual = (*bucketed)->run(inputs), expected = (*plain)->run(inputs);
      ASSERT_TRUE(actual.ok() && expected.ok()) << actual.error().toString();
      for (size_t i = 0; i < 2; ++i) expectClose((*actual)[i], (*expected)[i], "b = " + std::to_string(b));
      const bool padded = b > 0 && b < 8 && b != 4;
      dyn_statistics ours{}, theirs{};
      dyn_context_statistics((*bucketed)->context.get(), &ours);
      dyn_context_statistics((*plain)->context.get(), &theirs);
      EXPECT_EQ(ours.launches_count - theirs.launches_count, !padded ? 0 : n == 0 ? 1 : 3) << b << ", " << n;
    }
}

TEST(Checklist, M16_AStaticVariantStandsBesideTheProgramForAllSizes) {
  IrContext context, other;
  auto varied = compiled(context, kVariantsLayer, "n=17;n=3,b=2", ""),
       plain = compiled(other, kVariantsLayer, "", "");
  ASSERT_TRUE(varied.ok() && plain.ok()) << varied.error().toString();
  const Module& placed = (*varied)->model->trace.steps.back().after;
  const Function* both = placed.find("main.n_3.b_2");
  ASSERT_NE(both, nullptr);
  for (const Op* op : both->ops)
    for (const ValueDef& result : op->results)
      EXPECT_TRUE(symbolsOf(result.type).empty()) << result.type.toString();
  // What holds in a variant does not for the program.
  EXPECT_FALSE(context.facts().interval(context.dims().symbol("n")).high.has_value());
  EXPECT_EQ(placed.main()->parameters[0].type.toString(), "Tensor[(b, n), f32]");
  for (auto [b, n] : std::vector<std::pair<int64_t, int64_t>>{{2, 3}, {3, 3}, {4, 17}, {2, 16}, {0, 17}}) {
    const std::vector<HostTensor> inputs = {randomTensor(Dtype::f32, {b, n}, 3),
                                            randomTensor(Dtype::f32, {n, 5}, 4)};
    Result<std::vector<HostTensor>> actual = (*varied)->run(inputs), expected = (*plain)->run(inputs);
    ASSERT_TRUE(actual.ok() && expected.ok()) << actual.error().toString();
    expectClose((*actual)[0], (*expected)[0], "b = " + std::to_string(b) + ", n = " + std::to_string(n));
  }
}

// Constants that a guard compares with are used behind it, also where an earlier part of it did not hold.
TEST(Variants, TheProgramBehindAGuardFindsItsSizes) {
  const std::string text = R"(fn @main(%x: Tensor[(b, n), f32]) {
  %s = dims_value() {value = dims(4, 6, b)}
  %y = add(%x, %x)
  return %s, %y
})";
  IrContext context;
  auto varied = compiled(context, text, "n=6,b=4", "");
  ASSERT_TRUE(varied.ok()) << varied.error().toString();
  for (int64_t n : {3, 6})
    for (int64_t b : {0, 1, 4, 5}) {
      Result<std::vector<HostTensor>> results = (*varied)->run({randomTensor(Dtype::f32, {b, n}, 1)});
      ASSERT_TRUE(results.ok()) << results.error().toString();
      for (auto [i, size] : std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {1, 6}, {2, b}})
        EXPECT_EQ((*results)[0].intAt(i), size) << "b = " << b << ", n = " << n;
    }
}

TEST(Variants, ShareWeightsAlsoPackedOnes) {
  const std::string text = R"(fn @main(%x: Tensor[(b, 32), f32]) {
  %i = constant() {value = f32[32, 2] [)" +
                           [] {
                             std::string rows;
                             for (int i = 0; i < 32; ++i)
                               rows += std::string(i ? ", " : "") + "[" + std::to_string(i) + ", 1]";
                             return rows;
                           }() +
                           R"(]}
  %y = matmul(%x, %i)
  return %y
})";
  IrContext context, other;
  auto varied = compiled(context, text, "b=3;b=5", ""), plain = compiled(other, text, "", "");
  ASSERT_TRUE(varied.ok() && plain.ok()) << varied.error().toString();
  EXPECT_EQ((*varied)->model->lowered.constants.size(), (*plain)->model->lowered.constants.size());
  EXPECT_EQ((*varied)->model->lowered.program.globalCount, (*plain)->model->lowered.program.globalCount);
  EXPECT_GT((*plain)->model->lowered.program.globalCount, 0u);
}

TEST(Variants, TheReferenceTakesThem) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, kVariantsLayer);
  ASSERT_TRUE(parsed.ok());
  CompileOptions options;
  options.passes = "infer,variants";
  options.buckets = "b=4";
  options.verifyEach = true;
  Trace trace;
  Result<Module> varied = runPasses(*parsed, options, trace);
  ASSERT_TRUE(varied.ok()) << varied.error().toString();
  for (int64_t b : {0, 3, 4, 6}) {
    const std::vector<Value> inputs = {Value(randomTensor(Dtype::f32, {b, 2}, 1)),
                                       Value(randomTensor(Dtype::f32, {2, 5}, 2))};
    std::vector<std::string> ran;
    InterpreterOptions observed;
    observed.observer = [&](const Function& f, const Op&, std::span<const Value>) { ran.push_back(f.name); };
    Result<std::vector<Value>> expected = interpret(trace.find("infer")->after, inputs),
                               actual = interpret(*varied, inputs, observed);
    ASSERT_TRUE(expected.ok() && actual.ok()) << actual.error().toString();
    for (size_t i = 0; i < 2; ++i)
      expectClose((*actual)[i].tensor(), (*expected)[i].tensor(), "b = " + std::to_string(b));
    EXPECT_EQ(std::count(ran.begin(), ran.end(), "main.b_4") > 0, b == 3 || b == 4);
  }
}

TEST(Variants, RowsThatStayApart) {
  EXPECT_EQ(whyMixed("%y = relu(%x) return %y"), "");
  EXPECT_EQ(whyMixed("%y = transpose(%x) {perm = [1, 0]} %z = transpose(%y) {perm = [1, 0]} return %z"), "");
  EXPECT_EQ(whyMixed("%y = softmax(%x) {axis = 1} return %y"), "");
  EXPECT_EQ(whyMixed("%z = matmul(%x, %w) return %z", "%x: Tensor[(b, n), f32], %w: Tensor[(n, 4), f32]"),
            "");
  EXPECT_EQ(
      whyMixed("%z = gather(%t, %x) {axis = 0} return %z", "%t: Tensor[(v, 4), f32], %x: Tensor[(b), i64]"),
      "");
  // Joined with an axis behind them they are still whole.
  const std::string joined =
      "%s = constant() {value = i64[2] [-1, 4]} %y = reshape(%x, %s) %z = relu(%y) return %z";
  EXPECT_EQ(whyMixed(joined, "%x: Tensor[(b, 3, 4), f32]"), "");
}

// As exporters write masks: %x flattened, and looked up at row * n + column. `row` is made of %r = 0, 1, ...
std::string lookedUp(const std::string& row) {
  return "%s = shape(%x) %b = gather(%s, i64[] 0) %n = gather(%s, i64[] 1)\n"
         "%m = constant() {value = i64[1] [-1]} %flat = reshape(%x, %m)\n"
         "%r = range(i64[] 0, %b, i64[] 1) %row = " +
         row +
         "\n%c = range(i64[] 0, %n, i64[] 1) %from = unsqueeze(mul(%row, %n), i64[1] [1])\n"
         "%y = gather(%flat, add(%from, unsqueeze(%c, i64[1] [0]))) {axis = 0} return %y";
}

TEST(Variants, RowsThatAreLookedUpByRunningNumbers) {
  EXPECT_EQ(whyMixed(lookedUp("add(%r, i64[] 0)")), "");
  EXPECT_THAT(whyMixed(lookedUp("mul(%r, i64[] 0)")), HasSubstr("gather %y"));
  EXPECT_THAT(whyMixed(lookedUp("sub(sub(%b, i64[] 1), %r)")), HasSubstr("depends on how many there are"));
}

// Rows that others are put before: x[b] + b is another sum then.
TEST(Variants, RowsThatMayMove) {
  const std::string numbers =
      "%s = shape(%x) %b = gather(%s, i64[] 0) %r = unsqueeze(range(i64[] 0, %b, i64[] 1), i64[1] [1])\n"
      "%f = cast(%r) {to = f32} ";
  EXPECT_EQ(whyMixed(numbers + "%y = add(%x, %f) %z = relu(%y) return %z"), "");
  EXPECT_EQ(whyMovedMix(numbers + "%y = add(%x, %f) %z = relu(%y) return %z"),
            "the result z depends on which row it is");
  EXPECT_EQ(whyMovedMix(numbers + "%y = add(%x, sub(%f, %f)) %z = relu(%x) return %z"), "");
  EXPECT_EQ(whyMovedMix(numbers + "%y = reshape(add(%x, %f), i64[3] [0, -1, 1]) return %y"),
            "the result y depends on which row it is");
  EXPECT_EQ(whyMovedMix(lookedUp("add(%r, i64[] 0)")), "");
  EXPECT_EQ(whyMovedMix("%z = matmul(softmax(%x) {axis = 1}, %w) return %z",
                        "%x: Tensor[(b, n), f32], %w: Tensor[(n, 4), f32]"),
            "");
}

TEST(Variants, RowsThatMix) {
  EXPECT_THAT(whyMixed("%y = softmax(%x) {axis = 0} return %y"),
              HasSubstr("softmax %y (<text>:2:6) reads other rows"));
  EXPECT_THAT(whyMixed("%a = constant() {value = i64[1] [0]} %y = reduce_sum(%x, %a) return %y"),
              HasSubstr("reads other rows"));
  EXPECT_THAT(whyMixed("%z = matmul(%w, %x) return %z", "%x: Tensor[(b, n), f32], %w: Tensor[(4, b), f32]"),
              HasSubstr("reads other rows"));
  EXPECT_THAT(whyMixed("%y = transpose(%x) {perm = [1, 0]} %z = matmul(%x, %y) return %z"),
              HasSubstr("has several axes of b"));
  EXPECT_THAT(whyMixed("%s = shape(%x) %f = cast(%s) {to = f32} return %f"),
              HasSubstr("depends on how many"));
  EXPECT_THAT(whyMixed("%s = shape(%x) {end = 1} %f = cast(%s) {to = f32} %y = div(%x, %f) return %y"),
              HasSubstr("div %y (<text>:2:56) depends on how many there are"));
  EXPECT_THAT(whyMixed("%i = nonzero(%x) return %i"), HasSubstr("has no definition in loops"));
  // Joined with an axis before them they are not one after the other.
  const std::string joined = "%s = constant() {value = i64[2] [-1, 4]} %y = reshape(%x, %s) return %y";
  EXPECT_THAT(whyMixed(joined, "%x: Tensor[(3, b, 4), f32]"),
              HasSubstr("joins the rows with an axis before them"));
}

TEST(Variants, WhatIsAskedForWronglyIsNamed) {
  const auto fault = [](const std::string& variants, const std::string& buckets) {
    IrContext context;
    auto made = compiled(context, kVariantsLayer, variants, buckets);
    return made.ok() ? std::string("none") : made.error().toString();
  };
  EXPECT_THAT(fault("seq=3", ""), HasSubstr("a variant for seq: no input has a dim of that name"));
  EXPECT_THAT(fault("n", ""), HasSubstr("'n' is not of the form DIM=SIZE"));
  EXPECT_THAT(fault("n=0", ""), HasSubstr("'0' is not a size"));
  EXPECT_THAT(fault("n=3,n=4", ""), HasSubstr("gives n two sizes"));
  EXPECT_THAT(fault("", "b=4,x"), HasSubstr("'x' is not a size"));
  EXPECT_THAT(fault("", "b="), HasSubstr("names no size"));
  EXPECT_THAT(fault("", "n=4"),
              HasSubstr("unsupported: buckets of n: its rows depend on each other: matmul"));
}

}  // namespace
}  // namespace dyn
