// Products of f16 and bf16: computed in f32, rounded once, weights widened at load.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

std::string withType(std::string text, const char* dtype) {
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, dtype);
  return text;
}

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
