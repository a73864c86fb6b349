// Axes of two to four elements beside the lanes: what lies between is read and written by the same iteration
// of a loop (codegen/emit/interleaving_emitter.cpp), rows of triangles are copied or filled in whole
// iterations, and numbers of 64 bits are converted by way of 32 where all are small. Against the reference,
// for this host's vectors and for those of AVX2.
#include <limits>

#include "tests/unit/compiler/driver/machines_here.h"

namespace dyn {
namespace {

using test::expectSameOnMachines;
using test::withType;

// Lengths around those of vectors of any type, and of nothing.
constexpr int64_t kLengths[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 67, 127, 131, 257, 1031};

struct NamedType {
  const char* name;
  Dtype dtype;
};
constexpr NamedType kMovedTypes[] = {{"f32", Dtype::f32}, {"f64", Dtype::f64}, {"f16", Dtype::f16},
                                     {"u8", Dtype::u8},   {"i16", Dtype::i16}, {"bool", Dtype::boolean}};

std::string withCount(std::string text, int64_t count) {
  for (size_t at; (at = text.find('C')) != std::string::npos;) text.replace(at, 1, std::to_string(count));
  return text;
}

TEST(ShortAxes, ColumnsAndPlanesTurnedOver) {
  for (const NamedType& type : kMovedTypes)
    for (const int64_t count : {2, 3, 4, 5}) {
      std::vector<std::vector<HostTensor>> planes, columns;
      for (const int64_t length : kLengths)
        for (const int64_t n : {1, 3}) {
          planes.push_back({test::randomTensor(type.dtype, {n, count, length}, 1)});
          columns.push_back({test::randomTensor(type.dtype, {n, length, count}, 2)});
        }
      expectSameOnMachines(
          withType(
              withCount(
                  "fn @main(%x: Tensor[(n, C, m), TYPE]) { %y = transpose(%x) {perm = [0, 2, 1]} return %y }",
                  count),
              type.name),
          planes);
      expectSameOnMachines(
          withType(
              withCount(
                  "fn @main(%x: Tensor[(n, m, C), TYPE]) { %y = transpose(%x) {perm = [0, 2, 1]} return %y }",
                  count),
              type.name),
          columns);
      if (HasFatalFailure()) return;
    }
}

// Without an axis outside, and with sizes that are known.
TEST(ShortAxes, NothingOutside) {
  for (const int64_t count : {2, 3, 4}) {
    std::vector<std::vector<HostTensor>> open;
    for (const int64_t length : kLengths)
      open.push_back({test::randomTensor(Dtype::f32, {length, count}, 2)});
    expectSameOnMachines(
        withCount("fn @main(%x: Tensor[(m, C), f32]) { %y = transpose(%x) {perm = [1, 0]} return %y }",
                  count),
        open);
    expectSameOnMachines(
        withCount("fn @main(%x: Tensor[(C, 24), f32]) { %y = transpose(%x) {perm = [1, 0]} return %y }",
                  count),
        {{test::randomTensor(Dtype::f32, {count, 24}, 1)}});
    expectSameOnMachines(
        withCount("fn @main(%x: Tensor[(17, C), f32]) { %y = transpose(%x) {perm = [1, 0]} return %y }",
                  count),
        {{test::randomTensor(Dtype::f32, {17, count}, 1)}});
    if (HasFatalFailure()) return;
  }
}

TEST(ShortAxes, BlocksOfPixels) {
  for (const NamedType& type : kMovedTypes)
    for (const int64_t block : {2, 3, 4}) {
      std::vector<std::vector<HostTensor>> spaces, depths;
      for (const int64_t width : {0, 1, 5, 16, 17, 33, 67})
        for (const int64_t height : {1, 3}) {
          spaces.push_back({test::randomTensor(type.dtype, {2, 3, height * block, width * block}, 1)});
          depths.push_back({test::randomTensor(type.dtype, {2, 3 * block * block, height, width}, 2)});
        }
      const std::string side = std::to_string(block), all = std::to_string(3 * block * block);
      expectSameOnMachines(
          withType("fn @main(%x: Tensor[(n, 3, h, w), TYPE]) { %y = space_to_depth(%x) {block = " + side +
                       "} return %y }",
                   type.name),
          spaces);
      for (const char* mode : {"dcr", "crd"})
        expectSameOnMachines(withType("fn @main(%x: Tensor[(n, " + all +
                                          ", h, w), TYPE]) { %y = depth_to_space(%x) {block = " + side +
                                          ", mode = \"" + mode + "\"} return %y }",
                                      type.name),
                             depths);
      if (HasFatalFailure()) return;
    }
}

// What is computed on the way, of several operands, and stored in two results.
TEST(ShortAxes, WhatIsComputedBetween) {
  std::vector<std::vector<HostTensor>> inputs, pairs;
  for (const int64_t length : kLengths) {
    inputs.push_back({test::randomTensor(Dtype::f32, {2, 3, length}, 1),
                      test::randomTensor(Dtype::f32, {2, length, 3}, 2),
                      test::randomTensor(Dtype::f32, {3}, 3)});
    pairs.push_back(
        {test::randomTensor(Dtype::f32, {length, 1}, 1), test::randomTensor(Dtype::f32, {length, 1}, 2)});
  }
  const std::string head =
      "fn @main(%x: Tensor[(n, 3, m), f32], %y: Tensor[(n, m, 3), f32], %s: Tensor[(3), f32]) { ";
  expectSameOnMachines(head +
                           "%t = transpose(%x) {perm = [0, 2, 1]} %a = mul(%t, %s) %b = add(%a, %y) "
                           "%c = cast(%b) {to = u8} return %b, %c }",
                       inputs, 1e-6);
  expectSameOnMachines(
      head + "%t = transpose(%y) {perm = [0, 2, 1]} %a = sub(%t, %x) %b = abs(%a) return %a, %b }", inputs,
      1e-6);
  expectSameOnMachines(
      "fn @main(%a: Tensor[(m, 1), f32], %b: Tensor[(m, 1), f32]) { %y = concat(%a, %b) {axis = 1} return %y "
      "}",
      pairs);
}

TEST(ShortAxes, TrianglesAndDiagonals) {
  for (const NamedType& type : kMovedTypes)
    for (const char* body : {"%y = trilu(%x)", "%y = trilu(%x) {upper = 0}",
                             "%k = constant() {value = i64[] 5} %y = trilu(%x, %k)", "%y = eye_like(%x)",
                             "%y = eye_like(%x) {k = 3}", "%y = eye_like(%x) {k = -70}",
                             "%y = eye_like(%x) {k = 9223372036854775807}"}) {
      std::vector<std::vector<HostTensor>> inputs;
      for (const int64_t m : kLengths)
        for (const int64_t n : {1, 70, 140})
          if (m <= 300) inputs.push_back({test::randomTensor(type.dtype, {n, m}, 1)});
      expectSameOnMachines(
          withType("fn @main(%x: Tensor[(n, m), TYPE]) { " + std::string(body) + " return %y }", type.name),
          inputs);
      if (HasFatalFailure()) return;
    }
}

// Small numbers, then one that is not in the midst of them.
TEST(ShortAxes, NumbersOf64BitsBySize) {
  constexpr double kReals[] = {0.0,
                               -0.0,
                               2147483647.5,
                               -2147483648.5,
                               2147483648.0,
                               -2147483648.0,
                               4294967296.5,
                               -1.5,
                               1e15,
                               -1e15,
                               9.3e18,
                               -9.3e18,
                               1.9e19,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
  constexpr int64_t kIntegers[] = {0,
                                   -1,
                                   INT32_MAX,
                                   INT32_MIN,
                                   int64_t{INT32_MAX} + 1,
                                   int64_t{INT32_MIN} - 1,
                                   int64_t{1} << 32,
                                   int64_t{1} << 53,
                                   INT64_MAX,
                                   INT64_MIN};
  for (const NamedType& real : {NamedType{"f32", Dtype::f32}, NamedType{"f64", Dtype::f64}})
    for (const NamedType& whole : {NamedType{"i64", Dtype::i64}, NamedType{"u64", Dtype::u64}}) {
      std::vector<std::vector<HostTensor>> reals, integers;
      for (const double value : kReals) {
        HostTensor x = test::randomTensor(real.dtype, {37}, 1);
        x.setReal(21, value);
        x.setReal(36, value);
        reals.push_back({std::move(x)});
      }
      for (const int64_t value : kIntegers) {
        HostTensor x = test::randomTensor(whole.dtype, {37}, 2);
        x.setInt(21, value);
        x.setInt(36, value);
        integers.push_back({std::move(x)});
      }
      const auto cast = [](const char* from, const char* to) {
        return "fn @main(%x: Tensor[(n), " + std::string(from) + "]) { %y = cast(%x) {to = " + to +
               "} return %y }";
      };
      expectSameOnMachines(cast(real.name, whole.name), reals);
      expectSameOnMachines(cast(whole.name, real.name), integers);
      if (HasFatalFailure()) return;
    }
}

TEST(ShortAxes, PowersOfIntegersByOneExponent) {
  for (const NamedType& type :
       {NamedType{"i64", Dtype::i64}, NamedType{"i32", Dtype::i32}, NamedType{"u8", Dtype::u8}}) {
    for (const int64_t exponent : {0, 1, 2, 3, 7, 15, 16, 17, 63}) {
      HostTensor x = test::randomTensor(type.dtype, {37}, 1), e = *HostTensor::create(type.dtype, {});
      if (type.dtype != Dtype::u8) x.setInt(5, -3);
      e.setInt(0, exponent);
      const std::string number = std::to_string(exponent);
      expectSameOnMachines(withType("fn @main(%x: Tensor[(n), TYPE]) { %e = constant() {value = TYPE[] " +
                                        number + "} %y = pow(%x, %e) return %y }",
                                    type.name),
                           {{x}});
      expectSameOnMachines(
          withType("fn @main(%x: Tensor[(n), TYPE], %e: Tensor[(), TYPE]) { %y = pow(%x, %e) return %y }",
                   type.name),
          {{x, e}});
      if (HasFatalFailure()) return;
    }
  }
}

// Weights that are short binary fractions: sums are exact, whatever they are made in.
TEST(ShortAxes, ImagesOfIntegersResized) {
  for (const NamedType& type :
       {NamedType{"u8", Dtype::u8}, NamedType{"i8", Dtype::i8}, NamedType{"u16", Dtype::u16},
        NamedType{"i16", Dtype::i16}, NamedType{"i32", Dtype::i32}, NamedType{"u32", Dtype::u32},
        NamedType{"i64", Dtype::i64}, NamedType{"u64", Dtype::u64}})
    for (const char* scales : {"2.0, 2.0", "0.5, 2.0", "4.0, 0.25", "1.0, 2.0", "2.0, 1.0", "1.0, 1.0"})
      for (const char* mode : {"linear", "cubic"}) {
        std::vector<std::vector<HostTensor>> inputs;
        for (const auto& [h, w] : {std::pair{4, 4}, {8, 20}, {28, 36}}) {
          HostTensor x = test::randomTensor(type.dtype, {1, 2, h, w}, 1);
          x.setInt(0, 127);
          x.setInt(3, 100);
          inputs.push_back({std::move(x)});
        }
        expectSameOnMachines(
            withType("fn @main(%x: Tensor[(n, c, h, w), TYPE]) { %s = constant() {value = f32[2] [" +
                         std::string(scales) + "]} %y = resize(%x, _, %s) {axes = [2, 3], mode = \"" + mode +
                         "\"} return %y }",
                     type.name),
            inputs);
        if (HasFatalFailure()) return;
      }
}

// Halves are widened row by row, and rounded once: numbers below the normal ones, those that round beyond the
// largest, infinities and NaN too.
TEST(ShortAxes, ImagesOfHalvesResized) {
  struct Half {
    NamedType type;
    double smallest, largest, digit;
  };
  for (const Half& half : {Half{{"f16", Dtype::f16}, 0x1p-24, 65504, 0x1p-10},
                           Half{{"bf16", Dtype::bf16}, 0x1p-133, 0x1.fep127, 0x1p-7}})
    for (const char* scales : {"2.0, 2.0", "0.5, 2.0", "1.3, 0.7", "1.0, 3.0", "3.0, 1.0"})
      for (const char* attributes :
           {"mode = \"linear\"", "mode = \"cubic\"", "mode = \"linear\", antialias = 1"}) {
        std::vector<std::vector<HostTensor>> inputs;
        for (const auto& [h, w] : {std::pair{1, 1}, {4, 4}, {8, 21}, {28, 36}}) {
          HostTensor x = test::randomTensor(half.type.dtype, {1, 2, h, w}, 1);
          inputs.push_back({x});
          for (int64_t i = 0; i < x.elementCount(); i += 2)
            x.setReal(i, i % 4 == 0 ? -half.smallest * static_cast<double>(i % 37) : 0);
          inputs.push_back({x});
          // Taps of weight 0 make NaN of what is not finite; reference and builtin do not have the same ones.
          const bool weighsNothing = std::string_view(scales).find("1.0") != std::string_view::npos ||
                                     std::string_view(attributes).ends_with("antialias = 1");
          if (x.elementCount() < 16 || weighsNothing) continue;
          x.setReal(1, half.largest), x.setReal(2, -std::numeric_limits<double>::infinity());
          x.setReal(9, std::numeric_limits<double>::quiet_NaN());
          inputs.push_back({std::move(x)});
        }
        expectSameOnMachines(
            withType("fn @main(%x: Tensor[(n, c, h, w), TYPE]) { %s = constant() {value = f32[2] [" +
                         std::string(scales) + "]} %y = resize(%x, _, %s) {axes = [2, 3], " + attributes +
                         "} return %y }",
                     half.type.name),
            inputs, half.digit);
        if (HasFatalFailure()) return;
      }
}

// Weights that are none: axis after axis, as the standard's evaluator does, whichever axes change.
TEST(ShortAxes, IntegersResizedAxisByAxis) {
  for (const NamedType& type :
       {NamedType{"u8", Dtype::u8}, NamedType{"i16", Dtype::i16}, NamedType{"i64", Dtype::i64}})
    for (const char* axes : {"0, 1, 2, 3", "0, 2, 3", "1, 3", "0, 1", "0, 1, 3", "3"})
      for (const char* attributes :
           {"mode = \"linear\"", "mode = \"cubic\"",
            "mode = \"linear\", coordinate_transformation_mode = \"align_corners\""}) {
        const std::string list = axes;
        const auto count = static_cast<int64_t>(list.size() + 2) / 3;
        HostTensor x = test::randomTensor(type.dtype, {2, 3, 4, 5}, 1),
                   s = *HostTensor::create(Dtype::i64, {count});
        for (int64_t i = 0; i < x.elementCount(); i += 7) x.setInt(i, 100);
        for (int64_t i = 0; i < count; ++i) s.setInt(i, 7 - i);
        expectSameOnMachines(
            withType("fn @main(%x: Tensor[(a, b, c, d), TYPE], %s: Tensor[(" + std::to_string(count) +
                         "), i64]) { %y = resize(%x, _, _, %s) {axes = [" + list + "], " + attributes +
                         "} return %y }",
                     type.name),
            {{x, s}});
        if (HasFatalFailure()) return;
      }
}

// Each operand of a concatenation along the innermost axis is copied by a loop of its own; beyond 64 loops
// each copies several.
TEST(ShortAxes, ManyOperandsJoined) {
  for (const NamedType& type : {NamedType{"f32", Dtype::f32}, NamedType{"i64", Dtype::i64}})
    for (const size_t count : {4u, 5u, 17u, 64u, 65u, 66u, 128u, 140u})
      for (const bool hasOwnNames : {false, true}) {
        std::string parameters, operands;
        std::vector<HostTensor> inputs;
        for (size_t i = 0; i < count; ++i) {
          const int64_t length = kLengths[(i * 7 + count) % 9];
          const std::string name = "%x" + std::to_string(i),
                            dim = hasOwnNames ? "n" + std::to_string(i) : std::to_string(length);
          parameters += (i ? ", " : "") + name + ": Tensor[(r, " + dim + "), TYPE]";
          operands += (i ? ", " : "") + name;
          inputs.push_back(test::randomTensor(type.dtype, {3, length}, static_cast<uint32_t>(i)));
        }
        test::expectSame(
            withType("fn @main(" + parameters + ") { %y = concat(" + operands + ") {axis = 1} return %y }",
                     type.name),
            {inputs}, {}, 0);
        if (HasFatalFailure()) return;
      }
}

}  // namespace
}  // namespace dyn
