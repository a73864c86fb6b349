#include "compiler/loop/builder/general_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compiler/loop/interpreter/kernel_interpreter.h"
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

// Sixty-four channels a unit; `scalars` in any order, with more than are used.
std::string blocks(const std::string& batch, const std::string& area, const std::string& scalars, int width) {
  const std::string c = std::to_string(width), count = std::to_string((width + 63) / 64);
  const std::string channel = "mod(u, " + count + ") * 64 + e";
  return "kernel @blocks(in x: f32[" + batch + ", dim(" + area + "), " + c + "], out y: f32[" + batch + ", " +
         c + "]) scalars (" + scalars + "; " + count + "*" + batch + ") units u < dim(" + count + "*" +
         batch + ") {\n  let i: i64 = floorDiv(u, " + count + ")\n  for e < min(64, " + c + " - mod(u, " +
         count + ") * 64) vector {\n    accumulate r: f32 = sum over k < dim(" + area +
         ") vector {\n      x[i, k, " + channel + "]\n    }\n    y[i, " + channel + "] = r\n  }\n}\n";
}

// The number of a unit may be divided by what is open: once for all that its loops do.
TEST(GeneralKernel, BlocksOfChannelsAreOne) {
  const std::string area = "floordiv(h + 1, 2)*floordiv(w + 1, 2)", scalars = "n; h; w; " + area;
  const std::optional<std::string> key = generalKey(blocks("n", area, scalars, 480));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, generalKey(blocks("n", area, scalars, 672)));
  EXPECT_EQ(key, generalKey(blocks("n", area, scalars, 1160)));
}

// Nor does it matter what sizes are called, how the product of some that are not given is made, in which
// order scalars stand, and which are not used.
TEST(GeneralKernel, ScalarsAreOfAnyOrder) {
  const std::string area = "floordiv(h + 1, 2)*floordiv(w + 1, 2)",
                    other = "floordiv(h + 31, 32)*floordiv(w, 3)";
  const std::optional<std::string> key = generalKey(blocks("n", area, "n; h; w; " + area, 480));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, generalKey(blocks("n", other, "n; h; w; " + other, 480)));
  EXPECT_EQ(key, generalKey(blocks("slice", area, "h; w; " + area + "; slice", 672)));
  EXPECT_EQ(key, generalKey(blocks("z", area, area + "; w; a; h; z", 672)));
}

TEST(GeneralKernel, ScalarsOfAnyOrderComputeTheSame) {
  const std::string area = "floordiv(h + 1, 2)*floordiv(w + 1, 2)";
  const Parsed parsed(blocks("z", area, area + "; w; a; h; z", 200));
  const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
  ASSERT_TRUE(general.has_value());
  EXPECT_TRUE(verify(general->kernel).ok()) << print(general->kernel);
  const int64_t batch = 2, h = 5, w = 3, inside = 6, units = 4 * batch;
  const std::vector<int64_t> scalars = {inside, w, 77, h, batch, units};
  std::vector<int64_t> given;
  for (const GivenScalar& scalar : general->given)
    given.push_back(scalars.at(scalar.place) / scalar.multiple);
  EXPECT_EQ(std::count(given.begin(), given.end(), 77), 0) << "one that is not used";
  given.insert(given.end(), general->sizes.begin(), general->sizes.end());
  std::vector<float> x(static_cast<size_t>(batch * inside * 200)), y(static_cast<size_t>(batch * 200), 1),
      z(y.size(), 2);
  std::mt19937 random(9);
  for (float& v : x) v = std::normal_distribution<float>()(random);
  for (const auto& [kernel, values, out] :
       {std::tuple{&parsed.kernel, &scalars, &y}, {&general->kernel, &given, &z}}) {
    const auto program = KernelInterpreter::compile(*kernel);
    ASSERT_TRUE(program.ok()) << program.error().toString();
    void* buffers[] = {x.data(), out->data()};
    const Result<int32_t> fault = program->run(buffers, *values, 0, units);
    ASSERT_TRUE(fault.ok() && *fault == 0) << print(*kernel);
  }
  EXPECT_EQ(y, z) << print(general->kernel);
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
    std::vector<int64_t> given;
    for (const GivenScalar& scalar : general->given)
      given.push_back(scalars.at(scalar.place) / scalar.multiple);
    scalars = std::move(given);
    scalars.insert(scalars.end(), general->sizes.begin(), general->sizes.end());
    run(general->kernel, z);
    EXPECT_EQ(y, z) << print(general->kernel);
  }
}

}  // namespace
}  // namespace dyn::loop
