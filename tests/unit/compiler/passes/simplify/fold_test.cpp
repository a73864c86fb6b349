// Constants that a fold makes larger: filters of convolutions may grow to f32, tables may not.
#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

std::string filterBytes(const std::vector<int64_t>& shape) {
  int64_t number = 0;
  const auto write = [&](const auto& self, size_t axis) -> std::string {
    if (axis == shape.size()) return std::to_string(number++ * 7 % 31 - 15);
    std::string items;
    for (int64_t i = 0; i < shape[axis]; ++i) items += (i == 0 ? "" : ", ") + self(self, axis + 1);
    return "[" + items + "]";
  };
  std::string type;
  for (int64_t size : shape) type += (type.empty() ? "" : ", ") + std::to_string(size);
  return "i8[" + type + "] " + write(write, 0);
}

int64_t dequantisedAfterFold(const std::string& text) {
  return test::opsAfter(text, "fold", [](const Op& op) { return op.def == &ops::dequantize_linearOp; });
}

// As quantised models with 16 bits of activations have them, and those with quantised weights alone.
TEST(Fold, FiltersAreDequantisedOnce) {
  for (const char* conv : {"conv", "conv_transpose"}) {
    const std::string text =
        "fn @main(%x: Tensor[(n, 64, h, w), f32]) {\n%q = constant() {value = " +
        filterBytes({64, 32, 3, 3}) + "}\n%f = dequantize_linear(%q, f32[] 0.01)\n%y = " + conv +
        "(%x, %f) {group = " + (std::string(conv) == "conv" ? "2" : "1") + "}\nreturn %y }";
    EXPECT_EQ(dequantisedAfterFold(text), 0) << conv;
    test::expectSame(text, {{test::randomTensor(Dtype::f32, {2, 64, 5, 4}, 1)},
                            {test::randomTensor(Dtype::f32, {1, 64, 3, 7}, 2)}});
  }
}

TEST(Fold, TablesStayAsSmallAsTheFile) {
  const std::string text =
      "fn @main(%i: Tensor[(n), i64]) {\n%q = constant() {value = " + filterBytes({640, 32}) +
      "}\n%t = dequantize_linear(%q, f32[] 0.01)\n%y = gather(%t, %i) {axis = 0}\n"
      "return %y }";
  EXPECT_EQ(dequantisedAfterFold(text), 1);
}

// Another reader of the filters wants them at every run: they are not dequantised twice.
TEST(Fold, FiltersThatAreReadOtherwiseStay) {
  const std::string text =
      "fn @main(%x: Tensor[(n, 32, h, w), f32]) {\n%q = constant() {value = " + filterBytes({64, 32, 3, 3}) +
      "}\n%f = dequantize_linear(%q, f32[] 0.01)\n%y = conv(%x, %f)\n%z = neg(%f)\n"
      "return %y, %z }";
  EXPECT_EQ(dequantisedAfterFold(text), 1);
}

}  // namespace
}  // namespace dyn
