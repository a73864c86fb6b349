// A bias and bounds behind a product or convolution: which kernels are told as that, and that the
// hand-written kernels then give the bits of the generated ones.
#include "compiler/lower/closed_epilogue.h"

#include <array>
#include <limits>

#include "tests/unit/compiler/passes/layout/image_module.h"

namespace dyn {
namespace {

// A kernel over a tile c of a product, with these buffers before it.
EpilogueForm formOf(const std::string& buffers, const std::string& lets, const std::string& value) {
  DimContext dims;
  const std::string text =
      "kernel @tile(" + buffers +
      "in c: f32[n, 40], out y: f32[n, 40]) scalars (n; p; q) units u < n steps (n) {\n" + lets +
      "  for e < dim(q - p) vector {\n    y[u, dim(p) + e] = " + value + "\n  }\n}\n";
  Result<loop::Kernel> kernel = loop::parseKernel(dims, text);
  EXPECT_TRUE(kernel.ok()) << kernel.error().toString() << text;
  if (!kernel.ok()) return {};
  return closedFormOf(*kernel, kernel->buffers[kernel->buffers.size() - 2]);
}

TEST(ClosedEpilogue, theFormIsRead) {
  const std::string c = "c[u, dim(p) + e]", b = "b[dim(p) + e]", bias = "in b: f32[40], ",
                    low = "in l: f32[], ", high = "in h: f32[], ", letLow = "  let v: f32 = l[]\n",
                    letHigh = "  let w: f32 = h[]\n";
  EXPECT_EQ(formOf(bias, "", c + " + " + b), (EpilogueForm{.bias = true}));
  EXPECT_EQ(formOf(bias, "", b + " + " + c), (EpilogueForm{.bias = true}));
  EXPECT_EQ(formOf(low, letLow, "max(v, " + c + ")"), (EpilogueForm{.low = true}));
  EXPECT_EQ(formOf(low + high, letLow + letHigh, "min(w, max(v, " + c + "))"),
            (EpilogueForm{.low = true, .high = true}));
  EXPECT_EQ(formOf(bias + low + high, letLow + letHigh, "min(w, max(v, " + c + " + " + b + "))"),
            (EpilogueForm{.bias = true, .low = true, .high = true}));
  EXPECT_EQ(formOf("", "", "select(" + c + " < 0.0, 0.0, " + c + ")"), (EpilogueForm{.zero = true}));
}

TEST(ClosedEpilogue, anythingElseIsNot) {
  const std::string c = "c[u, dim(p) + e]", b = "b[dim(p) + e]", bias = "in b: f32[40], ",
                    letLow = "  let v: f32 = l[]\n", letHigh = "  let w: f32 = h[]\n";
  const EpilogueForm none, even{.even = true};
  EXPECT_EQ(formOf("", "", c), even);
  EXPECT_EQ(formOf(bias, "", c + " * " + b), none);
  EXPECT_EQ(formOf(bias, "", c + " - " + b), none);
  EXPECT_EQ(formOf("in b: f32[n, 40], ", "", c + " + b[u, dim(p) + e]"), even);  // of each row
  EXPECT_EQ(formOf("in b: f32[n], ", "", c + " + b[u]"), none);                  // of the row
  EXPECT_EQ(formOf(bias, "", "c[u, e] + " + b), none);                           // another place
  EXPECT_EQ(formOf(bias, "", "max(" + b + ", " + c + ")"), none);                // a bound of each column
  EXPECT_EQ(formOf("in l: f32[], ", letLow, "max(" + c + ", v)"), even);         // equal: the bound
  EXPECT_EQ(formOf("in l: f32[], in h: f32[], ", letLow + letHigh, "max(v, min(w, " + c + "))"), even);
  EXPECT_EQ(formOf("in h: f32[], in l: f32[], ", letLow + letHigh, "min(w, max(v, " + c + "))"), even);
  EXPECT_EQ(formOf("in l: f32[], ", letLow, "min(v, max(v, " + c + "))"), even);  // one buffer for both
  EXPECT_EQ(formOf("", "", "select(" + c + " < 0.0, 0.0, " + c + " * 2.0)"), even);
  EXPECT_EQ(formOf("", "", "exp(select(" + c + " < 0.0, 0.0, " + c + "))"), even);
}

TEST(ClosedEpilogue, evenOnesDependOnTheirOwnPlaceAlone) {
  const std::string c = "c[u, dim(p) + e]";
  const EpilogueForm none, even{.even = true};
  EXPECT_EQ(formOf("", "", c + " * sigmoid(" + c + ")"), even);
  EXPECT_EQ(formOf("in b: f32[1, 40], ", "", c + " * b[0, dim(p) + e]"), none);  // of its column
  EXPECT_EQ(formOf("in b: f32[n, 1], ", "", c + " * b[u, 0]"), none);            // of its row
  EXPECT_EQ(formOf("in b: f32[n, 41], ", "", c + " * b[u, dim(p) + e]"), none);  // rows of another length
  EXPECT_EQ(formOf("in b: f32[n, 1], ", "", c + " * b[0, 0]"), even);            // one element
  EXPECT_EQ(formOf("", "", c + " * c[0, 0]"), none);                             // of the tile: another row's
  EXPECT_EQ(formOf("", "", "select(u < 3, " + c + ", 0.0)"), none);              // the number of the row
}

TEST(ClosedEpilogue, theNumberHoldsKernelAndForm) {
  for (const int32_t kernel : {0, 1, 77, EpilogueNumber::kMostKernels})
    for (int bits = 0; bits < 16; ++bits) {
      EpilogueForm form{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
      // No closed form has two lower bounds and nothing else: the number is that of an even one.
      if (bits == EpilogueNumber::kEven) form = {.even = true};
      const EpilogueNumber read = EpilogueNumber::parted(EpilogueNumber{kernel, form}.number());
      EXPECT_EQ(read.kernelPlusOne, kernel);
      EXPECT_EQ(read.form, form);
      EXPECT_GE((EpilogueNumber{kernel, form}.number()), 0);
    }
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

HostTensor scalar(float value) {
  HostTensor tensor = *HostTensor::create(Dtype::f32, {});
  tensor.setReal(0, value);
  return tensor;
}

// Bounds between, beyond, crossed, equal, of either zero, and such that only the generated kernel can do.
constexpr std::array<std::array<float, 2>, 8> kBounds{{{-0.5f, 0.75f},
                                                       {0.0f, 6.0f},
                                                       {-0.0f, -0.0f},
                                                       {-kInfinity, kInfinity},
                                                       {1.0f, -1.0f},
                                                       {0.25f, 0.25f},
                                                       {kNan, 1.0f},
                                                       {-1.0f, kNan}}};

// What `passes` leaves as it is, and nothing fused: the same bits, for each of these images and all bounds.
void expectSameBits(const std::string& text, const std::vector<HostTensor>& images,
                    const std::string& passes) {
  IrContext one, other;
  Result<Module> module = test::parseText(one, text), again = test::parseText(other, text);
  ASSERT_TRUE(module.ok() && again.ok()) << (module.ok() ? again : module).error().toString();
  CompileOptions together, apart;
  together.passes = passes;
  apart.passes = passes + (passes.empty() ? "-fuse" : ",-fuse");
  Result<std::unique_ptr<test::Compiled>> a = test::Compiled::make(*module, together, 3),
                                          b = test::Compiled::make(*again, apart, 1);
  ASSERT_TRUE(a.ok() && b.ok()) << (a.ok() ? b : a).error().toString();
  for (const HostTensor& image : images)
    for (const auto& [low, high] : kBounds) {
      const std::vector<HostTensor> inputs{image, scalar(low), scalar(high)};
      Result<std::vector<HostTensor>> actual = (*a)->run(inputs), expected = (*b)->run(inputs);
      ASSERT_TRUE(actual.ok() && expected.ok()) << (actual.ok() ? expected : actual).error().toString();
      for (size_t i = 0; i < expected->size(); ++i)
        EXPECT_TRUE((*actual)[i].identical((*expected)[i]))
            << toString(image, 4) << ", bounds " << low << ", " << high << ", output " << i;
    }
}

// Numbers, some of which are zeros, and in one image NaN.
std::vector<HostTensor> images(const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<HostTensor> made;
  for (const std::vector<int64_t>& shape : shapes) {
    made.push_back(test::randomTensor(Dtype::f32, shape, 1));
    HostTensor& image = made.back();
    for (int64_t i = 0; i < image.elementCount(); i += 7) image.setReal(i, i % 2 == 0 ? 0.0 : -0.0);
    if (made.size() % 2 == 0)
      for (int64_t i = 3; i < image.elementCount(); i += 101) image.setReal(i, kNan);
  }
  return made;
}

TEST(ClosedEpilogue, productsGiveTheBitsOfGeneratedKernels) {
  const std::string begin =
      "fn @main(%x: Tensor[(n, 16), f32], %low: Tensor[(), f32], %high: Tensor[(), f32]) {\n" +
      test::constant("w", {16, 37}, 1) + test::constant("b", {37}, 2) +
      "%a = matmul(%x, %w) %c = add(%a, %b)\n";
  for (const char* end : {"return %c }", "%d = clip(%c, %low, %high) return %d }",
                          "%d = clip(%c, %low) return %d }", "%d = relu(%c) return %d }",
                          "%d = clip(%a, %low, %high) return %d }", "%d = clip(%c, _, %high) return %d }"})
    // The last has so many rows that tiles are finished one by one.
    expectSameBits(begin + end, images({{1, 16}, {13, 16}, {0, 16}, {29, 16}, {101, 16}, {8009, 16}}), "");
}

// Products and planes whose rows hold one element, or a few, with what else is added to each.
TEST(ClosedEpilogue, evenOnesGiveTheBitsOfGeneratedKernels) {
  const std::string text =
      "fn @main(%x: Tensor[(n, 5, h, w), f32], %low: Tensor[(), f32], %high: Tensor[(), f32]) {\n" +
      test::constant("v", {37, 5, 1, 1}, 1) + test::constant("b", {37}, 2) +
      test::constant("d", {37, 1, 3, 3}, 3) +
      "%a = conv(%x, %v, %b) %c = hard_swish(%a) %e = conv(%c, %d) {pads = [1, 1, 1, 1], group = 37}\n"
      "%f = sigmoid(%e) %g = mul(%e, %f) %k = add(%g, %c) %m = clip(%k, %low) %q = abs(%m) return %c, %q }";
  for (const char* passes : {"", "-layout"})
    expectSameBits(
        text, images({{4, 5, 1, 1}, {3, 5, 2, 2}, {0, 5, 1, 1}, {2, 5, 7, 1}, {5, 5, 3, 3}, {1, 5, 13, 11}}),
        passes);
}

TEST(ClosedEpilogue, halvesGiveTheBitsOfGeneratedKernels) {
  const std::string text =
      "fn @main(%x: Tensor[(n, 16), f32], %low: Tensor[(), f32], %high: Tensor[(), f32]) {\n" +
      test::constant("w", {16, 37}, 1) + test::constant("b", {37}, 2) +
      "%v = cast(%w) {to = f16} %u = cast(%v) {to = f32} %a = matmul(%x, %u) %c = add(%a, %b)\n"
      "%d = clip(%c, %low, %high) return %d }";
  expectSameBits(text, images({{1, 16}, {13, 16}, {29, 16}, {101, 16}}), "");
}

// Whole images, a stride, channels that do and do not fill vectors; rows that are long and that are copied.
std::string convolutions(int64_t channels, const std::string& behind) {
  const std::string c = std::to_string(channels);
  return "fn @main(%x: Tensor[(n, 3, h, w), f32], %low: Tensor[(), f32], %high: Tensor[(), f32]) {\n" +
         test::constant("w0", {channels, 3, 3, 3}, 1) + test::constant("b0", {channels}, 2) +
         test::constant("w1", {channels, 1, 3, 3}, 3) + test::constant("w2", {channels, 1, 5, 5}, 4) +
         test::constant("b2", {channels}, 5) + test::constant("w3", {channels, channels, 1, 1}, 6) +
         test::constant("b3", {channels}, 7) + test::constant("w4", {channels, 1, 3, 3}, 8) +
         "%a0 = conv(%x, %w0, %b0) {pads = [1, 1, 1, 1], strides = [2, 1]}\n%a = " + behind + "(%a0" +
         (behind == "clip" ? ", %low, %high)" : ")") +
         "\n%c0 = conv(%a, %w1) {pads = [1, 1, 1, 1], group = " + c + "}\n%c = " + behind + "(%c0" +
         (behind == "clip" ? ", %low, %high)" : ")") +
         "\n%d0 = conv(%c, %w2, %b2) {pads = [2, 2, 2, 2], strides = [2, 2], group = " + c +
         "}\n%d = " + behind + "(%d0" + (behind == "clip" ? ", %low, %high)" : ")") +
         "\n%e0 = conv(%d, %w3, %b3)\n%e = relu(%e0)\n%f0 = conv(%e, %w4) {pads = [2, 2, 2, 2], dilations = "
         "[2, 2], "
         "group = " +
         c + "}\n%f = relu(%f0)\nreturn %a, %c, %d, %e, %f }";
}

TEST(ClosedEpilogue, convolutionsGiveTheBitsOfGeneratedKernels) {
  const std::vector<HostTensor> sets =
      images({{1, 3, 67, 61}, {1, 3, 9, 13}, {0, 3, 9, 9}, {2, 3, 1, 31}, {1, 3, 1, 1}, {2, 3, 13, 3}});
  for (const int64_t channels : {5, 16, 35})
    for (const char* behind : {"clip", "relu"}) {
      expectSameBits(convolutions(channels, behind), sets, "+layout{regions=all},-batch_slices");
      expectSameBits(convolutions(channels, behind), sets, "-layout");
    }
}

TEST(ClosedEpilogue, resultsAreThoseOfTheReference) {
  std::vector<std::vector<HostTensor>> sets;
  for (const HostTensor& image : images({{1, 3, 67, 61}, {2, 3, 9, 13}, {1, 3, 1, 31}}))
    sets.push_back({image, scalar(-0.25f), scalar(1.5f)});
  CompileOptions options;
  options.passes = "+layout{regions=all}";
  test::expectSame(convolutions(35, "clip"), sets, options, 1e-3);
}

}  // namespace
}  // namespace dyn
