// Products with weights that are dequantised from few bits: the pass `few_bits` makes products of the bits of
// them, and results are those of the reference.
#include "compiler/ir/tensor_text.h"
#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

struct Form {
  Dtype dtype;
  int64_t k, n, block;  // block 0: a scale for each column
  bool turned = false, hasZeros = true;
};

HostTensor fewBitsNumbers(Dtype dtype, std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const int64_t any = static_cast<int64_t>(random() % 256);
    const bool isSigned = dtype == Dtype::i8 || dtype == Dtype::i4 || dtype == Dtype::i2;
    const int64_t range = dtype == Dtype::i8 || dtype == Dtype::u8   ? 256
                          : dtype == Dtype::i4 || dtype == Dtype::u4 ? 16
                                                                     : 4;
    tensor.setInt(i, any % range - (isSigned ? range / 2 : 0));
  }
  return tensor;
}

std::string fewBitsConstant(const std::string& name, const HostTensor& tensor) {
  std::string text = "  %" + name + " = constant() {value = " + tensorHead(tensor) + " ";
  appendElements(&text, tensor, tensor.elementCount() + 1);
  return text + "}\n";
}

// As importers write it: in one where scales are of columns, in steps where they are of blocks.
std::string fewBitsProgramOf(const Form& f) {
  const int64_t blocks = f.block == 0 ? 1 : (f.k + f.block - 1) / f.block;
  const auto oriented = [&](int64_t down, int64_t across) {
    return f.turned ? std::vector<int64_t>{across, down} : std::vector<int64_t>{down, across};
  };
  const std::vector<int64_t> each = f.block == 0 ? std::vector<int64_t>{f.n} : oriented(blocks, f.n);
  const std::string axis = std::to_string(f.block == 0 ? (f.turned ? 0 : 1) : (f.turned ? 1 : 0));
  std::string text = "fn @main(%x: Tensor[(m, " + std::to_string(f.k) + "), f32]) {\n";
  text += fewBitsConstant("q", fewBitsNumbers(f.dtype, oriented(f.k, f.n), 1));
  text += fewBitsConstant("s", test::randomTensor(Dtype::f32, each, 2));
  if (f.hasZeros) text += fewBitsConstant("z", fewBitsNumbers(f.dtype, each, 3));
  if (f.block == 0) {
    text += std::string("  %w = dequantize_linear(%q, %s") + (f.hasZeros ? ", %z" : "") +
            ") {axis = " + axis + "}\n";
  } else {
    text += "  %from = constant() {value = i64[] 0}\n  %to = constant() {value = i64[] " +
            std::to_string(f.k) +
            "}\n  %step = constant() {value = i64[] 1}\n  %places = range(%from, %to, %step)\n"
            "  %size = constant() {value = i64[] " +
            std::to_string(f.block) + "}\n  %i = div(%places, %size)\n  %r = cast(%q) {to = f32}\n";
    if (f.hasZeros)
      text +=
          "  %zi = gather(%z, %i) {axis = " + axis + "}\n  %zr = cast(%zi) {to = f32}\n  %d = sub(%r, %zr)\n";
    text +=
        "  %si = gather(%s, %i) {axis = " + axis + "}\n  %w = mul(" + (f.hasZeros ? "%d" : "%r") + ", %si)\n";
  }
  return text + "  %y = matmul(%x, %w) {transpose_b = " + (f.turned ? "1" : "0") + "}\n  return %y\n}\n";
}

const Form kFewBitsForms[] = {
    {Dtype::i8, 70, 5, 0},
    {Dtype::u8, 33, 7, 0, true},
    {Dtype::i4, 31, 6, 0, false, false},
    {Dtype::u4, 32, 3, 0},
    {Dtype::i2, 40, 4, 0},
    {Dtype::u2, 5, 9, 0, false, false},
    {Dtype::i4, 64, 5, 32},
    {Dtype::u4, 70, 6, 16},
    {Dtype::i8, 100, 3, 32, true},
    {Dtype::u8, 65, 4, 64},
    {Dtype::i4, 96, 7, 32, false, false},
    {Dtype::i8, 600, 2, 0},
    {Dtype::u4, 1, 1, 16},
    {Dtype::i4, 33, 2, 128, true},
};

int64_t productsOfBits(const std::string& text, const char* passes) {
  CompileOptions options;
  options.passes = passes;
  return test::opsAfter(
      text, "few_bits", [](const Op& op) { return op.def == &ops::matmul_nbitsOp; }, options);
}

TEST(FewBits, ProductsAreThoseOfTheReference) {
  for (const Form& form : kFewBitsForms) {
    const std::string text = fewBitsProgramOf(form);
    SCOPED_TRACE(text.substr(0, 200));
    EXPECT_EQ(productsOfBits(text, "+few_bits{above=0}"), 1);
    std::vector<std::vector<HostTensor>> inputs;
    for (int64_t m : {0, 1, 2, 3, 5, 9, 17, 40})
      inputs.push_back({test::randomTensor(Dtype::f32, {m, form.k}, static_cast<uint32_t>(m) + 7)});
    for (const char* passes : {"", "+few_bits{above=0}"}) {
      CompileOptions options;
      options.passes = passes;
      test::expectSame(text, inputs, options, 2e-3);
      if (HasFatalFailure()) return;
    }
  }
}

// Scales that differ along k within a column's block have no such form; small weights are f32 in any case.
TEST(FewBits, WhatStays) {
  EXPECT_EQ(productsOfBits(fewBitsProgramOf({Dtype::i8, 70, 5, 0}), ""), 0);
  EXPECT_EQ(productsOfBits(fewBitsProgramOf({Dtype::i8, 60, 5, 20}), "+few_bits{above=0}"), 0);
  EXPECT_EQ(productsOfBits(fewBitsProgramOf({Dtype::i8, 130, 127, 0}), ""), 1);
}

}  // namespace
}  // namespace dyn
