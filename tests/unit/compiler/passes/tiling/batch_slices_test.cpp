// Regions of convolutions over slices of the batch: the reference's results, the bits of the whole batch,
// less memory.
#include <array>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/passes/layout/image_module.h"

namespace dyn {
namespace {

CompileOptions sliced(const std::string& bytes, const std::string& more = "") {
  CompileOptions options;
  options.passes = "+layout{regions=all},+batch_slices{bytes=" + bytes + "}" + more;
  return options;
}

CompileOptions whole() {
  CompileOptions options;
  options.passes = "+layout{regions=all},-batch_slices";
  return options;
}

int64_t loopsOf(const std::string& text, const CompileOptions& options) {
  return test::opsAfter(
      text, "batch_slices", [](const Op& op) { return op.def == &ops::loopOp; }, options);
}

TEST(BatchSlices, resultsAreThoseOfTheReference) {
  EXPECT_GE(loopsOf(test::residual(), sliced("4096")), 1);
  test::expectSame(test::residual(), test::images(3), sliced("4096"), 1e-3);
}

TEST(BatchSlices, theReferenceReadsThem) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, test::residual());
  ASSERT_TRUE(parsed.ok());
  Result<CompiledModel> compiled = compileModel(*parsed, sliced("4096"));
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  for (const std::vector<HostTensor>& inputs : test::images(3)) {
    const std::vector<Value> values(inputs.begin(), inputs.end());
    Result<std::vector<Value>> before = interpret(compiled->trace.find("batch_slices")->before, values);
    for (const char* pass : {"batch_slices", "bufferize", "plan"}) {
      Result<std::vector<Value>> after = interpret(compiled->trace.find(pass)->after, values);
      ASSERT_TRUE(before.ok() && after.ok()) << (before.ok() ? after : before).error().toString();
      for (size_t i = 0; i < before->size(); ++i)
        test::expectClose((*after)[i].tensor(), (*before)[i].tensor(), pass);
    }
  }
}

// Convolutions; between the first two and the last two the statement.
std::string batchSlicesAround(const std::string& statement) {
  return "fn @main(%x: Tensor[(n, 3, h, w), f32]) {\n" + test::constant("w0", {8, 3, 3, 3}, 1) +
         test::constant("w1", {8, 8, 3, 3}, 2) +
         "%zero = constant() {value = i64[1] [0]} %at = constant() {value = i64[1] [-1]}\n"
         "%a = conv(%x, %w0) {pads = [1, 1, 1, 1]} %b = conv(%a, %w1) {pads = [1, 1, 1, 1]}\n" +
         statement +
         "%d = conv(%c, %w1) {pads = [1, 1, 1, 1]} %e = conv(%d, %w1) {pads = [1, 1, 1, 1]}\nreturn %e }";
}

// Products of one row for each image, as squeeze and excite has them, are summed in another order for other
// numbers of rows, and so are images of a few pixels; all else is the same to the bit.
TEST(BatchSlices, bitsAreThoseOfTheWholeBatch) {
  const std::string text = batchSlicesAround(R"(
    %axes = constant() {value = i64[2] [2, 3]}
    %f = relu(%b)
    %g = reduce_mean(%f, %axes)
    %k = sub(%f, %g)
    %m = max_pool(%k) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %c = add(%a, %m)
  )");
  std::vector<std::vector<HostTensor>> sets = test::images(3);
  EXPECT_GE(loopsOf(text, sliced("4096")), 1);
  for (const char* bytes : {"1", "4096", "20000", "1000000000"})
    test::expectSameBits(text, sliced(bytes), whole(), sets);
  test::expectSameBits(text, sliced("4096"), whole(), sets, 2);
}

