// Products of dequantised bytes: integer products where the pass `quantise` is on, and the same numbers where
// it is off.
#include <map>

#include "compiler/ir/walk.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::withType;

// Any bytes, the least and the greatest among them.
HostTensor quantisedBytes(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    tensor.setInt(i, static_cast<int64_t>(random() % 256) - (dtype == Dtype::i8 ? 128 : 0));
  return tensor;
}

int64_t integerProducts(const std::string& text) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok());
  Trace trace;
  CompileOptions options;
  options.passes = "infer,quantise";
  Result<Module> changed = runPasses(*parsed, options, trace);
  EXPECT_TRUE(changed.ok());
  int64_t count = 0;
  forEachOp(*changed, [&](const Function&, const Op& op) {
    count += op.def == &ops::matmul_integerOp || op.def == &ops::conv_integerOp;
  });
  return count;
}

// Scales are powers of two, so both ways compute the same numbers, ties of the rounding included.
void expectAgreement(const std::string& text, const std::vector<std::vector<HostTensor>>& inputs) {
  for (const char* passes : {"", "-quantise", "-prepack", "-fuse", "-fold"}) {
    SCOPED_TRACE(passes);
    CompileOptions options;
    options.passes = passes;
    expectSame(text, inputs, options);
  }
}

constexpr const char* kQuantisedLayer = R"(fn @main(%x: Tensor[(n, 3), TYPE], %b: Tensor[(2), f32]) {
  %s = constant() {value = f32[] 0.0625}
  %z = constant() {value = TYPE[] 7}
  %a = dequantize_linear(%x, %s, %z)
  %q = constant() {value = i8[3, 2] [[-128, 127], [5, -6], [100, 1]]}
  %sw = constant() {value = f32[2] [0.5, 0.25]}
  %zw = constant() {value = i8[2] [0, 3]}
  %w = dequantize_linear(%q, %sw, %zw) {axis = 1}
  %m = matmul(%a, %w)
  %h = add(%m, %b)
  %r = relu(%h)
  %y = quantize_linear(%r, %s, %z)
  return %r, %y
})";

TEST(Quantised, layersOfBytes) {
  for (auto [name, dtype] : {std::pair{"u8", Dtype::u8}, std::pair{"i8", Dtype::i8}}) {
    const std::string text = withType(kQuantisedLayer, name);
    EXPECT_EQ(integerProducts(text), 1);
    std::vector<std::vector<HostTensor>> sets;
    for (int64_t n : {0, 1, 2, 13, 64})
      sets.push_back({quantisedBytes(dtype, {n, 3}, 1), test::randomTensor(Dtype::f32, {2}, 2)});
    expectAgreement(text, sets);
  }
}

TEST(Quantised, bothSidesAreInputsAndTransposed) {
  const std::string text =
      R"(fn @main(%x: Tensor[(b, n, k), u8], %v: Tensor[(b, m, k), u8], %z: Tensor[(), u8]) {
    %s = constant() {value = f32[1] [0.125]}
    %a = dequantize_linear(%x, %s, %z)
    %c = dequantize_linear(%v, %s)
    %t = transpose(%c) {perm = [0, 2, 1]}
    %y = matmul(%a, %t)
    %u = matmul(%a, %c) {transpose_b = 1}
    return %y, %u
  })";
  EXPECT_EQ(integerProducts(text), 2);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [b, n, k, m] :
       {std::array<int64_t, 4>{2, 3, 5, 7}, {1, 1, 1, 1}, {3, 17, 33, 40}, {2, 4, 0, 3}, {0, 2, 2, 2}})
    sets.push_back({quantisedBytes(Dtype::u8, {b, n, k}, 1), quantisedBytes(Dtype::u8, {b, m, k}, 2),
                    HostTensor::scalar(Dtype::u8, 255)});
  expectAgreement(text, sets);
}

