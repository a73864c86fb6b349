// Unique and non-maximum suppression as kernels of a device, on the simulated driver, against the reference
// interpreter, exactly: ties, NaN, zeros of both signs, words of 32 bits that are full and that are not,
// several blocks, nothing at all.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/compiler/passes/device/device_statements.h"

namespace dyn::test {
namespace {

constexpr double kDeviceSelectionsNan = std::numeric_limits<double>::quiet_NaN();

using OnDeviceSelections = DeviceStatements;

HostTensor one(Dtype dtype, double value) {
  HostTensor made = *HostTensor::create(dtype, {1});
  if (isReal(dtype))
    made.setReal(0, value);
  else
    made.setInt(0, static_cast<int64_t>(value));
  return made;
}

// Of few values, so that many are equal.
HostTensor coarse(std::vector<int64_t> shape, uint32_t seed, double step, uint32_t values) {
  HostTensor made = *HostTensor::create(Dtype::f32, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < made.elementCount(); ++i) made.setReal(i, step * (random() % values));
  return made;
}

struct Boxes {
  int64_t batches, boxes, classes;
};
constexpr Boxes kSelectionSizes[] = {{1, 1, 1},  {1, 0, 2},  {0, 3, 1},  {2, 3, 0},  {1, 7, 3},  {2, 31, 1},
                                     {1, 32, 2}, {1, 33, 1}, {2, 64, 2}, {1, 65, 1}, {1, 131, 3}};

TEST_F(OnDeviceSelections, boxesWithEveryNumber) {
  for (const char* attributes : {"", " {center_point_box = 1}"}) {
    const std::string text =
        std::string(
            "fn @main(%b: Tensor[(c, n, 4), f32], %s: Tensor[(c, k, n), f32], %m: Tensor[(1), i64], "
            "%i: Tensor[(1), f32], %t: Tensor[(1), f32]) {\n  %y = non_max_suppression(%b, %s, %m, %i, %t)") +
        attributes + "\n  return %y\n}";
    std::vector<std::vector<HostTensor>> inputs;
    uint32_t seed = 1;
    for (const Boxes& s : kSelectionSizes)
      for (const auto& [most, overlap, least] : {std::tuple{int64_t{1000}, 0.5, 0.25},
                                                 {3, 0.1, -1.0},
                                                 {7, 0.0, 0.5},
                                                 {0, 0.5, 0.0},
                                                 {-2, 0.5, 0.0},
                                                 {5, 0.9, 100.0}}) {
        ++seed;
        inputs.push_back({coarse({s.batches, s.boxes, 4}, seed, 0.25, 12),
                          coarse({s.batches, s.classes, s.boxes}, seed + 100, 0.125, 9),
                          one(Dtype::i64, most), one(Dtype::f32, overlap), one(Dtype::f32, least)});
      }
    // Scores and boxes that are no numbers: such scores pass no limit, such boxes overlap nothing.
    HostTensor scores = coarse({1, 2, 40}, 5, 0.125, 9), boxes = coarse({1, 40, 4}, 6, 0.25, 12);
    for (int64_t i = 0; i < 40; i += 7)
      scores.setReal(i, kDeviceSelectionsNan), boxes.setReal(i * 4 + i % 4, kDeviceSelectionsNan);
    boxes.setReal(9 * 4, INFINITY);
    inputs.push_back({boxes, scores, one(Dtype::i64, 100), one(Dtype::f32, 0.2), one(Dtype::f32, 0.125)});
    SCOPED_TRACE(text);
    same(text, inputs);
    EXPECT_EQ(counted(text, "device_kernels"), 5);
  }
}

TEST_F(OnDeviceSelections, boxesWithFewNumbers) {
  for (const char* operands : {"%b, %s", "%b, %s, %m", "%b, %s, %m, %i", "%b, %s, %m, _, %i"}) {
    const std::string text =
        std::string(
            "fn @main(%b: Tensor[(c, n, 4), f32], %s: Tensor[(c, k, n), f32], %m: Tensor[(), i64], "
            "%i: Tensor[(), f32]) {\n  %y = non_max_suppression(") +
        operands + ")\n  return %y, %m, %i\n}";
    std::vector<std::vector<HostTensor>> inputs;
    for (const Boxes& s : kSelectionSizes)
      inputs.push_back({coarse({s.batches, s.boxes, 4}, 3, 0.25, 12),
                        coarse({s.batches, s.classes, s.boxes}, 4, 0.125, 9),
                        one(Dtype::i64, 20).reshaped({}), one(Dtype::f32, 0.3).reshaped({})});
    SCOPED_TRACE(text);
    same(text, inputs);
  }
}

TEST_F(OnDeviceSelections, distinctElements) {
  for (const char* dtype : {"f32", "f16", "f64", "i64", "i32", "u8", "bool"})
    for (const char* attributes : {"", " {sorted = 0}"})
      for (const std::string results : {"%v", "%v, %f", "%v, %f, %i", "%v, %f, %i, %c"}) {
        if (results.find("%c") == std::string::npos && dtype != std::string("f32")) continue;
        const std::string text = std::string("fn @main(%x: Tensor[(n, m), ") + dtype + "]) {\n  " + results +
                                 " = unique(%x)" + attributes + "\n  return " + results + "\n}";
        const Dtype element = *parseDtype(dtype);
        std::vector<std::vector<HostTensor>> inputs;
        for (const auto& [n, m] : {std::pair{1, 1}, {0, 3}, {5, 7}, {1, 128}, {43, 3}, {2, 131}})
          inputs.push_back({randomTensor(element, {n, m}, 7)});
        if (isReal(element)) {
          HostTensor special = *HostTensor::create(element, {8, 8});
          const double values[] = {0.0, -0.0, kDeviceSelectionsNan, 1, -1, kDeviceSelectionsNan, INFINITY, 1};
          for (int64_t i = 0; i < 64; ++i) special.setReal(i, values[(i * 5 + 1) % 8]);
          inputs.push_back({special});
        }
        SCOPED_TRACE(text);
        same(text, inputs);
        EXPECT_EQ(counted(text, "device_kernels"), 3);
      }
}

// What such results are read by goes on where they are; sizes that depend on them are known to the host.
TEST_F(OnDeviceSelections, whatFollows) {
  const std::string text =
      "fn @main(%x: Tensor[(n), f32]) {\n  %v, %f, %i, %c = unique(%x)\n  %w = tanh(%v)\n"
      "  %a = cast(%c) {to = f32}\n  %y = mul(%w, %a)\n  %z = shape(%v)\n  return %y, %z, %i\n}";
  same(text, {{coarse({50}, 2, 0.5, 9)}, {coarse({1}, 2, 0.5, 9)}, {coarse({0}, 2, 0.5, 9)}}, 1e-6);
}

// Few values, so that slices come again; NaN and zeros of both signs in them; no slices, and slices of
// nothing.
TEST_F(OnDeviceSelections, distinctSlices) {
  for (const char* dtype : {"f32", "f16", "i64", "bool"})
    for (const char* attributes :
         {"{axis = 0}", "{axis = 1, sorted = 0}", "{axis = -1}", "{axis = -3, sorted = 0}"})
      for (const char* results : {"%v", "%v, %f, %i, %c"}) {
        // Types differ in how elements are read alone.
        const bool isFirst = attributes == std::string("{axis = 0}");
        if (!isFirst && dtype != std::string("f32")) continue;
        const std::string text = std::string("fn @main(%x: Tensor[(a, b, c), ") + dtype + "]) {\n  " +
                                 results + " = unique(%x) " + attributes + "\n  return " + results + "\n}";
        const Dtype element = *parseDtype(dtype);
        std::vector<std::vector<HostTensor>> inputs;
        using Shape = std::vector<int64_t>;
        for (const Shape& shape : {Shape{1, 1, 1},
                                   {7, 2, 1},
                                   {2, 13, 1},
                                   {5, 5, 3},
                                   {0, 3, 2},
                                   {3, 0, 2},
                                   {3, 2, 0},
                                   {37, 1, 2},
                                   {1, 2, 131}}) {
          HostTensor few = *HostTensor::create(element, shape);
          std::mt19937 random(11);
          for (int64_t i = 0; i < few.elementCount(); ++i) few.setReal(i, static_cast<int>(random() % 2));
          inputs.push_back({few});
        }
        if (isReal(element)) {
          HostTensor special = *HostTensor::create(element, {8, 8, 2});
          const double values[] = {0.0,      -0.0, kDeviceSelectionsNan, 1, 0.0, kDeviceSelectionsNan,
                                   INFINITY, 1};
          for (int64_t i = 0; i < special.elementCount(); ++i)
            special.setReal(i, values[(i * i + i / 5) % 8]);
          inputs.push_back({special});
        }
        SCOPED_TRACE(text);
        same(text, inputs);
        EXPECT_EQ(counted(text, "device_kernels"), 3);
      }
}

TEST_F(OnDeviceSelections, whatStaysOnTheHostSaysWhy) {
  EXPECT_THAT(remarks("fn @main(%x: Tensor[(), f32], %y: Tensor[(n), f32]) {\n  %v = unique(%x)\n"
                      "  %z = tanh(%y)\n  return %v, %z\n}"),
              testing::Contains("on the host: unique: a single element"));
}

}  // namespace
}  // namespace dyn::test
