// Products of f16 and bf16: computed in f32, rounded once, weights of halves in memory.
#include "compiler/driver/target_choice.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::withType;

const char* kProducts = R"(
  fn @main(%x: Tensor[(n, 3), TYPE], %y: Tensor[(3, m), TYPE]) {
    %w = constant() {value = TYPE[3, 2] [[0.1, 0.2], [0.3, 0.4], [-0.5, 65504]]}
    %v = constant() {value = TYPE[2, 3] [[0.1, 0.2, 7], [0.3, 1e-6, -4]]}
    %t = transpose(%v)
    %a = matmul(%x, %w)
    %b = matmul(%x, %t)
    %c = matmul(%x, %y)
    return %a, %b, %c
  })";

int64_t narrowProductsAfter(const std::string& text, const char* pass) {
  return test::opsAfter(text, pass, [](const Op& op) {
    return op.def->cls == OpClass::contraction && op.results[0].type.dtype() != Dtype::f32;
  });
}

TEST(Widen, noProductOfHalvesIsLeft) {
  for (const char* dtype : {"f16", "bf16"}) {
    const std::string text = withType(kProducts, dtype);
    EXPECT_EQ(narrowProductsAfter(text, "fold"), 3);
    EXPECT_EQ(narrowProductsAfter(text, "widen"), 0);
    // Constants are packed as they are: no cast of theirs is left to run.
    EXPECT_EQ(test::opsAfter(text, "dce", [](const Op& op) { return op.def == &ops::pack_bOp; }), 2);
    EXPECT_EQ(test::opsAfter(text, "dce", [](const Op& op) { return op.def == &ops::castOp; }), 2 + 3);
  }
}

// A matrix of so many bytes that constants are not made larger for nothing.
std::string largeMatrix(const char* dtype, int rows, int columns) {
  std::string text = std::string(dtype) + "[" + std::to_string(rows) + ", " + std::to_string(columns) + "] [";
  for (int i = 0; i < rows; ++i) {
    text += i ? ", [" : "[";
    for (int j = 0; j < columns; ++j)
      text += (j ? ", " : "") + std::to_string((i * 7 + j * 13) % 31 - 15) + "e-2";
    text += "]";
  }
  return text + "]";
}

// Weights of halves stay so, whatever reads them, and whatever lies between.
TEST(Widen, packedMatricesStayNarrow) {
  for (const char* dtype : {"f16", "bf16"}) {
    const Dtype type = *parseDtype(dtype);
    const auto narrow = [&](const Op& op) {
      return op.def == &ops::pack_bOp && op.results[0].type.dtype() == type;
    };
    EXPECT_EQ(test::opsAfter(withType(kProducts, dtype), "dce", narrow), 2);
    for (const auto& [steps, rows, columns] :
         {std::tuple{"%t = cast(%w) {to = f32}", 270, 131},
          std::tuple{"%c = cast(%w) {to = f32} %t = transpose(%c)", 131, 270},
          std::tuple{"%c = transpose(%w) %t = cast(%c) {to = f32}", 131, 270}}) {
      const std::string mixed = "fn @main(%x: Tensor[(n, 270), f32]) { %w = constant() {value = " +
                                largeMatrix(dtype, rows, columns) + "} " + steps +
                                " %y = matmul(%x, %t) return %y }";
      EXPECT_EQ(test::opsAfter(mixed, "dce", narrow), 1) << steps;
      EXPECT_EQ(test::opsAfter(mixed, "dce", [](const Op& op) { return op.def == &ops::castOp; }), 0);
      std::vector<std::vector<HostTensor>> inputs;
      for (int64_t n : {0, 1, 2, 13}) inputs.push_back({test::randomTensor(Dtype::f32, {n, 270}, 5)});
      test::expectSame(mixed, inputs, {}, 1e-5);  // the left side is not rounded
    }
  }
}

// Where the machine multiplies pairs of bf16 and both sides are bf16, they are read as they are: rounding
// changes neither.
TEST(Widen, pairsOfBf16AreMultipliedAsTheyAre) {
  for (const char* target : {"skylake-avx512", "znver4"}) {
    Result<Target> chosen = chooseTarget(target);
    ASSERT_TRUE(chosen.ok()) << chosen.error().toString();
    CompileOptions options;
    options.target = *chosen;
    const auto rounded = [](const Op& op) { return op.def == &ops::pack_bOp && op.attributes.has("dtype"); };
    EXPECT_EQ(test::opsAfter(withType(kProducts, "bf16"), "dce", rounded, options),
              options.target->machine.avx512Bf16 ? 2 : 0);
    EXPECT_EQ(test::opsAfter(withType(kProducts, "f16"), "dce", rounded, options), 0);
  }
}