TEST(Quantised, convolutions) {
  const std::string text = withType(
      R"(fn @main(%x: Tensor[(n, 2, h, w), TYPE], %q: Tensor[(4, 2, 3, 3), i8], %b: Tensor[(4), f32]) {
    %s = constant() {value = f32[] 0.0625}
    %z = constant() {value = TYPE[] 9}
    %a = dequantize_linear(%x, %s, %z)
    %sw = constant() {value = f32[4] [0.5, 0.25, 0.125, 1]}
    %f = dequantize_linear(%q, %sw) {axis = 0}
    %c = conv(%a, %f, %b) {pads = [1, 1, 1, 1], strides = [1, 2]}
    %r = relu(%c)
    %y = quantize_linear(%r, %s, %z)
    return %y, %r
  })",
      "u8");
  EXPECT_EQ(integerProducts(text), 1);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 71}, {0, 4, 4}})
    sets.push_back({quantisedBytes(Dtype::u8, {n, 2, h, w}, 1), quantisedBytes(Dtype::i8, {4, 2, 3, 3}, 2),
                    test::randomTensor(Dtype::f32, {4}, 3)});
  expectAgreement(text, sets);
}

// How many kernels there are at the end.
int64_t kernelsOf(const std::string& text, const CompileOptions& options = {}) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok());
  Result<CompiledModel> compiled = compileModel(*parsed, options);
  EXPECT_TRUE(compiled.ok());
  return static_cast<int64_t>(compiled->lowered.kernels.size());
}

// Sums become bytes in the epilogue of their product, with what is added between.
TEST(Quantised, sumsBecomeBytesWhereTheyAreMade) {
  const std::string text =
      R"(fn @main(%x: Tensor[(n, 4, h, w), u8], %q: Tensor[(6, 4, 3, 3), i8], %b: Tensor[(6), f32], %r: Tensor[(n, 6, h, w), u8], %d: Tensor[(6, 1, 3, 3), i8]) {
    %s = constant() {value = f32[] 0.0625}
    %z = constant() {value = u8[] 9}
    %o = constant() {value = f32[] 8}
    %a = dequantize_linear(%x, %s, %z)
    %sw = constant() {value = f32[6] [0.5, 0.25, 0.125, 1, 0.5, 2]}
    %f = dequantize_linear(%q, %sw) {axis = 0}
    %c = conv(%a, %f, %b) {pads = [1, 1, 1, 1]}
    %l = dequantize_linear(%r, %s, %z)
    %t = add(%c, %l)
    %u = relu(%t)
    %v = quantize_linear(%u, %o, %z)
    %e = dequantize_linear(%v, %o, %z)
    %g = dequantize_linear(%d, %sw) {axis = 0}
    %k = conv(%e, %g) {pads = [1, 1, 1, 1], strides = [2, 2], group = 6}
    %y = quantize_linear(%k, %o, %z)
    return %y
  })";
  EXPECT_EQ(integerProducts(text), 2);
  EXPECT_EQ(kernelsOf(text), 2);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 71}, {0, 4, 4}, {1, 130, 130}})
    sets.push_back({quantisedBytes(Dtype::u8, {n, 4, h, w}, 1), quantisedBytes(Dtype::i8, {6, 4, 3, 3}, 2),
                    test::randomTensor(Dtype::f32, {6}, 3), quantisedBytes(Dtype::u8, {n, 6, h, w}, 4),
                    quantisedBytes(Dtype::i8, {6, 1, 3, 3}, 5)});
  expectAgreement(text, sets);
}

// Bytes between two operations of an epilogue are none in memory.
TEST(Quantised, bytesWithinAnEpilogue) {
  const std::string text =
      R"(fn @main(%x: Tensor[(n, 4, h, w), u8], %q: Tensor[(6, 4, 3, 3), i8], %r: Tensor[(n, 6, h, w), u8]) {
    %s = constant() {value = f32[] 0.0625}
    %z = constant() {value = u8[] 9}
    %o = constant() {value = f32[] 8}
    %a = dequantize_linear(%x, %s, %z)
    %f = dequantize_linear(%q, %s)
    %c = conv(%a, %f) {pads = [1, 1, 1, 1]}
    %v = quantize_linear(%c, %o, %z)
    %e = dequantize_linear(%v, %o, %z)
    %l = dequantize_linear(%r, %s, %z)
    %t = add(%e, %l)
    %y = quantize_linear(%t, %o, %z)
    return %y
  })";
  EXPECT_EQ(kernelsOf(text), 1);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 71}, {0, 4, 4}})
    sets.push_back({quantisedBytes(Dtype::u8, {n, 4, h, w}, 1), quantisedBytes(Dtype::i8, {6, 4, 3, 3}, 2),
                    quantisedBytes(Dtype::u8, {n, 6, h, w}, 4)});
  expectAgreement(text, sets);
}

