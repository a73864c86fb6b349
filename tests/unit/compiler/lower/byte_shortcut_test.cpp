// Sums of two dequantised bytes, quantised again: the line that a convolution computes instead gives every
// byte that the operations give.
#include "compiler/lower/byte_shortcut.h"

#include <algorithm>

#include "tests/unit/compiler/driver/run_both.h"
#include "vm/shared/dyn_byte_rescale.h"

namespace dyn {
namespace {

ByteSum randomSum(std::mt19937& random) {
  const auto number = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  const auto scale = [&] {
    // Some that give many halves.
    return number(0, 3) == 0 ? std::ldexp(1.0F, -number(3, 6))
                             : std::exp(std::uniform_real_distribution<float>(-5, -3)(random));
  };
  ByteSum sum;
  sum.otherIsSigned = number(0, 1) != 0;
  sum.resultIsSigned = number(0, 1) != 0;
  sum.relu = number(0, 1) != 0;
  const auto zero = [&](bool isSigned) {
    return number(0, 2) == 0 ? 0 : isSigned ? number(-128, 127) : number(0, 255);
  };
  sum.own = {scale(), zero(sum.resultIsSigned)};
  sum.other = {scale(), zero(sum.otherIsSigned)};
  sum.result = {scale(), zero(sum.resultIsSigned)};
  sum.zeroOfSums = number(0, 3) ? sum.own.zero : zero(sum.resultIsSigned);
  sum.least = (sum.resultIsSigned ? -128 : 0) - sum.zeroOfSums;
  sum.most = sum.least + 255;
  if (number(0, 1)) sum.least = std::clamp(0, sum.least, sum.most);
  return sum;
}

TEST(ByteShortcut, theLineGivesTheByteOfAllPairs) {
  std::mt19937 random(1);
  int found = 0;
  constexpr int kSums = 60;
  for (int i = 0; i < kSums; ++i) {
    const ByteSum sum = randomSum(random);
    const std::optional<ByteSumLine> line = lineOf(sum);
    if (!line) continue;
    ++found;
    for (int32_t w = sum.least; w <= sum.most; ++w)
      for (int32_t b = 0; b < 256; ++b)
        for (const bool fused : {false, true})
          ASSERT_EQ(line->byteOf(sum, w, b, fused), sum.byteOf(w, b))
              << w << " and " << b << ", scales " << sum.own.scale << ", " << sum.other.scale << ", "
              << sum.result.scale;
  }
  EXPECT_GE(found, kSums * 4 / 5);  // the others are too steep
}

TEST(ByteShortcut, withoutALine) {
  const ByteSum usual{.own = {0.5F, 3}, .zeroOfSums = 3, .least = -3, .most = 252, .other = {0.25F, 0}};
  EXPECT_TRUE(lineOf(usual).has_value());
  for (const float scale : {0.0F, -1.0F, INFINITY, NAN, 1e-40F}) {
    ByteSum sum = usual;
    sum.own.scale = scale;
    EXPECT_FALSE(lineOf(sum).has_value()) << scale;
    sum = usual;
    sum.result.scale = scale;
    EXPECT_FALSE(lineOf(sum).has_value()) << scale;
  }
  ByteSum steep = usual;
  steep.other.scale = 5;
  EXPECT_FALSE(lineOf(steep).has_value());
}

// Four convolutions of %x, 1 x 1 and 3 x 3 in turn, as bytes of OTHER and three times TYPE, added up.
std::string byteShortcutResidual(const std::string& dtype, const std::string& scales,
                                 const std::string& behind) {
  std::string one, nine;
  for (int64_t f = 0; f < 37; ++f) {
    std::string channels, windows;
    for (int64_t c = 0; c < 5; ++c) {
      channels += (c ? ", [[" : "[[[") + std::to_string((f * 5 + c) * 7 % 255 - 127) + "]]";
      std::string rows;
      for (int64_t i = 0; i < 9; ++i)
        rows += (i % 3 ? ", " : i ? "], [" : "[[") + std::to_string((f * 45 + c * 9 + i) * 11 % 255 - 127);
      windows += (c ? ", " : "[") + rows + "]]";
    }
    one += (f ? ", " : "[") + channels + "]";
    nine += (f ? ", " : "[") + windows + "]";
  }
  return test::withType(
      "fn @main(%x: Tensor[(n, 5, h, w), TYPE]) {\n  %k = constant() {value = i8[37, 5, 1, 1] " + one +
          "]}\n  %l = constant() {value = i8[37, 5, 3, 3] " + nine + "]}\n" + scales + R"(
    %xd = dequantize_linear(%x, %s0, %z0)
    %kd = dequantize_linear(%k, %sk)
    %ld = dequantize_linear(%l, %sk)
    %a = conv(%xd, %kd)
    %b = conv(%xd, %ld) {pads = [1, 1, 1, 1]}
    %aq = quantize_linear(%a, %s2, %z2)
    %ad = dequantize_linear(%aq, %s2, %z2)
    %bq = quantize_linear(%b, %s1, %z1)
    %bd = dequantize_linear(%bq, %s1, %z1)
    %t = add(%ad, %bd)
    %u = )" +
          behind + R"((%t)
    %v = quantize_linear(%u, %s3, %z3)
    %vd = dequantize_linear(%v, %s3, %z3)
    %c = conv(%xd, %kd)
    %r = relu(%c)
    %cq = quantize_linear(%r, %s3, %z1)
    %cd = dequantize_linear(%cq, %s3, %z1)
    %o = add(%cd, %vd)
    %p = quantize_linear(%o, %s2, %z1)
    %pd = dequantize_linear(%p, %s2, %z1)
    %d = conv(%xd, %ld) {pads = [1, 1, 1, 1]}
    %dq = quantize_linear(%d, %s1, %z3)
    %dd = dequantize_linear(%dq, %s1, %z3)
    %e = add(%dd, %pd)
    %y = quantize_linear(%e, %s2, %z1)
    return %y
  })",
      dtype);
}