// Attention whose queries are a view of a convolution's result, made before the sliced operations: its
// elements do not lie side by side, and its slices are views of that result.
TEST(BatchSlices, slicesOfAViewAreViewsOfItsBase) {
  const std::string text = "fn @main(%x: Tensor[(n, 3, h, w), f32]) {\n" +
                           test::constant("w0", {48, 3, 1, 1}, 1) + test::constant("w1", {8, 16, 3, 3}, 2) +
                           test::constant("w2", {4, 8, 3, 3}, 3) + R"(
    %a = conv(%x, %w0)
    %hw = shape(%x) {start = 2}
    %five = concat(i64[3] [0, 2, 8], %hw) {axis = 0}
    %heads = constant() {value = i64[4] [0, 2, -1, 8]}
    %ks = reshape(slice(%a, i64[1] [16], i64[1] [32], i64[1] [1]), %five)
    %kt = reshape(transpose(%ks) {perm = [0, 1, 3, 4, 2]}, %heads)
    %k = add(%kt, reduce_mean(%kt, i64[1] [0]))
    %qs = reshape(slice(%a, i64[1] [0], i64[1] [16], i64[1] [1]), %five)
    %q = reshape(transpose(%qs) {perm = [0, 1, 3, 4, 2]}, %heads)
    %s = matmul(%q, %k) {transpose_b = 1}
    %p = softmax(mul(%s, f32[] 0.35)) {axis = -1}
    %vs = reshape(slice(%a, i64[1] [32], i64[1] [48], i64[1] [1]), %five)
    %vt = reshape(transpose(%vs) {perm = [0, 1, 3, 4, 2]}, %heads)
    %v = mul(%vt, reduce_mean(%vt, i64[1] [0]))
    %o = matmul(%p, %v)
    %t = reshape(%o, concat(i64[2] [0, 2], %hw, i64[1] [8]) {axis = 0})
    %u = transpose(%t) {perm = [0, 1, 4, 2, 3]}
    %c = reshape(%u, concat(i64[2] [0, 16], %hw) {axis = 0})
    %d = conv(%c, %w1) {pads = [1, 1, 1, 1]}
    %e = conv(%d, %w2) {strides = [2, 2]}
    return %e })";
  EXPECT_GE(loopsOf(text, sliced("4096")), 1);
  const auto readsAView = [](const Op& op) {
    return op.def == &ops::loopOp &&
           std::any_of(op.regions[0]->ops.begin(), op.regions[0]->ops.end(), [](const Op* inner) {
             return inner->def == &ops::stridedOp && !inner->attributes.dims("strides").back().isConstant(1);
           });
  };
  EXPECT_EQ(test::opsAfter(text, "batch_slices", readsAView, sliced("4096")), 1);
  for (const char* bytes : {"1", "4096", "1000000000"})
    test::expectSame(text, test::images(3), sliced(bytes), 1e-3);
}

// What reads other images, or which image it is, is not run by slices; what is before and behind it is.
TEST(BatchSlices, whatReadsOtherImagesSeesThemAll) {
  const std::string onePiece = batchSlicesAround("%c = relu(%b)\n");
  EXPECT_EQ(loopsOf(onePiece, sliced("4096")), 1);
  for (const char* statement :
       {"%m = reduce_mean(%b, %zero) %c = sub(%b, %m)\n", "%s = softmax(%b) {axis = 0} %c = mul(%b, %s)\n",
        "%r = cumsum(%b, %zero) %c = relu(%r)\n",
        "%p = transpose(%b) {perm = [1, 0, 2, 3]} %q = reduce_sum(%p, %at) {keepdims = 1} %r = transpose(%q) "
        "{perm "
        "= [1, 0, 2, 3]} %c = add(%b, %r)\n"}) {
    const std::string text = batchSlicesAround(statement);
    test::expectSame(text, test::images(3), sliced("4096"), 1e-3);
    test::expectSameBits(text, sliced("4096"), whole(), test::images(3));
  }
}

// Large images, then small ones: two regions.
std::string twoStages() {
  return batchSlicesAround(R"(
    %s = max_pool(%b) {kernel_shape = [4, 4], strides = [4, 4], pads = [1, 1, 2, 2]}
    %c = relu(%s)
  )");
}

TEST(BatchSlices, smallerImagesAreARegionOfTheirOwn) {
  EXPECT_EQ(loopsOf(twoStages(), sliced("4096")), 2);
  test::expectSame(twoStages(), test::images(3), sliced("4096"), 1e-3);
  test::expectSameBits(twoStages(), sliced("4096"), whole(), test::images(3));
}

// Bodies place their tensors in the memory of @main; the reference has no memory, and reads it all the same.
TEST(BatchSlices, bodiesUseTheArenaOfMain) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, twoStages());
  ASSERT_TRUE(parsed.ok());
  Result<CompiledModel> compiled = compileModel(*parsed, sliced("4096"));
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  const Module& planned = compiled->trace.find("plan")->after;
  int64_t arenas = 0, placed = 0;
  forEachOp(planned, [&](const Function& function, const Op& op) {
    arenas += op.def == &ops::arenaOp;
    placed += op.def == &ops::allocOp && !op.operands.empty() && function.name != "main";
  });
  EXPECT_EQ(arenas, 1);
  EXPECT_GE(placed, 2);
  for (const std::vector<HostTensor>& inputs : test::images(3)) {
    const std::vector<Value> values(inputs.begin(), inputs.end());
    Result<std::vector<Value>> expected = interpret(compiled->trace.find("infer")->after, values);
    Result<std::vector<Value>> actual = interpret(planned, values);
    ASSERT_TRUE(actual.ok() && expected.ok()) << (actual.ok() ? expected : actual).error().toString();
    test::expectClose((*actual)[0].tensor(), (*expected)[0].tensor(), "plan", 1e-3);
  }
}

