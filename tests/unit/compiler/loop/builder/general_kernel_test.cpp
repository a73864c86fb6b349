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

// Are there sizes, or scalars made of others, that the general kernel takes as they come?
bool isOpen(const Kernel& kernel, const GeneralKernel& general) {
  return !general.sizes.empty() || std::ranges::any_of(kernel.scalars, [](Dim scalar) {
    return !scalar.isConstant() && !scalar.isSymbol();
  });
}

// Null where nothing is left open.
std::optional<std::string> generalKey(const std::string& text) {
  const Parsed parsed(text);
  const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
  return general && isOpen(parsed.kernel, *general) ? lastingKey(general->kernel) : std::nullopt;
}

// What the launch of a kernel gives the general one.
std::vector<int64_t> givenOf(const GeneralKernel& general, const std::vector<int64_t>& scalars) {
  std::vector<int64_t> given;
  for (const GivenScalar& scalar : general.given) {
    EXPECT_EQ(scalars.at(scalar.place) % scalar.multiple, 0);
    given.push_back(scalars.at(scalar.place) / scalar.multiple);
  }
  return given;
}

// What the general kernel computes at the sizes of one is what that one computes, to the bit.
void expectGeneralIsTheSame(const std::string& text, const std::vector<std::vector<float>>& inputs,
                            const std::vector<int64_t>& scalars, int64_t units, size_t results) {
  const Parsed parsed(text);
  const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
  ASSERT_TRUE(general.has_value()) << text;
  EXPECT_TRUE(verify(general->kernel).ok()) << print(general->kernel);
  std::vector<int64_t> given = givenOf(*general, scalars);
  given.insert(given.end(), general->sizes.begin(), general->sizes.end());
  std::vector<float> y(results, 1), z(results, 2);
  for (const auto& [kernel, values, out] :
       {std::tuple{&parsed.kernel, &scalars, &y}, {&general->kernel, &given, &z}}) {
    const auto program = KernelInterpreter::compile(*kernel);
    ASSERT_TRUE(program.ok()) << program.error().toString();
    std::vector<void*> buffers;
    for (const std::vector<float>& input : inputs) buffers.push_back(const_cast<float*>(input.data()));
    buffers.push_back(out->data());
    const Result<int32_t> fault = program->run(buffers, *values, 0, units);
    ASSERT_TRUE(fault.ok() && *fault == 0) << print(*kernel);
  }
  EXPECT_EQ(y, z) << print(general->kernel);
}

std::vector<float> normal(size_t count, unsigned seed) {
  std::vector<float> values(count);
  std::mt19937 random(seed);
  for (float& v : values) v = std::normal_distribution<float>()(random);
  return values;
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
  const std::string text = blocks("z", area, area + "; w; a; h; z", 200);
  const int64_t batch = 2, h = 5, w = 3, inside = 6, units = 4 * batch;
  const std::vector<int64_t> scalars = {inside, w, 77, h, batch, units};
  const Parsed parsed(text);
  const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
  ASSERT_TRUE(general.has_value());
  const std::vector<int64_t> given = givenOf(*general, scalars);
  EXPECT_EQ(std::count(given.begin(), given.end(), 77), 0) << "one that is not used";
  expectGeneralIsTheSame(text, {normal(batch * inside * 200, 9)}, scalars, units, batch * 200);
}

TEST(GeneralKernel, OneThatIsItselfIsNoOther) {
  const Parsed parsed(
      "kernel @k(in x: f32[n, 8], out y: f32[n, 8]) scalars (n) units u < n {\n"
      "  for e < 8 vector {\n    y[u, e] = x[u, e] + 1.0\n  }\n}\n");
  const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
  ASSERT_TRUE(general.has_value());
  EXPECT_FALSE(isOpen(parsed.kernel, *general));
  EXPECT_EQ(lastingKey(general->kernel), lastingKey(parsed.kernel));
}

// Blocks of 64 columns: a unit is a block, of two for 88 columns, of three for 168.
std::string turnedBlocks(int columns, int blocks) {
  const std::string c = std::to_string(columns), count = std::to_string(blocks);
  return "kernel @turned(in x: f32[n, " + c + ", m], out y: f32[n, m, " + c + "]) scalars (n; m; " + count +
         "*n) units u < dim(" + count + "*n) {\n  let b: i64 = mod(u, " + count +
         ")\n  let i: i64 = floorDiv(u, " + count + ")\n  for e < m tile {\n    for k < min(64, " + c +
         " - b * 64) vector {\n      y[i, e, b * 64 + k] = x[i, b * 64 + k, e]\n    }\n  }\n}\n";
}

// Digits of the unit's number stay digits, whatever they are divided by.
TEST(GeneralKernel, DigitsOfUnitsAreOfAnySize) {
  const std::optional<std::string> key = generalKey(turnedBlocks(88, 2));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, generalKey(turnedBlocks(168, 3)));
  EXPECT_EQ(key, generalKey(turnedBlocks(300, 5)));
  expectGeneralIsTheSame(turnedBlocks(168, 3), {normal(2 * 168 * 5, 3)}, {2, 5, 6}, 6, 2 * 168 * 5);
}

std::string mean(int width, const std::string& divisor) {
  const std::string c = std::to_string(width);
  return "kernel @mean(in x: f32[n, " + c +
         "], out y: f32[n]) scalars (n) units u < n {\n"
         "  accumulate r: f32 = sum over k < " +
         c + " vector {\n    x[u, k]\n  }\n  y[u] = r / " + divisor + "\n}\n";
}

