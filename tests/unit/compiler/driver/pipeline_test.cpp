// Modules in text, compiled and interpreted: one artefact, many shapes.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

std::vector<std::vector<HostTensor>> shapes(std::vector<std::vector<int64_t>> list,
                                            Dtype dtype = Dtype::f32) {
  std::vector<std::vector<HostTensor>> sets;
  uint32_t seed = 1;
  for (std::vector<int64_t>& shape : list) sets.push_back({randomTensor(dtype, std::move(shape), seed++)});
  return sets;
}

TEST(Pipeline, elementwise) {
  expectSame("fn @main(%x: Tensor[(n, m), f32]) { relu(x) * 2.0 + x }",
             shapes({{0, 3}, {1, 1}, {2, 3}, {7, 13}, {64, 129}}));
}

TEST(Pipeline, broadcastOfUnknownDims) {
  expectSame(
      "fn @main(%x: Tensor[(n, m), f32], %y: Tensor[(k, m), f32]) { x + y }",
      {{randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {3, 5}, 2)},
       {randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {1, 5}, 2)},
       {randomTensor(Dtype::f32, {1, 5}, 1), randomTensor(Dtype::f32, {4, 5}, 2)},
       {randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {2, 5}, 2)}});  // an error in both
}

TEST(Pipeline, softmaxIsOneKernel) {
  const char* text = "fn @main(%x: Tensor[(n, m), f32]) { softmax(x, axis = -1) }";
  expectSame(text, shapes({{1, 1}, {2, 3}, {7, 13}, {3, 1000}, {0, 5}}));
}

TEST(Pipeline, reductions) {
  expectSame("fn @main(%x: Tensor[(n, m, k), f32]) { reduce_sum(x, [1], keepdims = 0), reduce_max(x, [-1]) }",
             shapes({{1, 1, 1}, {2, 3, 4}, {5, 7, 19}}));
}

TEST(Pipeline, matmulWithEpilogue) {
  expectSame(
      "fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(k, m), f32], %b: Tensor[(m), f32]) { relu(x @ w + b) }",
      {{randomTensor(Dtype::f32, {3, 5}, 1), randomTensor(Dtype::f32, {5, 7}, 2),
        randomTensor(Dtype::f32, {7}, 3)},
       {randomTensor(Dtype::f32, {0, 5}, 1), randomTensor(Dtype::f32, {5, 7}, 2),
        randomTensor(Dtype::f32, {7}, 3)},
       {randomTensor(Dtype::f32, {64, 100}, 1), randomTensor(Dtype::f32, {100, 33}, 2),
        randomTensor(Dtype::f32, {33}, 3)}});
}

TEST(Pipeline, ifTakesABranch) {
  const char* text = R"(fn @main(%c: Tensor[(), bool], %x: Tensor[(n), f32]) {
    %y = if(%c, %x) then (%p: Tensor[(n), f32]) { %q = relu(%p) return %q } else (%p2: Tensor[(n), f32]) { %q2 = neg(%p2) return %q2 }
    return %y
  })";
  HostTensor yes = HostTensor::scalarInt(Dtype::boolean, 1), no = HostTensor::scalarInt(Dtype::boolean, 0);
  expectSame(text, {{yes, randomTensor(Dtype::f32, {5}, 1)},
                    {no, randomTensor(Dtype::f32, {3}, 2)},
                    {no, randomTensor(Dtype::f32, {0}, 2)}});
}

TEST(Pipeline, loopCarriesAndScans) {
  const char* text = R"(fn @main(%t: Tensor[(), i64], %x: Tensor[(n), f32]) {
    %last, %all = loop(%t, _, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n), f32]) {
      %go = constant() {value = bool[] true}
      %b = mul(%a, %a)
      return %go, %b, %b
    }
    return %last, %all
  })";
  for (int64_t trips : {1, 3}) {
    SCOPED_TRACE(trips);
    expectSame(text, {{HostTensor::scalarInt(Dtype::i64, trips), randomTensor(Dtype::f32, {4}, 1)}});
  }
}

