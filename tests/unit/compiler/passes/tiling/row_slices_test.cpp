// Regions of image operations over slices of rows: the reference's results, the bits of whole images, less
// memory.
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/passes/layout/image_module.h"

namespace dyn {
namespace {

CompileOptions rowSlicesSliced(const std::string& bytes, const std::string& more = ",-batch_slices") {
  CompileOptions options;
  options.passes = "+layout{regions=all},+row_slices{bytes=" + bytes + ",image=0,regions=all}" + more;
  return options;
}

CompileOptions rowSlicesWhole() {
  CompileOptions options;
  options.passes = "+layout{regions=all},-row_slices,-batch_slices";
  return options;
}

int64_t rowSlicesLoopsOf(const std::string& text, const CompileOptions& options) {
  return test::opsAfter(
      text, "row_slices", [](const Op& op) { return op.def == &ops::loopOp; }, options);
}

// Wide enough for slices, too narrow for them, empty, of one row, of fewer rows than a window reaches.
std::vector<std::vector<HostTensor>> wideImages() {
  std::vector<std::vector<HostTensor>> sets = test::images(3);
  for (auto [n, h, w] : std::vector<std::array<int64_t, 3>>{
           {1, 31, 67}, {2, 37, 64}, {1, 1, 67}, {3, 2, 83}, {1, 5, 131}, {0, 40, 64}, {1, 64, 33}})
    sets.push_back({test::randomTensor(Dtype::f32, {n, 3, h, w}, 1)});
  return sets;
}

// A convolution, the statements, which make %z of %a with 8 channels, and what keeps %z an image.
std::string rowSlicesAround(const std::string& statements) {
  return "fn @main(%x: Tensor[(n, 3, h, w), f32]) {\n" + test::constant("w0", {8, 3, 3, 3}, 1) +
         test::constant("e", {24, 8, 1, 1}, 2) + test::constant("d3", {24, 1, 3, 3}, 3) +
         test::constant("d5", {24, 1, 5, 5}, 4) + test::constant("p", {8, 24, 1, 1}, 5) +
         test::constant("c3", {8, 8, 3, 3}, 6) + test::constant("b", {24}, 7) +
         "%axes = constant() {value = i64[2] [2, 3]}\n%a = conv(%x, %w0) {pads = [1, 1, 1, 1]}\n" +
         statements + "%m = reduce_mean(%z, %axes)\n%y = sub(%z, %m)\nreturn %y, %m }";
}

// Expand, depthwise, project: the window's attributes.
std::string rowSlicesResidual(const std::string& weights, const std::string& window) {
  return rowSlicesAround("%h = conv(%a, %e, %b) %i = relu(%h)\n%j = conv(%i, " + weights + ") {group = 24, " +
                         window + "}\n%k = relu(%j)\n%z = conv(%k, %p)\n");
}

TEST(RowSlices, bitsAreThoseOfWholeImages) {
  for (const auto& [weights, window] : std::vector<std::pair<std::string, std::string>>{
           {"%d3", "pads = [1, 1, 1, 1]"},
           {"%d3", "pads = [1, 1, 1, 1], strides = [2, 2]"},
           {"%d5", "pads = [2, 2, 2, 2]"},
           {"%d5", "pads = [2, 2, 2, 2], strides = [2, 1]"},
           {"%d5", "pads = [3, 2, 1, 2], strides = [3, 3]"},
           {"%d3", "pads = [2, 2, 2, 2], dilations = [2, 2]"},
           {"%d3", "pads = [6, 1, 6, 1]"},
           {"%d3", "pads = [4, 4, 4, 4], dilations = [4, 4], strides = [5, 1]"},
           {"%d3", "auto_pad = \"SAME_UPPER\", strides = [2, 2]"},
           {"%d5", "auto_pad = \"SAME_LOWER\", strides = [3, 2]"}}) {
    const std::string text = rowSlicesResidual(weights, window);
    EXPECT_GE(rowSlicesLoopsOf(text, rowSlicesSliced("4096")), 1) << window;
    SCOPED_TRACE(window);
    test::expectSameBits(text, rowSlicesSliced("20000"), rowSlicesWhole(), wideImages());
  }
}

// Several windows behind each other, values that are read at several rows, pools, two results.
std::string chain() {
  return rowSlicesAround(R"(
    %h = conv(%a, %e, %b) %i = relu(%h)
    %j = conv(%i, %d3) {group = 24, pads = [1, 1, 1, 1]}
    %k = conv(%j, %p)
    %q = add(%a, %k)
    %r = conv(%q, %c3) {pads = [2, 2, 2, 2], dilations = [2, 2]}
    %s = add(%q, %r)
    %t = max_pool(%s) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %u = average_pool(%t) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %v = sub(%u, %s)
    %z = relu(%v)
  )");
}

TEST(RowSlices, windowsBehindEachOtherAndPools) {
  EXPECT_GE(rowSlicesLoopsOf(chain(), rowSlicesSliced("4096")), 1);
  for (const char* bytes : {"1", "20000", "100000"})
    test::expectSameBits(chain(), rowSlicesSliced(bytes), rowSlicesWhole(), wideImages());
}

TEST(RowSlices, threadsAndBatchSlices) {
  for (const std::string& text :
       {chain(), rowSlicesResidual("%d3", "pads = [1, 1, 1, 1], strides = [2, 2]")}) {
    test::expectSameBits(text, rowSlicesSliced("20000"), rowSlicesWhole(), wideImages(), 2);
    test::expectSameBits(text, rowSlicesSliced("20000", ",+batch_slices{bytes=30000}"), rowSlicesWhole(),
                         wideImages());
  }
}

TEST(RowSlices, resultsAreThoseOfTheReference) {
  test::expectSame(chain(), wideImages(), rowSlicesSliced("20000"), 1e-3);
  test::expectSame(test::residual(), test::images(3), rowSlicesSliced("4096"), 1e-3);
}

TEST(RowSlices, theReferenceReadsThem) {
  for (const std::string& text :
       {chain(), rowSlicesResidual("%d5", "pads = [3, 2, 1, 2], strides = [3, 3]")}) {
    IrContext context;
    Result<Module> parsed = test::parseText(context, text);
    ASSERT_TRUE(parsed.ok());
    Result<CompiledModel> compiled = compileModel(*parsed, rowSlicesSliced("20000"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    for (const std::vector<HostTensor>& inputs : wideImages()) {
      const std::vector<Value> values(inputs.begin(), inputs.end());
      Result<std::vector<Value>> before = interpret(compiled->trace.find("row_slices")->before, values);
      for (const char* pass : {"row_slices", "bufferize", "plan"}) {
        Result<std::vector<Value>> after = interpret(compiled->trace.find(pass)->after, values);
        ASSERT_TRUE(before.ok() && after.ok()) << (before.ok() ? after : before).error().toString();
        for (size_t i = 0; i < before->size(); ++i)
          test::expectClose((*after)[i].tensor(), (*before)[i].tensor(), pass);
      }
    }
  }
}

// Sizes that are numbers, also where the batch is one or none.
TEST(RowSlices, sizesMayBeNumbers) {
  for (const char* shape : {"(2, 3, 37, 64)", "(1, 3, 64, 33)", "(1, 3, h, 40)", "(n, 3, 21, w)"}) {
    std::string text = chain();
    const std::string open = "(n, 3, h, w)";
    text.replace(text.find(open), open.size(), shape);
    EXPECT_GE(rowSlicesLoopsOf(text, rowSlicesSliced("4096")), 1) << shape;
    const bool two = shape[1] == '2', tall = std::string(shape).find("64, 33") != std::string::npos;
    const std::vector<int64_t> sizes = two    ? std::vector<int64_t>{2, 3, 37, 64}
                                       : tall ? std::vector<int64_t>{1, 3, 64, 33}
                                              : std::vector<int64_t>{1, 3, 21, 40};
    test::expectSameBits(text, rowSlicesSliced("20000"), rowSlicesWhole(),
                         {{test::randomTensor(Dtype::f32, sizes, 1)}});
  }
}

// By cost, regions are pairs and inverted residuals whose planes leave the caches.
TEST(RowSlices, costChoosesLargePlanes) {
  const std::string text = rowSlicesResidual("%d3", "pads = [1, 1, 1, 1], strides = [2, 2]");
  CompileOptions options;
  options.passes = "+layout{regions=all},+row_slices{bytes=700000,image=1000000},-batch_slices";
  EXPECT_EQ(rowSlicesLoopsOf(text, options), 1);
  options.passes = "+layout{regions=all},+row_slices{bytes=1000000000},-batch_slices";
  EXPECT_EQ(rowSlicesLoopsOf(text, options), 0);
  options = rowSlicesWhole();
  EXPECT_EQ(test::opsAfter(
                text, "bufferize", [](const Op& op) { return op.def == &ops::loopOp; }, options),
            0);
}

TEST(RowSlices, optionsAreChecked) {
  for (const char* option : {"bytes=0", "bytes=x", "image=-1", "regions=some"}) {
    IrContext context;
    Result<Module> parsed = test::parseText(context, chain());
    ASSERT_TRUE(parsed.ok());
    CompileOptions options;
    options.passes = "+row_slices{" + std::string(option) + "}";
    const Result<CompiledModel> compiled = compileModel(*parsed, options);
    ASSERT_FALSE(compiled.ok()) << option;
    EXPECT_NE(compiled.error().toString().find("row_slices: "), std::string::npos) << option;
  }
}

uint64_t peakOf(const std::string& text, const HostTensor& input, const CompileOptions& options,
                int32_t dryRun) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok());
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, options);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  dyn_options vm{};
  vm.thread_count = 1;
  vm.dry_run = dryRun;
  dyn_context* raw = nullptr;
  EXPECT_EQ(dyn_context_create((*compiled)->module.get(), &vm, &raw), DYN_OK);
  (*compiled)->context.reset(raw);
  EXPECT_TRUE((*compiled)->run({input}).ok());
  dyn_statistics statistics{};
  EXPECT_EQ(dyn_context_statistics(raw, &statistics), DYN_OK);
  return statistics.peak_bytes;
}

TEST(RowSlices, memoryIsThatOfASlice) {
  const std::string text = rowSlicesResidual("%d3", "pads = [1, 1, 1, 1], strides = [2, 2]");
  const HostTensor image = test::randomTensor(Dtype::f32, {1, 3, 128, 128}, 1);
  const uint64_t slices = peakOf(text, image, rowSlicesSliced("20000"), 0);
  EXPECT_EQ(slices, peakOf(text, image, rowSlicesSliced("20000"), 1));
  EXPECT_LT(3 * slices, 2 * peakOf(text, image, rowSlicesWhole(), 0));
}

}  // namespace
}  // namespace dyn
