// Weights of few bits.
#include "frontends/onnx/quantise/weight_quantiser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "frontends/onnx/read/onnx_tensor.h"
#include "tests/unit/frontends/onnx/edited_model.h"

namespace dyn::onnx {
namespace {

using test::bytesOfFile;
using test::GraphEdits;
using test::inputNamesOf;
using test::Msg;
using test::opsOf;
using test::weight;

TEST_F(GraphEdits, BlocksOfFourBits) {
  // The element of largest magnitude becomes -8.
  std::vector<float> column(32, 0.5f);
  column[3] = -4;
  Msg weights = Msg().packed(1, {32, 1}).num(2, 1).sub(8, "w");
  weights.sub(9, std::string_view(reinterpret_cast<const char*>(column.data()), 128));
  const Model model = modelOf(Msg()
                                  .sub(1, test::node("MatMul", {"x", "w"}, {"y"}).sub(3, "product"))
                                  .sub(5, weights)
                                  .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "32"})))
                                  .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "1"}))));
  const Result<QuantisedModel> made =
      quantiseWeights(model, {.bits = 4, .block = 16}, {{"x", type("Tensor[(n, 32), f32]")}});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Model read = again(made->file);
  ASSERT_EQ(opsOf(read), "MatMulNBits");
  EXPECT_EQ(read.graph->nodes[0].name, "product");
  EXPECT_EQ(read.graph->nodes[0].attribute("K")->i, 32);
  EXPECT_EQ(read.graph->nodes[0].attribute("block_size")->i, 16);
  ASSERT_EQ(read.graph->initializers.size(), 2u);
  const TensorProto& numbers = read.graph->initializers[0];
  ASSERT_EQ(numbers.rawData.size(), 16u);
  // -4 / 0.5 = -8, stored with 8 added; 0.5 / 0.5 = 1.
  EXPECT_EQ(static_cast<uint8_t>(numbers.rawData[0]), 0x99);
  EXPECT_EQ(static_cast<uint8_t>(numbers.rawData[1]), 0x09);
  ASSERT_EQ(made->weights.size(), 1u);
  EXPECT_LT(made->weights[0].relative, 0.1);
  EXPECT_EQ(made->weights[0].bytesAfter, 16 + 8);
  ASSERT_EQ(read.opsetImports.size(), 2u);
  EXPECT_EQ(read.opsetImports[1].domain, "com.microsoft");
}

TEST_F(GraphEdits, ColumnsOfEightBits) {
  const Model model = modelOf(Msg()
                                  .sub(1, test::node("MatMul", {"x", "w"}, {"y"}))
                                  .sub(5, weight("w", {4, 2}, {127, 1, 1, 2, -5, 0, 0, -2}))
                                  .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "4"})))
                                  .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "2"}))));
  const Result<QuantisedModel> made = quantiseWeights(model, {.bits = 8}, {});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Model read = again(made->file);
  EXPECT_EQ(opsOf(read), "DequantizeLinear MatMul");
  EXPECT_EQ(read.graph->nodes[0].outputs[0], "w");
  EXPECT_EQ(read.graph->nodes[0].attribute("axis")->i, 1);
  EXPECT_EQ(static_cast<int8_t>(read.graph->initializers[0].rawData[0]), 127);
  EXPECT_EQ(static_cast<int8_t>(read.graph->initializers[0].rawData[7]), -127);
}

// The scale of a column of the smallest numbers would be 0, by which nothing can be divided.
TEST_F(GraphEdits, AColumnOfTheSmallestNumbers) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  const Model model = modelOf(Msg()
                                  .sub(1, test::node("MatMul", {"x", "w"}, {"y"}))
                                  .sub(5, weight("w", {4, 2}, {smallest, 127, 0, 1, -smallest, 2, 0, 0}))
                                  .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "4"})))
                                  .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "2"}))));
  const Result<QuantisedModel> made = quantiseWeights(model, {.bits = 8}, {});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Model read = again(made->file);
  const std::string_view numbers = read.graph->initializers[0].rawData;
  for (size_t row = 0; row < 4; ++row) EXPECT_EQ(numbers[2 * row], 0) << row;
  EXPECT_EQ(numbers[1], 127);
}

TEST_F(GraphEdits, AMatrixBehindATranspose) {
  Msg weights = Msg().packed(1, {1, 16}).num(2, 1).sub(8, "w");
  weights.sub(9, std::string(64, 'A'));
  const Model model = modelOf(Msg()
                                  .sub(1, test::node("Transpose", {"w"}, {"t"})
                                              .sub(5, Msg().sub(1, "perm").packed(8, {1, 0}).num(20, 7)))
                                  .sub(1, test::node("MatMul", {"x", "t"}, {"y"}))
                                  .sub(5, weights)
                                  .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "16"})))
                                  .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "1"}))));
  const Result<QuantisedModel> made =
      quantiseWeights(model, {.bits = 4, .block = 16}, {{"x", type("Tensor[(n, 16), f32]")}});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Model read = again(made->file);
  ASSERT_EQ(opsOf(read), "MatMulNBits");
  EXPECT_EQ(read.graph->nodes[0].attribute("K")->i, 16);
  EXPECT_EQ(read.graph->nodes[0].attribute("N")->i, 1);
}

TEST_F(GraphEdits, OldFilesListWeightsAmongTheInputs) {
  const Model model = modelOf(Msg()
                                  .sub(1, test::node("MatMul", {"x", "w"}, {"y"}))
                                  .sub(5, weight("w", {4, 2}, {127, 1, 1, 2, -5, 0, 0, -2}))
                                  .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "4"})))
                                  .sub(11, test::valueInfo("w", test::tensorType(1, {"4", "2"})))
                                  .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "2"}))),
                              3);
  const Result<QuantisedModel> made = quantiseWeights(model, {.bits = 8}, {});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  EXPECT_THAT(inputNamesOf(again(made->file)), testing::UnorderedElementsAre("x", "w_q8", "w_scales"));
}

TEST_F(GraphEdits, WhatStaysSaysWhy) {
  const Model model = modelOf(Msg()
                                  .sub(1, test::node("Gather", {"table", "i"}, {"x"}))
                                  .sub(1, test::node("MatMul", {"left", "x"}, {"y"}))
                                  .sub(5, weight("table", {2, 2}, {1, 2, 3, 4}))
                                  .sub(5, weight("left", {2, 2}, {1, 2, 3, 4}))
                                  .sub(11, test::valueInfo("i", test::tensorType(7, {"n"})))
                                  .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "2"}))));
  const Result<QuantisedModel> made = quantiseWeights(model, {.bits = 8}, {});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  ASSERT_EQ(made->weights.size(), 2u);
  EXPECT_EQ(made->weights[0].why, "read by Gather");
  EXPECT_EQ(made->weights[1].why, "not the right factor of its product");
  EXPECT_EQ(bytesOfFile(made->file), std::string(model.source.file->bytes()));
}

}  // namespace
}  // namespace dyn::onnx