// The program with numbers for its dims; 8 is also the number of channels.
std::string withSizes(std::string text, const std::string& batch, const std::string& height,
                      const std::string& width) {
  const std::string open = "(n, 3, h, w)";
  return text.replace(text.find(open), open.size(), "(" + batch + ", 3, " + height + ", " + width + ")");
}

TEST(BatchSlices, theBatchMayBeANumber) {
  const std::string reshaped = batchSlicesAround(R"(
    %wide = constant() {value = i64[4] [8, 8, 8, -1]}
    %square = constant() {value = i64[4] [8, 8, 16, 16]}
    %r = reshape(%b, %wide)
    %t = max_pool(%r) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
    %c = reshape(%t, %square)
  )");
  for (const std::string& program : {batchSlicesAround("%c = relu(%b)\n"), reshaped}) {
    const std::string text = withSizes(program, "8", "16", "16");
    EXPECT_GE(loopsOf(text, sliced("4096")), 1);
    EXPECT_EQ(loopsOf(text, sliced("100000000")), 0);  // all of it fits
    test::expectSame(text, {{test::randomTensor(Dtype::f32, {8, 3, 16, 16}, 1)}}, sliced("4096"), 1e-3);
    test::expectSame(withSizes(program, "8", "h", "w"), {{test::randomTensor(Dtype::f32, {8, 3, 16, 16}, 1)}},
                     sliced("4096"), 1e-3);
  }
  test::expectSame(withSizes(test::residual(), "8", "h", "w"),
                   {{test::randomTensor(Dtype::f32, {8, 3, 16, 16}, 1)}}, sliced("4096"), 1e-3);
  for (const char* statement :
       {"%m = reduce_mean(%b, %zero) %c = sub(%b, %m)\n", "%s = softmax(%b) {axis = 0} %c = mul(%b, %s)\n",
        "%r = cumsum(%b, %zero) %c = relu(%r)\n"}) {
    const std::string text = withSizes(batchSlicesAround(statement), "8", "9", "8");
    test::expectSame(text, {{test::randomTensor(Dtype::f32, {8, 3, 9, 8}, 1)}}, sliced("4096"), 1e-3);
  }
}

TEST(BatchSlices, aProgramOfProductsStaysWhole) {
  const std::string text = "fn @main(%x: Tensor[(n, s, 8), f32]) {\n" + test::constant("w", {8, 8}, 1) +
                           "%a = matmul(%x, %w) %b = relu(%a) %c = matmul(%b, %w) return %c }";
  EXPECT_EQ(loopsOf(text, sliced("1")), 0);
}

// Of a run, and what a dry run says of it.
std::array<uint64_t, 2> peaksOf(const std::string& text, const HostTensor& input,
                                const CompileOptions& options) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok());
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, options);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  std::array<uint64_t, 2> peaks{};
  for (int32_t dryRun : {0, 1}) {
    dyn_options vm{};
    vm.thread_count = 1;
    vm.dry_run = dryRun;
    dyn_context* raw = nullptr;
    EXPECT_EQ(dyn_context_create((*compiled)->module.get(), &vm, &raw), DYN_OK);
    (*compiled)->context.reset(raw);
    EXPECT_TRUE((*compiled)->run({input}).ok());
    dyn_statistics statistics{};
    EXPECT_EQ(dyn_context_statistics(raw, &statistics), DYN_OK);
    peaks[static_cast<size_t>(dryRun)] = statistics.peak_bytes;
  }
  return peaks;
}

TEST(BatchSlices, memoryIsThatOfASlice) {
  const HostTensor images = test::randomTensor(Dtype::f32, {16, 3, 32, 32}, 1);
  const auto [slices, foretold] = peaksOf(test::residual(), images, sliced("4096"));
  EXPECT_EQ(slices, foretold);
  EXPECT_LT(2 * slices, peaksOf(test::residual(), images, whole())[0]);
}

// What a single iteration has made is handed on: the input's 400,000 bytes and as many for the result.
TEST(BatchSlices, aListOfOneTensorIsJoinedWithoutACopy) {
  const std::string text =
      "fn @main(%x: Tensor[(n), f32]) { %y = relu(%x) %l = list(%y) %z = concat_from_sequence(%l) {axis = 0} "
      "return %z }";
  const auto [peak, foretold] = peaksOf(text, test::randomTensor(Dtype::f32, {100000}, 1), {});
  EXPECT_EQ(peak, foretold);
  EXPECT_LT(peak, 1'000'000u);
  EXPECT_GT(peak, 400'000u);
  test::expectSame(text,
                   {{test::randomTensor(Dtype::f32, {7}, 1)}, {test::randomTensor(Dtype::f32, {0}, 1)}});
}

}  // namespace
}  // namespace dyn