// How many looks into tables of bytes there are after the pass.
int64_t lookupsOf(const std::string& text) {
  return test::opsAfter(text, "quantise", [](const Op& op) { return op.def == &ops::gatherOp; });
}

// Functions of one byte are tables, also by way of other bytes, alone and behind a product. All numbers are
// such that f32 has them exactly.
TEST(Quantised, functionsOfOneByteAreTables) {
  const std::string text = R"(fn @main(%x: Tensor[(n, h), TYPE], %q: Tensor[(h, 5), i8]) {
    %s = constant() {value = f32[] 0.25}
    %z = constant() {value = TYPE[] 9}
    %o = constant() {value = f32[] 16}
    %a = dequantize_linear(%x, %s, %z)
    %r = relu(%a)
    %m = quantize_linear(%r, %s, %z)
    %b = dequantize_linear(%m, %s, %z)
    %c = mul(%a, %b)
    %y = quantize_linear(%c, %o, %z)
    %w = dequantize_linear(%q, %s)
    %d = matmul(%a, %w)
    %e = quantize_linear(%d, %o, %z)
    %f = dequantize_linear(%e, %o, %z)
    %g = abs(%f)
    %i = add(%f, %g)
    %k = quantize_linear(%i, %o, %z)
    return %y, %k
  })";
  for (auto [name, dtype] : {std::pair{"u8", Dtype::u8}, std::pair{"i8", Dtype::i8}}) {
    const std::string typed = withType(text, name);
    EXPECT_GE(lookupsOf(typed), 2);
    EXPECT_EQ(kernelsOf(typed), 2);  // the look, and the product's epilogue with its own
    std::vector<std::vector<HostTensor>> sets;
    for (auto [n, h] : {std::array<int64_t, 2>{1, 1}, {0, 3}, {17, 131}, {64, 64}})
      sets.push_back({quantisedBytes(dtype, {n, h}, 1), quantisedBytes(Dtype::i8, {h, 5}, 2)});
    expectAgreement(typed, sets);
  }
}

// No tables of what follows from two bytes, from no reals, or from a vector of scales.
TEST(Quantised, whatIsNoTable) {
  EXPECT_EQ(lookupsOf(R"(fn @main(%x: Tensor[(n), u8], %v: Tensor[(n), u8], %t: Tensor[(n), f32]) {
    %s = constant() {value = f32[] 0.25}
    %a = dequantize_linear(%x, %s)
    %b = dequantize_linear(%v, %s)
    %c = sigmoid(%a)
    %d = mul(%c, %b)
    %y = quantize_linear(%d, %s)
    %e = max(%x, %v)
    %g = mul(%c, %t)
    %k = quantize_linear(%g, %s)
    return %y, %e, %k
  })"),
            0);
}