TEST(Widen, resultsAreThoseOfTheReference) {
  for (const auto& [dtype, type, tolerance] :
       {std::tuple{"f16", Dtype::f16, 2e-3}, {"bf16", Dtype::bf16, 2e-2}}) {
    std::vector<std::vector<HostTensor>> inputs;
    for (int64_t n : {0, 1, 2, 13})
      for (int64_t m : {0, 1, 37})
        inputs.push_back({test::randomTensor(type, {n, 3}, 5), test::randomTensor(type, {3, m}, 6)});
    test::expectSame(withType(kProducts, dtype), inputs, {}, tolerance);
  }
}

// What lies between two products is the epilogue of the first, rounded after each operation.
TEST(Widen, halvesInEpilogues) {
  for (const auto& [dtype, type, tolerance] :
       {std::tuple{"f16", Dtype::f16, 2e-3}, {"bf16", Dtype::bf16, 2e-2}}) {
    const std::string text = withType(R"(
      fn @main(%x: Tensor[(n, 3), TYPE]) {
        %w = constant() {value = TYPE[3, 4] [[0.1, 0.2, 7, 1], [0.3, 0.4, -4, 2], [3, 2, 1, -1]]}
        %c = constant() {value = TYPE[4] [1, 2, -3, 0.5]}
        %v = constant() {value = TYPE[4, 2] [[0.1, 0.2], [0.3, 0.4], [-0.5, 3], [1, -2]]}
        %a = matmul(%x, %w)
        %s = add(%a, %c)
        %e = tanh(%s)
        %y = matmul(%e, %v)
        return %y
      })",
                                      dtype);
    EXPECT_EQ(test::opsAfter(text, "fuse",
                             [](const Op& op) {
                               return op.def->name == "fused" &&
                                      op.attributes.string("kind") == "contraction";
                             }),
              1);
    std::vector<std::vector<HostTensor>> inputs;
    for (int64_t n : {0, 1, 2, 13}) inputs.push_back({test::randomTensor(type, {n, 3}, 5)});
    test::expectSame(text, inputs, {}, tolerance);
  }
}

TEST(Widen, transposesAroundAProductAreStillReadInPlace) {
  const std::string text = withType(R"(
    fn @main(%q: Tensor[(b, s, h, d), TYPE], %k: Tensor[(b, t, h, d), TYPE]) {
      %a = transpose(%q) {perm = [0, 2, 1, 3]}
      %c = transpose(%k) {perm = [0, 2, 3, 1]}
      %y = matmul(%a, %c)
      return %y
    })",
                                    "f16");
  EXPECT_EQ(test::opsAfter(text, "dce", [](const Op& op) { return op.def == &ops::transposeOp; }), 0);
  test::expectSame(
      text,
      {{test::randomTensor(Dtype::f16, {2, 5, 3, 4}, 5), test::randomTensor(Dtype::f16, {2, 7, 3, 4}, 6)},
       {test::randomTensor(Dtype::f16, {1, 1, 2, 8}, 5), test::randomTensor(Dtype::f16, {1, 0, 2, 8}, 6)}},
      {}, 2e-3);
}

TEST(Widen, convolutionsToo) {
  for (const char* dtype : {"f16", "bf16"}) {
    const std::string text = withType(R"(
      fn @main(%x: Tensor[(n, 2, h, w), TYPE], %b: Tensor[(2), TYPE]) {
        %w = constant() {value = TYPE[2, 2, 1, 2] [[[[0.5, 1]], [[2, -1]]], [[[3, 0.25]], [[-2, 1]]]]}
        %y = conv(%x, %w, %b) {strides = [1, 1]}
        %z = conv_transpose(%x, %w) {strides = [2, 2]}
        return %y, %z
      })",
                                      dtype);
    EXPECT_EQ(narrowProductsAfter(text, "widen"), 0);
    const Dtype type = *parseDtype(dtype);
    test::expectSame(text,
                     {{test::randomTensor(type, {1, 2, 5, 7}, 5), test::randomTensor(type, {2}, 6)},
                      {test::randomTensor(type, {3, 2, 1, 2}, 5), test::randomTensor(type, {2}, 6)}},
                     {}, type == Dtype::f16 ? 4e-3 : 4e-2);
  }
}

}  // namespace
}  // namespace dyn