// A mean is divided by its loop's extent; powers of two that are none are multiplications.
TEST(GeneralKernel, MeansOfAllWidthsAreOne) {
  const std::optional<std::string> key = generalKey(mean(96, "96.0"));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, generalKey(mean(384, "384.0")));
  EXPECT_EQ(key, generalKey(mean(64, "64.0")));
  EXPECT_NE(key, generalKey(mean(96, "64.0")));
  EXPECT_NE(key, generalKey(mean(96, "0.5")));
  expectGeneralIsTheSame(mean(384, "384.0"), {normal(3 * 384, 4)}, {3}, 3, 3);
}

// The second part of a split, and a row of one of two tensors that were joined.
std::string parts(int offset, int first) {
  const std::string from = std::to_string(offset), begin = std::to_string(first);
  return "kernel @parts(in x: f32[n, 500], in a: f32[" + begin +
         ", 32], in b: f32[600, 32], out y: f32[n, 32]) "
         "scalars (n) units u < n {\n  let i: i64 = u\n  for e < 32 vector {\n    y[i, e] = x[i, e + " +
         from + "] + select(i < " + begin + ", a[i, e], b[i + -" + begin + ", e])\n  }\n}\n";
}

TEST(GeneralKernel, OffsetsAndPlacesOfJoinedRowsAreOpen) {
  const std::optional<std::string> key = generalKey(parts(128, 256));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, generalKey(parts(208, 512)));
  EXPECT_NE(key, generalKey(parts(3, 256))) << "a window";
  expectGeneralIsTheSame(parts(208, 20), {normal(40 * 500, 5), normal(20 * 32, 6), normal(600 * 32, 7)}, {40},
                         40, 40 * 32);
}

// What a loop's extent is a multiple of can be seen, what else it is made of need not be.
TEST(GeneralKernel, ExtentsThatAreScalarsAreOneByTheirMultiple) {
  const auto rows = [](const std::string& extent) {
    return "kernel @k(in x: f32[n, dim(" + extent + ")], out y: f32[n, dim(" + extent +
           ")]) scalars (n; h; " + extent + ") units u < n {\n  for e < dim(" + extent +
           ") vector {\n    y[u, e] = x[u, e] + 1.0\n  }\n}\n";
  };
  const std::optional<std::string> key = generalKey(rows("96*floordiv(h, 4)"));
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key, generalKey(rows("192*floordiv(h, 4) - 192*floordiv(h, 8)")));
  EXPECT_NE(key, generalKey(rows("8*h")));
  EXPECT_NE(key, generalKey(rows("7*h")));
  expectGeneralIsTheSame(rows("96*floordiv(h, 4)"), {normal(2 * 192, 8)}, {2, 9, 192}, 2, 2 * 192);
}

// A scalar that may be less than 0 is no size, of which code may take that it is none: it stays what it is
// made of.
TEST(GeneralKernel, ScalarsBelowNothingStayWhatTheyAreMadeOf) {
  const auto added = [](const std::string& scalar) {
    return "kernel @k(in x: f32[n, 96], out y: f32[n, 96]) scalars (n; h; " + scalar +
           ") units u < n {\n  for e < 96 vector {\n    y[u, e] = x[u, e] + f32(dim(" + scalar +
           "))\n  }\n}\n";
  };
  ASSERT_TRUE(generalKey(added("h - 16")).has_value());
  EXPECT_NE(generalKey(added("h - 16")), generalKey(added("h - 17")));
  EXPECT_EQ(generalKey(added("h + 16")), generalKey(added("h + 17")));
  for (const int64_t h : {3, 20})
    expectGeneralIsTheSame(added("h - 16"), {normal(2 * 96, 9)}, {2, h, h - 16}, 2, 2 * 96);
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

// A table with a place for each byte is code for just that: registers may hold it. One that other numbers
// look into is of any size.
TEST(GeneralKernel, TablesOfBytesStay) {
  const auto lookUp = [](const std::string& from, int size) {
    const std::string c = std::to_string(size);
    return "kernel @k(in x: " + from + "[n, 96], in t: u8[" + c +
           "], out y: u8[n, 96]) scalars (n) units u < n {\n  for e < 96 vector {\n    y[u, e] = "
           "t[i64(i32(x[u, e]))]\n  }\n}\n";
  };
  EXPECT_NE(generalKey(lookUp("u8", 256)), generalKey(lookUp("u8", 300)));
  EXPECT_EQ(generalKey(lookUp("i16", 256)), generalKey(lookUp("i16", 300)));
  const Parsed parsed(lookUp("u8", 256));
  const std::optional<GeneralKernel> general = generalOf(parsed.kernel);
  ASSERT_TRUE(general.has_value());
  const Expr size = general->kernel.buffers[1]->shape[0];
  ASSERT_EQ(size.kind(), ExprKind::intConstant);
  EXPECT_EQ(size.intValue(), 256);
}

TEST(GeneralKernel, ComputesWhatItWasMadeOf) {
  for (const auto& [form, half, width] :
       {std::tuple{"floordiv(h + 1, 2)", 3, 96}, {"floordiv(h + 3, 4)", 2, 144}, {"floordiv(h, 3)", 1, 40}}) {
    const int64_t n = 2;
    const auto count = static_cast<size_t>(n * half * width);
    expectGeneralIsTheSame(layer(form, width), {normal(count, 7), normal(static_cast<size_t>(width), 8)},
                           {n, 5, half, n * half}, n * half, count);
  }
}

}  // namespace
}  // namespace dyn::loop