std::string numbers(const std::string& other, int zero, int otherZero, int resultZero) {
  const auto constant = [](const std::string& name, const std::string& type, const std::string& value) {
    return "  %" + name + " = constant() {value = " + type + "[] " + value + "}\n";
  };
  return constant("s0", "f32", "0.0173") + constant("sk", "f32", "0.00831") +
         constant("s1", "f32", "0.0471") + constant("s2", "f32", "0.0307") + constant("s3", "f32", "0.0519") +
         constant("z0", "TYPE", "5") + constant("z1", "TYPE", std::to_string(zero)) +
         constant("z2", other, std::to_string(otherZero)) +
         constant("z3", "TYPE", std::to_string(resultZero));
}

HostTensor bytes(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    tensor.setInt(i, static_cast<int64_t>(random() % 256) - (dtype == Dtype::i8 ? 128 : 0));
  return tensor;
}

Dtype dtypeOf(const std::string& name) { return name == "u8" ? Dtype::u8 : Dtype::i8; }

TEST(ByteShortcut, convolutionsGiveTheBytesOfTheOperations) {
  for (const auto& [own, other, behind] : {std::array<const char*, 3>{"u8", "u8", "relu"},
                                           {"u8", "i8", "identity"},
                                           {"i8", "u8", "relu"},
                                           {"i8", "i8", "identity"}}) {
    SCOPED_TRACE(std::string(own) + " " + other);
    const std::string text =
        byteShortcutResidual(own, numbers(other, 100, 17, own == std::string("u8") ? 0 : -128), behind);
    IrContext one, two;
    Result<Module> module = test::parseText(one, text), again = test::parseText(two, text);
    ASSERT_TRUE(module.ok() && again.ok()) << (module.ok() ? again : module).error().toString();
    CompileOptions together, apart;
    together.passes = "+layout{regions=all}";
    apart.passes = "+layout{regions=all},-fuse";
    Result<std::unique_ptr<test::Compiled>> a = test::Compiled::make(*module, together, 3),
                                            b = test::Compiled::make(*again, apart, 1);
    ASSERT_TRUE(a.ok() && b.ok()) << (a.ok() ? b : a).error().toString();
    for (auto [n, h, w] : {std::array<int64_t, 3>{1, 5, 7}, {2, 1, 1}, {1, 27, 40}, {0, 4, 4}, {3, 13, 1}}) {
      const std::vector<HostTensor> inputs{bytes(dtypeOf(own), {n, 5, h, w}, 1)};
      Result<std::vector<HostTensor>> actual = (*a)->run(inputs), expected = (*b)->run(inputs);
      ASSERT_TRUE(actual.ok() && expected.ok()) << (actual.ok() ? expected : actual).error().toString();
      for (size_t i = 0; i < expected->size(); ++i)
        EXPECT_TRUE((*actual)[i].identical((*expected)[i])) << n << " x " << h << " x " << w;
    }
  }
}

// How many kernels of epilogues there are.
int64_t epiloguesOf(const std::string& text) {
  IrContext context;
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok());
  CompileOptions options;
  options.passes = "+layout{regions=all}";
  Result<CompiledModel> compiled = compileModel(*parsed, options);
  EXPECT_TRUE(compiled.ok());
  int64_t count = 0;
  for (const loop::Kernel& kernel : compiled->lowered.kernels)
    count += kernel.description.find("epilogue") != std::string::npos;
  return count;
}

TEST(ByteShortcut, noKernelIsLeft) {
  const std::string text = byteShortcutResidual("u8", numbers("u8", 100, 17, 0), "relu");
  EXPECT_EQ(epiloguesOf(text), 0);
  // A scale that is no constant.
  std::string open = text;
  open.replace(open.find("%x: "), 4, "%s3: Tensor[(), f32], %x: ");
  const size_t begin = open.find("  %s3 = "), end = open.find('\n', begin);
  open.erase(begin, end - begin + 1);
  EXPECT_EQ(epiloguesOf(open), 2);
}

}  // namespace
}  // namespace dyn