HostTensor pipelineNumbers(std::vector<int64_t> values) {
  HostTensor tensor = *HostTensor::create(Dtype::i64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.setInt(static_cast<int64_t>(i), values[i]);
  return tensor;
}

TEST(Pipeline, reshapeToAShapeThatIsAnInput) {
  const HostTensor x = randomTensor(Dtype::f32, {2, 3, 4}, 1);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [a, b] :
       std::vector<std::pair<int64_t, int64_t>>{{6, 4}, {-1, 8}, {3, -1}, {0, 12}, {0, -1}, {-1, 0}, {5, 5}})
    sets.push_back({x, pipelineNumbers({a, b})});
  sets.push_back({randomTensor(Dtype::f32, {0, 3, 4}, 1), pipelineNumbers({0, 12})});
  expectSame("fn @main(%x: Tensor[(n, m, k), f32], %s: Tensor[(2), i64]) { relu(reshape(x, s)) }", sets);
}

TEST(Pipeline, sizeComputedBySmallArithmetic) {
  const char* text = R"(fn @main(%i: Tensor[(n), i64], %d: Tensor[(), f32], %v: Tensor[(2), f32]) {
    %depth = cast(%d) {to = i64}
    %y = one_hot(%i, %depth, %v) {axis = 0}
    return %y
  })";
  for (double depth : {0.0, 3.0, 7.0})
    expectSame(text, {{randomTensor(Dtype::i64, {5}, 1), HostTensor::scalar(Dtype::f32, depth),
                       randomTensor(Dtype::f32, {2}, 2)}});
}

TEST(Pipeline, resultsOfDifferentShapes) {
  expectSame(
      "fn @main(%x: Tensor[(n, m), f32], %s: Tensor[(m), f32], %b: Tensor[(m), f32]) { "
      "%y, %mean, %deviation = layer_norm(%x, %s, %b) {axis = -1} return %y, %mean, %deviation }",
      {{randomTensor(Dtype::f32, {5, 7}, 1), randomTensor(Dtype::f32, {7}, 2),
        randomTensor(Dtype::f32, {7}, 3)}});
  expectSame(
      "fn @main(%x: Tensor[(7), f32]) { %k = constant() {value = i64[2] [2, 5]} "
      "%a, %b = split(%x, %k) {axis = 0} return %a, %b }",
      shapes({{7}}));
}

TEST(Pipeline, windowsOverThePadding) {
  expectSame(
      "fn @main(%x: Tensor[(n, 2, h, w), f32]) { %y = max_pool(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, "
      "1]} return %y }",
      shapes({{1, 2, 4, 5}, {2, 2, 1, 1}}));
}

TEST(Pipeline, castsUnderAByteWrap) {
  HostTensor x = *HostTensor::create(Dtype::f32, {5});
  for (int64_t i = 0; i < 5; ++i) x.setReal(i, static_cast<double>(i) * 7 - 15);
  for (const char* to : {"i4", "u4", "i2", "u2"})
    expectSame("fn @main(%x: Tensor[(n), f32]) { %y = cast(%x) {to = " + std::string(to) + "} return %y }",
               {{x}});
}

// Whole vectors of them, and a rest.
TEST(Pipeline, castsOfRealsSaturate) {
  const std::vector<double> values = {
      0,     -0.5, 0.5,  127.9,      128,        -128.9,        -129, 255.9, 256,  -1,    3e4,  32768,
      65535, 7e4,  -4e4, 2147483520, 2147483648, -2147483648.0, -3e9, 5e9,   1e30, -1e30, 12.7, std::nan("")};
  for (Dtype from : {Dtype::f32, Dtype::f64, Dtype::f16})
    for (const char* to : {"i8", "u8", "i16", "u16", "i32", "u32", "i64"}) {
      SCOPED_TRACE(to);
      HostTensor x = *HostTensor::create(from, {67});
      for (int64_t i = 0; i < 67; ++i) x.setReal(i, values[static_cast<size_t>(i) % values.size()]);
      x.setReal(66, std::numeric_limits<double>::infinity());
      x.setReal(65, -std::numeric_limits<double>::infinity());
      expectSame("fn @main(%x: Tensor[(n), " + std::string(toString(from)) +
                     "]) { %y = cast(%x) {to = " + to + "} return %y }",
                 {{x}});
    }
}