// A bias of i32 in units of both scales is added to the sums: exact where f32 has no room for it.
TEST(Quantised, biasesAreAddedToSums) {
  const std::string text =
      R"(fn @main(%x: Tensor[(n, 2, h, w), u8], %q: Tensor[(3, 2, 3, 3), i8], %p: Tensor[(2, 4), i8]) {
    %s = constant() {value = f32[] 0.5}
    %sw = constant() {value = f32[3] [0.5, 0.25, 1]}
    %unit = constant() {value = f32[3] [0.25, 0.125, 0.5]}
    %i = constant() {value = i32[3] [16777217, -16777219, 5]}
    %o = constant() {value = f32[] 4194304}
    %a = dequantize_linear(%x, %s)
    %f = dequantize_linear(%q, %sw) {axis = 0}
    %b = dequantize_linear(%i, %unit) {axis = 0}
    %c = conv(%a, %f, %b) {pads = [1, 1, 1, 1]}
    %r = relu(%c)
    %y = quantize_linear(%r, %o)
    %v = dequantize_linear(%p, %s)
    %t = transpose(%a) {perm = [0, 2, 3, 1]}
    %m = matmul(%t, %v)
    %j = constant() {value = i32[4] [1, -2, 300, 4]}
    %g = dequantize_linear(%j, %quarter)
    %k = add(%m, %g)
    return %y, %k
  })";
  std::string typed = text;
  typed.insert(typed.find("    %g ="), "    %quarter = constant() {value = f32[] 0.25}\n");
  EXPECT_EQ(test::opsAfter(typed, "quantise",
                           [](const Op& op) {
                             return op.def == &ops::addOp && op.results[0].type.dtype() == Dtype::i32;
                           }),
            2);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 31}, {0, 4, 4}})
    sets.push_back({quantisedBytes(Dtype::u8, {n, 2, h, w}, 1), quantisedBytes(Dtype::i8, {3, 2, 3, 3}, 2),
                    quantisedBytes(Dtype::i8, {2, 4}, 3)});
  expectAgreement(typed, sets);
}

// Two readers of dequantised bytes read the bytes.
TEST(Quantised, readersOfRealsReadTheBytes) {
  const std::string text = R"(fn @main(%x: Tensor[(n, 4, h, w), u8], %q: Tensor[(6, 4, 1, 1), i8]) {
    %s = constant() {value = f32[] 0.0625}
    %z = constant() {value = u8[] 9}
    %o = constant() {value = f32[] 8}
    %a = dequantize_linear(%x, %s, %z)
    %f = dequantize_linear(%q, %s)
    %c = conv(%a, %f)
    %v = quantize_linear(%c, %o, %z)
    %e = dequantize_linear(%v, %o, %z)
    %axes = constant() {value = i64[2] [2, 3]}
    %m = reduce_max(%e, %axes) {keepdims = 1}
    %t = mul(%e, %m)
    return %t
  })";
  EXPECT_EQ(kernelsOf(text), 2);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 31}})
    sets.push_back({quantisedBytes(Dtype::u8, {n, 4, h, w}, 1), quantisedBytes(Dtype::i8, {6, 4, 1, 1}, 2)});
  expectAgreement(text, sets);
}

// Two products side by side: each makes its bytes, which are then put together.
TEST(Quantised, bytesOfTwoProductsAreConcatenated) {
  const std::string text =
      R"(fn @main(%x: Tensor[(n, 4, h, w), u8], %q: Tensor[(6, 4, 3, 3), i8], %p: Tensor[(2, 4, 1, 1), i8]) {
    %s = constant() {value = f32[] 0.0625}
    %z = constant() {value = u8[] 9}
    %o = constant() {value = f32[] 8}
    %a = dequantize_linear(%x, %s, %z)
    %f = dequantize_linear(%q, %s)
    %g = dequantize_linear(%p, %s)
    %c = conv(%a, %f) {pads = [1, 1, 1, 1]}
    %d = conv(%a, %g)
    %u = quantize_linear(%c, %o, %z)
    %v = quantize_linear(%d, %o, %z)
    %k = dequantize_linear(%u, %o, %z)
    %l = dequantize_linear(%v, %o, %z)
    %t = concat(%k, %l) {axis = 1}
    %y = quantize_linear(%t, %s, %z)
    return %y
  })";
  EXPECT_EQ(kernelsOf(text), 3);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 71}, {0, 4, 4}})
    sets.push_back({quantisedBytes(Dtype::u8, {n, 4, h, w}, 1), quantisedBytes(Dtype::i8, {6, 4, 3, 3}, 2),
                    quantisedBytes(Dtype::i8, {2, 4, 1, 1}, 3)});
  expectAgreement(text, sets);
}

