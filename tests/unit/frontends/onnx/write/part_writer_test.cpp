// Parts of ONNX files, and weights of few bits.
#include "frontends/onnx/write/part_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "frontends/onnx/quantise/weight_quantiser.h"
#include "frontends/onnx/read/onnx_tensor.h"
#include "tests/support/text_module.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx {
namespace {

using test::Msg;
using testing::ElementsAre;
using testing::HasSubstr;

std::string bytesOfFile(const FilePieces& file) {
  std::string bytes;
  for (const std::string_view piece : file.pieces) bytes += piece;
  return bytes;
}

std::string opsOf(const Model& model) {
  std::string text;
  for (const NodeProto& node : model.graph->nodes)
    text += (text.empty() ? "" : " ") + std::string(node.opType);
  return text;
}

class GraphEdits : public testing::Test {
 protected:
  Type type(const std::string& text) {
    Result<Module> module = dyn::test::parseText(ir_, "fn @main(%x: " + text + ") { %x }");
    EXPECT_TRUE(module.ok()) << module.error().toString();
    return module->main()->parameters[0].type;
  }
  Model modelOf(const Msg& graph, int64_t irVersion = 8) {
    const Msg model = Msg().num(1, irVersion).sub(7, graph).sub(8, Msg().num(2, 17));
    Result<Model> read = readModel(MappedFile::fromBytes(model.bytes, "m.onnx"));
    EXPECT_TRUE(read.ok()) << read.error().toString();
    return std::move(read).value();
  }
  // Of the file that was written.
  Model again(const FilePieces& file) {
    Result<Model> read = readModel(MappedFile::fromBytes(bytesOfFile(file), "part.onnx"));
    EXPECT_TRUE(read.ok()) << read.error().toString();
    return std::move(read).value();
  }
  IrContext ir_;
};

Msg weight(const char* name, std::initializer_list<int64_t> dims, std::initializer_list<float> elements) {
  return Msg().packed(1, dims).num(2, 1).sub(8, name).packedFixed<float>(4, elements);
}

// x, w → h → a (and a shape of x) → y.
class Parts : public GraphEdits {
 protected:
  void SetUp() override {
    for (const char* name : {"x", "h", "a", "y"}) types_[name] = type("Tensor[(n, 2), f32]");
    types_["s"] = type("Tensor[(2), i64]");
  }
  Msg graph_ = Msg()
                   .sub(2, "g")
                   .sub(1, test::node("MatMul", {"x", "w"}, {"h"}))
                   .sub(1, test::node("Shape", {"x"}, {"s"}))
                   .sub(1, test::node("Relu", {"h"}, {"a"}))
                   .sub(1, test::node("Reshape", {"a", "s"}, {"r"}))
                   .sub(1, test::node("Add", {"r", "h"}, {"y"}))
                   .sub(5, weight("w", {2, 2}, {1, 2, 3, 4}))
                   .sub(5, weight("unused", {1}, {1}))
                   .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "2"})))
                   .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "2"})));
  TypesByName types_;
};

TEST_F(Parts, BetweenTwoValues) {
  const Model model = modelOf(graph_);
  const Result<ModelPart> part = partOf(model, {{"x"}, {"a"}}, types_);
  ASSERT_TRUE(part.ok()) << part.error().toString();
  const Model made = again(part->file);
  EXPECT_EQ(opsOf(made), "MatMul Relu");
  ASSERT_EQ(made.graph->initializers.size(), 1u);
  EXPECT_EQ(made.graph->initializers[0].name, "w");
  ASSERT_EQ(made.graph->outputs.size(), 1u);
  EXPECT_EQ(made.graph->outputs[0].name, "a");
  EXPECT_EQ(made.graph->outputs[0].type->shape[0].parameter, "n");
  EXPECT_EQ(part->weightsBytes, 16);
}

TEST_F(Parts, ShapesAreComputedAndOtherValuesAreInputs) {
  const Model model = modelOf(graph_);
  const Result<ModelPart> part = partOf(model, {{"a"}, {"y"}}, types_);
  ASSERT_TRUE(part.ok()) << part.error().toString();
  EXPECT_EQ(opsOf(again(part->file)), "Shape Reshape Add");
  EXPECT_THAT(part->inputs, ElementsAre("a", "h", "x"));
  EXPECT_EQ(part->askedInputsCount, 1u);
  EXPECT_EQ(part->weightsBytes, 0);
}

TEST_F(Parts, WhatIsAskedForHasToBeThere) {
  const Model model = modelOf(graph_);
  EXPECT_THAT(partOf(model, {{"x"}, {"b"}}, types_).error().message, HasSubstr("no such value"));
  EXPECT_THAT(partOf(model, {{"a"}, {"h"}}, types_).error().message,
              HasSubstr("does not follow from --from a"));
  EXPECT_EQ(partOf(model, {{"x"}, {"r"}}, types_).error().id, DiagnosticId::unsupportedFeature);
}

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
  const auto inputsOf = [](const Model& read) {
    std::vector<std::string> names;
    for (const ValueInfoProto& input : read.graph->inputs) names.emplace_back(input.name);
    return names;
  };
  const Result<QuantisedModel> made = quantiseWeights(model, {.bits = 8}, {});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  EXPECT_THAT(inputsOf(again(made->file)), testing::UnorderedElementsAre("x", "w_q8", "w_scales"));
  const Type known = type("Tensor[(n, 4), f32]");
  const Result<ModelPart> part = partOf(model, {}, {{"x", known}, {"y", known}});
  ASSERT_TRUE(part.ok()) << part.error().toString();
  EXPECT_THAT(inputsOf(again(part->file)), testing::UnorderedElementsAre("w", "x"));
  EXPECT_THAT(part->inputs, ElementsAre("x"));
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