// A module with most things the passes look at: shape arithmetic, constants, repeated and dead operations, a
// matmul with an epilogue, softmax.
constexpr const char* kMixed = R"(fn @main(%x: Tensor[(batch, seq, 8), f32], %w: Tensor[(8, 6), f32]) {
  %two = constant() {value = f32[] 2}
  %half = reciprocal(%two)
  %dead = exp(%x)
  %s = shape(%x) {start = 0, end = 2}
  %tail = constant() {value = i64[2] [2, 3]}
  %target = concat(%s, %tail) {axis = 0}
  %a = relu(%x)
  %b = relu(%x)
  %m = matmul(%a, %w)
  %n = mul(%m, %half)
  %r = reshape(%n, %target)
  %p = softmax(%r) {axis = -1}
  %q = reduce_sum(%b, [1]) {keepdims = 0}
  return %p, %q
})";

std::vector<std::vector<HostTensor>> mixedInputs() {
  std::vector<std::vector<HostTensor>> sets;
  for (auto [batch, seq] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 7}, {3, 3}, {0, 5}, {5, 0}, {13, 17}})
    sets.push_back({randomTensor(Dtype::f32, {batch, seq, 8}, 7), randomTensor(Dtype::f32, {8, 6}, 8)});
  return sets;
}

class PassOff : public testing::TestWithParam<const char*> {};

TEST_P(PassOff, resultsAgree) {
  CompileOptions options;
  options.passes = GetParam();
  expectSame(kMixed, mixedInputs(), options);
}

INSTANTIATE_TEST_SUITE_P(Pipeline, PassOff,
                         testing::Values("", "-quantise", "-prepack", "-fold", "-simplify", "-cse", "-dce",
                                         "-fuse", "-attention", "-schedule", "-plan", "+fuse{max=2}",
                                         "infer,bufferize"));

// The axes of a mean over "all but the first two", as exporters write it: known, whichever of the two passes
// finds it out.
TEST(Pipeline, axesFromTheRank) {
  const char* text = R"(
    fn @main(%x: Tensor[(n, 2, h, w), f32]) {
      %s = shape(%x)
      %rank = size(%s)
      %two = constant() {value = i64[] 2}
      %one = constant() {value = i64[] 1}
      %axes = range(%two, %rank, %one)
      %y = reduce_mean(%x, %axes) {keepdims = 1}
      return %y
    })";
  for (const char* passes : {"", "-simplify", "-fold"}) {
    CompileOptions options;
    options.passes = passes;
    expectSame(text,
               {{randomTensor(Dtype::f32, {3, 2, 5, 1}, 1)}, {randomTensor(Dtype::f32, {1, 2, 1, 7}, 2)}},
               options);
  }
}

// Reductions in reductions share the names of their variables: the inner ones' stay theirs.
TEST(Pipeline, reductionsOfReductionsAlongOtherAxes) {
  expectSame(
      "fn @main(%x: Tensor[(a, c, b), f32]) { %s = softmax(%x) {axis = 1} %n = neg(%s) %y = softmax(%n) "
      "{axis = 2} return %y }",
      {{randomTensor(Dtype::f32, {1, 2, 2}, 1)},
       {randomTensor(Dtype::f32, {3, 5, 7}, 2)},
       {randomTensor(Dtype::f32, {2, 1, 3}, 3)}});
}

TEST(Pipeline, shapeArithmeticIsGone) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, kMixed);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  CompileOptions options;
  Result<CompiledModel> compiled = compileModel(*parsed, options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  for (const Op* op : compiled->trace.find("dce")->after.main()->ops) {
    EXPECT_NE(op->def->name, "shape");
    EXPECT_NE(op->def->name, "concat");
    EXPECT_NE(op->def->name, "exp");
    EXPECT_NE(op->def->name, "reciprocal");
  }
}

// What only repeats a number or a row is read where it lies, and dividing by a power of two is multiplying.
TEST(Pipeline, RepeatedOperandsAreNotMade) {
  const std::string text = R"(fn @main(%x: Tensor[(a, b), f32], %row: Tensor[(b), f32]) {
  %s = shape(%x)
  %low = constant_of_shape(%s) {value = f32[1] [-7]}
  %rows = expand(%row, %s)
  %eight = constant() {value = f32[1] [8]}
  %three = constant() {value = f32[] 3}
  %d = div(%x, %eight)
  %t = div(%d, %three)
  %c = less(%d, %rows)
  %y = where(%c, %low, %t)
  return %y
})";
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<CompiledModel> compiled = compileModel(*parsed, {});
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  std::map<std::string, int> count;
  for (const Op* op : compiled->trace.find("dce")->after.main()->ops) ++count[std::string(op->def->name)];
  EXPECT_EQ(count["expand"] + count["constant_of_shape"] + count["shape"], 0);
  EXPECT_EQ(count["div"], 1);
  EXPECT_EQ(count["mul"], 1);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [a, b] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 1}, {5, 17}, {0, 3}, {2, 0}})
    sets.push_back({randomTensor(Dtype::f32, {a, b}, 1), randomTensor(Dtype::f32, {b}, 2)});
  expectSame(text, sets, {}, 1e-7);
}