// What the epilogue cannot see in rows is made bytes behind the product, from memory of its own.
TEST(Quantised, sumsBecomeBytesBehindTheirProduct) {
  const std::string text =
      R"(fn @main(%x: Tensor[(n, 4, h, w), u8], %q: Tensor[(6, 4, 3, 3), i8], %o: Tensor[(w), f32]) {
    %s = constant() {value = f32[] 0.0625}
    %a = dequantize_linear(%x, %s)
    %f = dequantize_linear(%q, %s)
    %c = conv(%a, %f) {pads = [1, 1, 1, 1]}
    %y = quantize_linear(%c, %o) {axis = 3}
    return %y
  })";
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 71}, {0, 4, 4}}) {
    HostTensor scales = *HostTensor::create(Dtype::f32, {w});
    for (int64_t i = 0; i < w; ++i) scales.setReal(i, i % 3 == 0 ? 4 : 0.5);
    sets.push_back(
        {quantisedBytes(Dtype::u8, {n, 4, h, w}, 1), quantisedBytes(Dtype::i8, {6, 4, 3, 3}, 2), scales});
  }
  expectAgreement(text, sets);
}

// [from, from + 1, ...] of that shape as a literal, each in -7..7.
std::string quantisedLiteral(std::span<const int64_t> shape, int64_t& next) {
  if (shape.empty()) return std::to_string(next++ * 5 % 15 - 7);
  std::string text;
  for (int64_t i = 0; i < shape[0]; ++i)
    text += (text.empty() ? "[" : ", ") + quantisedLiteral(shape.subspan(1), next);
  return text + "]";
}

TEST(Quantised, constantWeightsStandWithTheirChannelsLast) {
  int64_t next = 0;
  const std::vector<int64_t> shape = {6, 4, 3, 2};
  const std::string text =
      "fn @main(%x: Tensor[(n, 8, h, w), u8], %z: Tensor[(), u8]) {\n  %k = constant() {value = i8[6, 4, 3, "
      "2] " +
      quantisedLiteral(shape, next) +
      "}\n  %y = conv_integer(%x, %k, %z) {group = 2, pads = [1, 0, 1, 1], strides = [1, 2]}\n  return %y\n}";
  EXPECT_EQ(test::opsAfter(text, "prepack",
                           [](const Op& op) { return op.attributes.integer("channels_last", 0) == 1; }),
            1);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 5}, {2, 1, 1}, {1, 13, 71}, {0, 4, 4}})
    sets.push_back({quantisedBytes(Dtype::u8, {n, 8, h, w}, 1), quantisedBytes(Dtype::u8, {}, 2)});
  test::expectSame(text, sets);
  // A variant reads the same ones.
  std::vector<size_t> constants;
  for (const char* variants : {"", "h=5;w=7"}) {
    IrContext context;
    Result<Module> parsed = test::parseText(context, text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    CompileOptions options;
    options.variants = variants;
    Result<CompiledModel> compiled = compileModel(*parsed, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    constants.push_back(compiled->lowered.constants.size());
  }
  EXPECT_EQ(constants[0], constants[1]);
}

// Between layers of bytes images lie with their channels last: windows of both kinds, pools, joins, sums.
constexpr const char* kRegion = R"(fn @main(%x: Tensor[(n, 3, h, w), f32]) {
  %s = constant() {value = f32[] 0.0625}
  %z = constant() {value = u8[] 9}
  %o = constant() {value = f32[] 4}
  %sw = constant() {value = f32[6] [0.5, 0.25, 0.125, 1, 0.5, 2]}
  %k0 = constant() {value = i8[6, 3, 3, 3] K0}
  %k1 = constant() {value = i8[6, 1, 3, 3] K1}
  %k2 = constant() {value = i8[5, 6, 1, 1] K2}
  %k3 = constant() {value = i8[5, 6, 3, 2] K3}
  %k4 = constant() {value = u8[1, 6, 1, 1] [[[[128]], [[130]], [[3]], [[255]], [[0]], [[9]]]]}
  %z4 = constant() {value = u8[] 128}
  %q = quantize_linear(%x, %s, %z)
  %d = dequantize_linear(%q, %s, %z)
  %f0 = dequantize_linear(%k0, %sw) {axis = 0}
  %c0 = conv(%d, %f0) {pads = [1, 1, 1, 1], strides = [2, 2]}
  %r0 = relu(%c0)
  %q0 = quantize_linear(%r0, %o, %z)
  %d0 = dequantize_linear(%q0, %o, %z)
  %m = max_pool(%d0) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %qm = quantize_linear(%m, %o, %z)
  %dm = dequantize_linear(%qm, %o, %z)
  %f1 = dequantize_linear(%k1, %sw) {axis = 0}
  %c1 = conv(%dm, %f1) {group = 6, pads = [1, 1, 1, 1]}
  %q1 = quantize_linear(%c1, %o, %z)
  %d1 = dequantize_linear(%q1, %o, %z)
  %a = add(%d1, %d0)
  %qa = quantize_linear(%a, %o, %z)
  %da = dequantize_linear(%qa, %o, %z)
  %f2 = dequantize_linear(%k2, %s)
  %c2 = conv(%da, %f2)
  %q2 = quantize_linear(%c2, %o, %z)
  %d2 = dequantize_linear(%q2, %o, %z)
  %f3 = dequantize_linear(%k3, %s)
  %c3 = conv(%da, %f3) {dilations = [1, 2], pads = [1, 1, 1, 1]}
  %q3 = quantize_linear(%c3, %o, %z)
  %d3 = dequantize_linear(%q3, %o, %z)
  %f4 = dequantize_linear(%k4, %s, %z4)
  %c4 = conv(%da, %f4)
  %q4 = quantize_linear(%c4, %o, %z)
  %d4 = dequantize_linear(%q4, %o, %z)
  %j = concat(%d2, %d4, %d3) {axis = 1}
  %y = quantize_linear(%j, %o, %z)
  return %y
})";

