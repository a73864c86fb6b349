#include "compiler/loop/general_kernel.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/loop/kernel_interpreter.h"
#include "compiler/loop/kernel_key.h"

namespace dyn::loop {
namespace {

struct Parsed {
  explicit Parsed(const std::string& text) {
    Result<Kernel> made = parseKernel(dims, text);
    EXPECT_TRUE(made.ok()) << made.error().toString() << text;
    if (made.ok()) kernel = *made;
  }
  DimContext dims;
  Kernel kernel;
};

// A layer of an image network: `form` halves the height, `width` are its channels.
std::string layer(const std::string& form, int width) {
  const std::string h = "dim(" + form + ")", c = std::to_string(width);
  return "kernel @layer(in x: f32[n, " + h + ", " + c + "], in b: f32[" + c + "], out y: f32[n, " + h + ", " +
         c + "]) scalars (n; h; " + form + "; n*" + form + ") units u < dim(n*" + form +
         ") {\n  let i: i64 = floorDiv(u, " + h + ")\n  let j: i64 = mod(u, " + h +
         ")\n  accumulate total: f32 = sum over k < " + c + " vector {\n    x[i, j, k]\n  }\n  for e < " + c +
         " vector {\n    y[i, j, e] = max(x[i, j, e] + b[e], 0.0) * total\n  }\n}\n";
}

std::optional<std::string> generalKey(const std::string& text) {
  const Parsed parsed(text);
  const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
  return general ? lastingKey(general->kernel) : std::nullopt;
}

TEST(GeneralKernel, LayersOfAllSizesAreOne) {
  const std::optional<std::string> key = generalKey(layer("floordiv(h + 1, 2)", 96));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, generalKey(layer("floordiv(h + 3, 4)", 144)));
  EXPECT_EQ(key, generalKey(layer("floordiv(h + 1, 2)", 16)));
  // Whole vectors are another code than what leaves a rest, and rows that are written out.
  EXPECT_NE(key, generalKey(layer("floordiv(h + 1, 2)", 40)));
  EXPECT_NE(key, generalKey(layer("floordiv(h + 1, 2)", 8)));
  EXPECT_EQ(generalKey(layer("floordiv(h + 1, 2)", 40)), generalKey(layer("floordiv(h + 1, 2)", 24)));
}

// What no loop runs over is a distance in memory, whatever its factors: epilogues of all widths are one.
TEST(GeneralKernel, DistancesAreOpenFromFourOn) {
  const auto epilogue = [](int width) {
    const std::string c = std::to_string(width);
    return "kernel @k(in b: f32[" + c + "], out y: f32[n, " + c +
           "]) scalars (n; first; last) units u < n {\n  for e < dim(last - first) vector {\n    y[u, first "
           "+ e] "
           "= y[u, first + e] + b[first + e]\n  }\n}\n";
  };
  ASSERT_TRUE(generalKey(epilogue(96)).has_value());
  for (int width : {4, 10, 24, 40, 1280})
    EXPECT_EQ(generalKey(epilogue(96)), generalKey(epilogue(width))) << width;
  EXPECT_FALSE(generalKey(epilogue(3)).has_value());
}

TEST(GeneralKernel, OneThatIsItselfIsNoOther) {
  EXPECT_FALSE(generalOf(Parsed("kernel @k(in x: f32[n, 8], out y: f32[n, 8]) scalars (n) units u < n {\n"
                                "  for e < 8 vector {\n    y[u, e] = x[u, e] + 1.0\n  }\n}\n")
                             .kernel)
                   .has_value());
}

// Divisions by numbers, and short rows that are moved as a whole, are code for just these numbers.
TEST(GeneralKernel, DivisorsAndShortCopiesStay) {
  const auto folded = [](int width) {
    const std::string c = std::to_string(width);
    return "kernel @k(in x: f32[n], out y: f32[n]) scalars (n) units u < n {\n  y[u] = x[mod(u, " + c +
           ") * 0 + u] * f32(floorDiv(u, " + c + "))\n}\n";
  };
  EXPECT_FALSE(generalKey(folded(48)).has_value());
  const auto copy = [](int width) {
    const std::string c = std::to_string(width);
    return "kernel @k(in x: f32[n, " + c + "], out y: f32[n, " + c +
           "]) scalars (n) units u < n {\n  for e < " + c + " vector {\n    y[u, e] = x[u, e]\n  }\n}\n";
  };
  EXPECT_FALSE(generalKey(copy(32)).has_value());
  ASSERT_TRUE(generalKey(copy(96)).has_value());
  EXPECT_EQ(generalKey(copy(96)), generalKey(copy(160)));
}

// What the general kernel computes at the sizes of one is what that one computes, to the bit.
TEST(GeneralKernel, ComputesWhatItWasMadeOf) {
  for (const auto& [form, half, width] :
       {std::tuple{"floordiv(h + 1, 2)", 3, 96}, {"floordiv(h + 3, 4)", 2, 144}, {"floordiv(h, 3)", 1, 40}}) {
    const Parsed parsed(layer(form, width));
    const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
    ASSERT_TRUE(general.has_value());
    EXPECT_TRUE(verify(general->kernel).ok()) << print(general->kernel);
    const int64_t n = 2;
    std::vector<float> x(static_cast<size_t>(n * half * width)), b(static_cast<size_t>(width)),
        y(x.size(), 1), z(x.size(), 2);
    std::mt19937 random(7);
    for (float& v : x) v = std::normal_distribution<float>()(random);
    for (float& v : b) v = std::normal_distribution<float>()(random);
    std::vector<int64_t> scalars = {n, 5, half, n * half};
    const auto run = [&](const Kernel& kernel, std::vector<float>& out) {
      const auto program = KernelInterpreter::compile(kernel);
      ASSERT_TRUE(program.ok()) << program.error().toString();
      void* buffers[] = {x.data(), b.data(), out.data()};
      const Result<int32_t> fault = program->run(buffers, scalars, 0, n * half);
      ASSERT_TRUE(fault.ok() && *fault == 0) << print(kernel);
    };
    run(parsed.kernel, y);
    scalars.insert(scalars.end(), general->sizes.begin(), general->sizes.end());
    run(general->kernel, z);
    EXPECT_EQ(y, z) << print(general->kernel);
  }
}

}  // namespace
}  // namespace dyn::loop