// Both sides of a product rounded to bf16, with an epilogue: what the reference does, and close to the exact
// product.
TEST(Pipeline, productsInBf16) {
  const char* text = R"(
    fn @main(%x: Tensor[(b, n, 67), f32], %w: Tensor[(67, 45), f32], %c: Tensor[(45), f32]) {
      %p = pack_b(%w) {dtype = bf16}
      %y = gemm_packed(%x, %p) {n = dims(45), k = dims(67)}
      %s = add(%y, %c)
      %r = relu(%s)
      return %r
    })";
  const HostTensor w = randomTensor(Dtype::f32, {67, 45}, 1), c = randomTensor(Dtype::f32, {45}, 2);
  std::vector<std::vector<HostTensor>> inputs;
  for (auto [b, n] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 13}, {3, 3}, {0, 5}, {2, 97}})
    inputs.push_back({randomTensor(Dtype::f32, {b, n, 67}, 3), w, c});
  expectSame(text, inputs);
}

// The pass packs so when it is asked to; every product with a constant then differs by no more than the
// rounding explains.
TEST(Pipeline, mathInBf16IsCloseToF32) {
  IrContext context;
  Result<Module> parsed = test::parseText(
      context, R"(
    fn @main(%x: Tensor[(n, 64), f32]) {
      %i = constant() {value = i64[64] [)" +
                   [] {
                     std::string all;
                     for (int i = 0; i < 64; ++i) all += (i ? ", " : "") + std::to_string(i * 37 % 64);
                     return all;
                   }() +
                   R"(]}
      %f = cast(%i) {to = f32}
      %k = constant() {value = f32[] 0.01171}
      %v = mul(%f, %k)
      %s = constant() {value = i64[2] [64, 1]}
      %column = reshape(%v, %s)
      %y = matmul(%x, %column)
      return %y
    })");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  const HostTensor x = randomTensor(Dtype::f32, {19, 64}, 1);
  std::vector<HostTensor> results;
  for (const char* math : {"fp32", "bf16"}) {
    CompileOptions options;
    options.math = math;
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    Result<std::vector<HostTensor>> y = (*compiled)->run({x});
    ASSERT_TRUE(y.ok()) << y.error().toString();
    results.push_back((*y)[0]);
  }
  EXPECT_FALSE(results[0].identical(results[1]));
  for (int64_t i = 0; i < results[0].elementCount(); ++i) {
    double sizes = 0;  // of the terms
    for (int64_t k = 0; k < 64; ++k)
      sizes += std::abs(x.realAt(i * 64 + k) * static_cast<double>(k * 37 % 64) * 0.01171);
    EXPECT_NEAR(results[1].realAt(i), results[0].realAt(i), sizes / 128) << i;
  }
}

// A chain of 50,000 operations, one kernel launch each: every level works in linear time and bounded stack.
TEST(Pipeline, longChain) {
  constexpr int kLength = 50000;
  std::string text = "fn @main(%x0: Tensor[(n), f32]) {\n";
  for (int i = 0; i < kLength; ++i)
    text += "%x" + std::to_string(i + 1) + " = neg(%x" + std::to_string(i) + ")\n";
  text += "return %x" + std::to_string(kLength) + "\n}";
  CompileOptions options;
  options.passes = "-fuse";
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  const HostTensor x = randomTensor(Dtype::f32, {3}, 1);
  Result<std::vector<HostTensor>> y = (*compiled)->run({x});
  ASSERT_TRUE(y.ok()) << y.error().toString();
  test::expectClose((*y)[0], x, "50,000 negations");
}

TEST(Pipeline, stringConstantsAreOperands) {
  IrContext context;
  Result<Module> parsed = test::parseText(context,
                                          "fn @main(%x: Tensor[(n), string]) { %d = constant() {value = "
                                          "string[1] [\"b\"]} %y = string_concat(%x, %d) return "
                                          "%y }");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  Result<std::vector<HostTensor>> y = (*compiled)->run({HostTensor::strings({2}, {"a", ""})});
  ASSERT_TRUE(y.ok()) << y.error().toString();
  EXPECT_EQ((*y)[0].stringValues(), (std::vector<std::string>{"ab", "b"}));
}

}  // namespace
// The transposes of attention become the products' own orders; one stays, as its value is also a result.
TEST(Pipeline, TransposesAroundProductsAreAbsorbed) {
  const std::string text = R"(
fn @main(%q: Tensor[(b, s, 3, 4), f32], %k: Tensor[(b, t, 3, 4), f32], %v: Tensor[(b, t, 3, 4), f32]) {
  %qt = transpose(%q) {perm = [0, -2, 1, -1]}
  %kt = transpose(%k) {perm = [0, 2, 3, 1]}
  %vt = transpose(%v) {perm = [0, 2, 1, 3]}
  %scores = matmul(%qt, %kt)
  %p = softmax(%scores) {axis = -1}
  %mixed = matmul(%p, %vt)
  %y = transpose(%mixed) {perm = [0, 2, 1, 3]}
  return %y, %vt
})";
  for (const auto& [b, s, t] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 7}, {2, 5, 5}, {3, 2, 37}, {1, 0, 3}, {2, 64, 33}})
    test::expectSame(text, {{test::randomTensor(Dtype::f32, {b, s, 3, 4}, 1),
                             test::randomTensor(Dtype::f32, {b, t, 3, 4}, 2),
                             test::randomTensor(Dtype::f32, {b, t, 3, 4}, 3)}});
}