TEST(Quantised, regionsStandWithTheirChannelsLast) {
  int64_t next = 0;
  std::string text = kRegion;
  const std::map<std::string, std::vector<int64_t>> weights = {
      {"K0", {6, 3, 3, 3}}, {"K1", {6, 1, 3, 3}}, {"K2", {5, 6, 1, 1}}, {"K3", {5, 6, 3, 2}}};
  for (const auto& [name, shape] : weights) text.replace(text.find(name), 2, quantisedLiteral(shape, next));
  CompileOptions all;
  all.passes = "+layout{regions=all}";
  const auto count = [&](const char* pass, auto&& which) { return test::opsAfter(text, pass, which, all); };
  EXPECT_EQ(count("quantise",
                  [](const Op& op) {
                    return op.def == &ops::max_poolOp && op.results[0].type.dtype() == Dtype::u8;
                  }),
            1);
  EXPECT_EQ(count("layout", [](const Op& op) { return op.def == &ops::conv_integer_packedOp; }), 5);
  // The convolutions make bytes of their sums themselves: kernels quantise the input, add and join.
  EXPECT_EQ(kernelsOf(text, all), 3);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 7}, {2, 1, 1}, {1, 27, 40}, {0, 4, 4}, {3, 16, 9}})
    sets.push_back({test::randomTensor(Dtype::f32, {n, 3, h, w}, 1)});
  for (const char* passes : {"", "+layout{regions=all}", "-layout", "-quantise", "-fuse"}) {
    SCOPED_TRACE(passes);
    CompileOptions options;
    options.passes = passes;
    expectSame(text, sets, options);
  }
}