// The builtin against the reference, on strides beyond the window, groups, dilations and pads.
TEST(Pipeline, TransposedConvolutions) {
  for (const std::string attributes :
       {"", "{strides = [2, 2]}", "{strides = [3, 2], dilations = [2, 1], pads = [1, 2, 0, 1]}",
        "{strides = [2, 1], output_padding = [1, 0], auto_pad = \"SAME_UPPER\"}", "{pads = [2, 2, 1, 1]}"}) {
    for (int64_t group : {1, 2}) {
      const std::string all = attributes.empty()
                                  ? "{group = " + std::to_string(group) + "}"
                                  : "{group = " + std::to_string(group) + ", " + attributes.substr(1);
      const std::string text =
          "fn @main(%x: Tensor[(n, 4, h, w), f32], %k: Tensor[(4, 3, 3, 2), f32], %b: Tensor[(m), f32]) { "
          "%y = conv_transpose(%x, %k, %b) " +
          all + " return %y }";
      for (const auto& [n, h, w] :
           {std::tuple<int64_t, int64_t, int64_t>{1, 4, 5}, {2, 3, 37}, {1, 1, 1}, {0, 2, 3}})
        test::expectSame(text, {{test::randomTensor(Dtype::f32, {n, 4, h, w}, 1),
                                 test::randomTensor(Dtype::f32, {4, 3, 3, 2}, 2),
                                 test::randomTensor(Dtype::f32, {3 * group}, 3)}});
    }
  }
}

// Moments over several axes are made once for each unit; what follows them runs over those axes inside.
TEST(Pipeline, MomentsOverSeveralAxes) {
  const std::string text = R"(
fn @main(%x: Tensor[(n, c, h, w), f32], %v: Tensor[(c), f32]) {
  %axes = constant() {value = i64[2] [2, 3]}
  %first = constant() {value = i64[1] [0]}
  %m = reduce_mean(%x, %axes) {keepdims = 1}
  %d = sub(%x, %m)
  %q = mul(%d, %d)
  %s = reduce_mean(%q, %axes) {keepdims = 1}
  %r = sqrt(%s)
  %y = div(%d, %r)
  %all = reduce_max(%v, %first) {keepdims = 1}
  %z = sub(%v, %all)
  return %y, %z
})";
  for (const auto& [n, c, h, w] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 2, 3, 17},
                                   {2, 3, 7, 16},
                                   {3, 1, 2, 5},
                                   {0, 2, 2, 2}})
    test::expectSame(
        text, {{test::randomTensor(Dtype::f32, {n, c, h, w}, 1), test::randomTensor(Dtype::f32, {c}, 2)}});
}

}  // namespace dyn