// What follows the bytes of a convolution may be other bytes, or reals: in their place it is computed only
// where it has their type.
TEST(Quantised, bytesOfConvolutionsBecomeOthers) {
  for (const char* end : {"%y = cast(%q2) {to = u8}", "%y = dequantize_linear(%q2, %o, %z)",
                          "%k = relu(%q2)  %y = cast(%k) {to = i8}", "%y = identity(%q2)"}) {
    SCOPED_TRACE(end);
    int64_t next = 0;
    std::string text = R"(fn @main(%x: Tensor[(n, 3, h, w), i8]) {
      %s = constant() {value = f32[] 0.125}
      %o = constant() {value = f32[] 4}
      %z = constant() {value = i8[] -3}
      %k0 = constant() {value = i8[6, 3, 3, 3] K0}
      %k1 = constant() {value = i8[6, 6, 1, 1] K1}
      %k2 = constant() {value = i8[6, 6, 1, 1] K2}
      %d = dequantize_linear(%x, %s, %z)
      %f0 = dequantize_linear(%k0, %s)
      %c0 = conv(%d, %f0) {pads = [1, 1, 1, 1]}
      %q0 = quantize_linear(%c0, %o, %z)
      %d0 = dequantize_linear(%q0, %o, %z)
      %f1 = dequantize_linear(%k1, %s)
      %c1 = conv(%d0, %f1)
      %q1 = quantize_linear(%c1, %o, %z)
      %d1 = dequantize_linear(%q1, %o, %z)
      %f2 = dequantize_linear(%k2, %s)
      %c2 = conv(%d1, %f2)
      %q2 = quantize_linear(%c2, %o, %z)
      END
      return %y
    })";
    const std::map<std::string, std::vector<int64_t>> weights = {
        {"K0}", {6, 3, 3, 3}}, {"K1}", {6, 6, 1, 1}}, {"K2}", {6, 6, 1, 1}}};
    for (const auto& [name, shape] : weights)
      text.replace(text.find(" " + name) + 1, 2, quantisedLiteral(shape, next));
    text.replace(text.find("END"), 3, end);
    std::vector<std::vector<HostTensor>> sets;
    for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 7}, {2, 1, 1}, {1, 27, 40}, {0, 4, 4}})
      sets.push_back({quantisedBytes(Dtype::i8, {n, 3, h, w}, 1)});
    for (const char* passes : {"", "+layout{regions=all}", "-layout", "-quantise", "-fuse"}) {
      SCOPED_TRACE(passes);
      CompileOptions options;
      options.passes = passes;
      expectSame(text, sets, options);
    }
  }
}

TEST(Quantised, byTheRangeOfTheData) {
  const std::string text =
      R"(fn @main(%x: Tensor[(n, 3), f32], %q: Tensor[(3, 2), i8], %b: Tensor[(2), f32]) {
    %r = relu(%x)
    %a, %s, %z = dynamic_quantize_linear(%r)
    %i = matmul_integer(%a, %q, %z)
    %f = cast(%i) {to = f32}
    %m = mul(%f, %s)
    %y = add(%m, %b)
    %c, %t, %u = dynamic_quantize_linear(%y)
    return %a, %s, %z, %y, %t, %u
  })";
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t n : {0, 1, 2, 13, 64})
    sets.push_back({test::randomTensor(Dtype::f32, {n, 3}, 1), quantisedBytes(Dtype::i8, {3, 2}, 2),
                    test::randomTensor(Dtype::f32, {2}, 3)});
  sets.push_back({HostTensor(*HostTensor::create(Dtype::f32, {4, 3})), quantisedBytes(Dtype::i8, {3, 2}, 2),
                  test::randomTensor(Dtype::f32, {2}, 3)});
  expectAgreement(text, sets);
}

// Scales along the summed axis, or numbers that are not of 8 bits, are no integer products.
TEST(Quantised, othersStayReal) {
  EXPECT_EQ(
      integerProducts(
          R"(fn @main(%x: Tensor[(n, 3), u8], %q: Tensor[(3, 2), i8], %s: Tensor[(3), f32], %t: Tensor[(), f32]) {
    %a = dequantize_linear(%x, %t)
    %w = dequantize_linear(%q, %s) {axis = 0}
    %y = matmul(%a, %w)
    return %y
  })"),
      0);
  EXPECT_EQ(
      integerProducts(R"(fn @main(%x: Tensor[(n, 3), u8], %q: Tensor[(3, 2), i16], %t: Tensor[(), f32]) {
    %a = dequantize_linear(%x, %t)
    %w = dequantize_linear(%q, %t)
    %y = matmul(%a, %w)
    return %y
  })"),
      0);
  EXPECT_EQ(
      integerProducts(R"(fn @main(%x: Tensor[(n, 3), f32], %q: Tensor[(3, 2), i8], %t: Tensor[(), f32]) {
    %w = dequantize_linear(%q, %t)
    %y = matmul(%x, %w)
    return %y
  })"),
      0);
}

}  // namespace
}  // namespace dyn
