// Products that compute with bytes, and what lies between them.
#include "frontends/onnx/quantise/activation_quantiser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "frontends/onnx/read/onnx_tensor.h"
#include "tests/unit/frontends/onnx/edited_model.h"
#include "tests/unit/frontends/onnx/node_fields.h"

namespace dyn::onnx {
namespace {

using test::bytesOfFile;
using test::inputNamesOf;
using test::Msg;
using test::opsOf;
using test::weight;
using test::operator+;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class ActivationQuantiserTest : public test::GraphEdits {
 protected:
  // All values are images of f32 but those that are given another type before.
  Model model(const Msg& nodes, const char* result, int64_t irVersion = 8) {
    Msg graph = nodes;
    graph.sub(11, test::valueInfo("x", test::tensorType(1, {"n", "1", "h", "w"})));
    graph.sub(12, test::valueInfo(result, test::tensorType(1, {"n", "1", "a", "b"})));
    Model made = modelOf(graph, irVersion);
    const Type image = type("Tensor[(n, 1, h, w), f32]");
    types_.emplace("x", image);
    for (const NodeProto& node : made.graph->nodes)
      for (const Text output : node.outputs) types_.emplace(std::string(output), image);
    return made;
  }
  // A 1 x 1 convolution of one channel.
  static Msg convolution(const char* from, const char* to) {
    return Msg().sub(1, test::node("Conv", {from, "k"}, {to}).sub(3, to));
  }
  static Msg kernel() { return Msg().sub(5, weight("k", {1, 1, 1, 1}, {-254})); }

  std::vector<std::string> measured(const Model& model) {
    return ActivationQuantiser(model, types_, excluded_).valuesToMeasure();
  }
  QuantisedModel quantised(const Model& model, ElementRange range = {-1, 1}) {
    ActivationQuantiser quantiser(model, types_, excluded_);
    RangesByName ranges;
    for (const std::string& name : quantiser.valuesToMeasure()) ranges[name] = range;
    Result<QuantisedModel> made = quantiser.quantise(ranges, "");
    EXPECT_TRUE(made.ok()) << made.error().toString();
    return std::move(made).value();
  }
  static const NodeProto& nodeThatMakes(const Model& model, Text value) {
    for (const NodeProto& node : model.graph->nodes)
      if (node.outputs[0] == value) return node;
    ADD_FAILURE() << value;
    return model.graph->nodes[0];
  }
  static bool hasWeight(const Model& model, Text name) {
    for (const TensorProto& tensor : model.graph->initializers)
      if (tensor.name == name) return true;
    return false;
  }
  template <typename T>
  static std::vector<T> elementsOf(const Model& model, Text name) {
    for (const TensorProto& tensor : model.graph->initializers) {
      if (tensor.name != name) continue;
      std::vector<T> elements(tensor.rawData.size() / sizeof(T));
      std::memcpy(elements.data(), tensor.rawData.data(), tensor.rawData.size());
      return elements;
    }
    return {};
  }

  TypesByName types_;
  std::set<std::string, std::less<>> excluded_;
};

TEST_F(ActivationQuantiserTest, AConvolutionWithABias) {
  Msg nodes = Msg().sub(1, test::node("Conv", {"x", "k", "b"}, {"y"}).sub(3, "first")) + kernel();
  nodes.sub(5, weight("b", {1}, {4}));
  const Model source = model(nodes, "y");
  const QuantisedModel made = quantised(source, {-0.5, 2.05});
  const Model read = again(made.file);
  EXPECT_EQ(opsOf(read), "QuantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Conv");
  EXPECT_THAT(nodeThatMakes(read, "y").inputs, ElementsAre("x_of_u8", "k_of_i8", "b_of_i32"));
  EXPECT_EQ(nodeThatMakes(read, "y").name, "first");
  ASSERT_EQ(made.activations.size(), 1u);
  EXPECT_FLOAT_EQ(made.activations[0].scale, 0.01f);
  EXPECT_EQ(made.activations[0].zero, 50);
  EXPECT_THAT(elementsOf<int8_t>(read, "k_i8"), ElementsAre(-127));
  EXPECT_THAT(elementsOf<float>(read, "k_scales"), ElementsAre(2));
  // In units of 0.01 * 2.
  EXPECT_THAT(elementsOf<int32_t>(read, "b_i32"), ElementsAre(200));
  EXPECT_FALSE(hasWeight(read, "k"));
  ASSERT_EQ(made.weights.size(), 1u);
  EXPECT_EQ(made.weights[0].form, "u8 x i8, a scale for each channel");
}

TEST_F(ActivationQuantiserTest, AFunctionBehindAProductIsPartOfIt) {
  const Model source = model(convolution("x", "c") + Msg().sub(1, test::node("Relu", {"c"}, {"r"})) +
                                 convolution("r", "y") + kernel(),
                             "y");
  EXPECT_THAT(measured(source), ElementsAre("x", "r"));
}

// It takes more instructions than a table of bytes.
TEST_F(ActivationQuantiserTest, ASlowFunctionIsOneFromBytesToBytes) {
  const Model source = model(convolution("x", "c") + Msg().sub(1, test::node("Tanh", {"c"}, {"t"})) +
                                 convolution("t", "y") + kernel(),
                             "y");
  EXPECT_THAT(measured(source), ElementsAre("x", "c", "t"));
}

// SiLU reads its operand twice.
TEST_F(ActivationQuantiserTest, AFunctionOfTwoStepsIsOneFromBytesToBytes) {
  const Model source =
      model(convolution("x", "c") + Msg().sub(1, test::node("Sigmoid", {"c"}, {"s"})) +
                Msg().sub(1, test::node("Mul", {"c", "s"}, {"m"})) + convolution("m", "y") + kernel(),
            "y");
  EXPECT_THAT(measured(source), ElementsAre("x", "c", "m"));
  const Model read = again(quantised(source).file);
  EXPECT_THAT(nodeThatMakes(read, "s").inputs, ElementsAre("c_of_u8"));
  EXPECT_THAT(nodeThatMakes(read, "m").inputs, ElementsAre("c_of_u8", "s"));
}

TEST_F(ActivationQuantiserTest, AShortcutIsASumOfBytes) {
  const Model source =
      model(convolution("x", "c") + Msg().sub(1, test::node("Relu", {"c"}, {"r"})) + convolution("r", "d") +
                Msg().sub(1, test::node("Add", {"d", "r"}, {"s"})) + convolution("s", "y") + kernel(),
            "y");
  EXPECT_THAT(measured(source), ElementsAre("x", "r", "d", "s"));
  const Model read = again(quantised(source).file);
  EXPECT_THAT(nodeThatMakes(read, "s").inputs, ElementsAre("d_of_u8", "r_of_u8"));
}

TEST_F(ActivationQuantiserTest, JoinedValuesAreNoBytesBeforeAFunctionOfThem) {
  const Model source = model(
      convolution("x", "c") + convolution("c", "d") + Msg().sub(1, test::node("Concat", {"c", "d"}, {"j"})) +
          Msg().sub(1, test::node("Relu", {"j"}, {"r"})) + convolution("r", "y") + kernel(),
      "y");
  EXPECT_THAT(measured(source), ElementsAre("x", "c", "d", "r"));
}

TEST_F(ActivationQuantiserTest, MovedElementsKeepTheirScale) {
  const Model source = model(convolution("x", "c") + Msg().sub(1, test::node("MaxPool", {"c"}, {"p"})) +
                                 convolution("p", "y") + kernel(),
                             "y");
  const Model read = again(quantised(source).file);
  EXPECT_THAT(nodeThatMakes(read, "p_u8").inputs, ElementsAre("p", "c_scale", "c_zero"));
}

// A normalisation over rows, and what leads to the model's results only.
TEST_F(ActivationQuantiserTest, WhatNoProductReadsStays) {
  const Model source =
      model(convolution("x", "c") + Msg().sub(1, test::node("LpNormalization", {"c"}, {"l"})) +
                Msg().sub(1, test::node("Relu", {"c"}, {"r"})) +
                Msg().sub(1, test::node("MaxPool", {"r"}, {"y"})) + kernel(),
            "y");
  EXPECT_THAT(measured(source), ElementsAre("x"));
}

// The residual stream of a transformer stays f32: only the product reads bytes.
TEST_F(ActivationQuantiserTest, AProductWithoutAConvolutionReadsBytesAlone) {
  types_["x"] = type("Tensor[(n, 2), f32]");
  types_["m"] = types_["y"] = types_["x"];
  const Model source = model(Msg().sub(1, test::node("MatMul", {"x", "w"}, {"m"})) +
                                 Msg().sub(1, test::node("Add", {"m", "x"}, {"y"})) +
                                 Msg().sub(5, weight("w", {2, 2}, {1, 2, 3, 4})),
                             "y");
  EXPECT_THAT(measured(source), ElementsAre("x"));
  const Model read = again(quantised(source).file);
  EXPECT_THAT(nodeThatMakes(read, "y").inputs, ElementsAre("m", "x"));
  EXPECT_EQ(nodeThatMakes(read, "w_of_i8").attribute("axis")->i, 1);
}

TEST_F(ActivationQuantiserTest, AWeightBehindATransposeIsTurned) {
  types_["x"] = type("Tensor[(n, 2), f32]");
  const Model source = model(Msg().sub(1, test::node("Transpose", {"w"}, {"t"})) +
                                 Msg().sub(1, test::node("MatMul", {"x", "t"}, {"y"})) +
                                 Msg().sub(5, weight("w", {3, 2}, {1, 127, 0, 127, -127, 5})),
                             "y");
  const Model read = again(quantised(source).file);
  EXPECT_EQ(opsOf(read), "QuantizeLinear DequantizeLinear DequantizeLinear MatMul");
  EXPECT_THAT(elementsOf<int8_t>(read, "t_i8"), ElementsAre(1, 0, -127, 127, 127, 5));
  EXPECT_EQ(nodeThatMakes(read, "t_of_i8").attribute("axis")->i, 1);
}

// Two products with one bias: each has a scale of its own.
TEST_F(ActivationQuantiserTest, SharedWeightsAreLeftOutOnceNothingReadsThem) {
  Msg nodes = Msg().sub(1, test::node("Identity", {"b"}, {"i"})) +
              Msg().sub(1, test::node("Conv", {"x", "k", "b"}, {"c"}).sub(3, "c")) +
              Msg().sub(1, test::node("Conv", {"c", "k", "i"}, {"y"}).sub(3, "y")) + kernel();
  nodes.sub(5, weight("b", {1}, {4}));
  const Model source = model(nodes, "y");
  const Model read = again(quantised(source).file);
  EXPECT_FALSE(hasWeight(read, "b"));
  EXPECT_THAT(opsOf(read), testing::Not(HasSubstr("Identity")));
  excluded_ = {"y"};
  const Model half = again(quantised(source).file);
  EXPECT_TRUE(hasWeight(half, "b"));
  EXPECT_THAT(nodeThatMakes(half, "y").inputs, ElementsAre("c", "k", "i"));
}

// A bias far beyond its weights would not fit into 32 bits in units of both scales.
TEST_F(ActivationQuantiserTest, ALargeBiasMakesTheScaleLarger) {
  Msg nodes = Msg().sub(1, test::node("Conv", {"x", "k", "b"}, {"y"}));
  nodes.sub(5, weight("k", {1, 1, 1, 1}, {1e-9f})).sub(5, weight("b", {1}, {1000}));
  const Model read = again(quantised(model(nodes, "y"), {0, 1}).file);
  const std::vector<float> units = elementsOf<float>(read, "b_scales");
  const std::vector<int32_t> sums = elementsOf<int32_t>(read, "b_i32");
  ASSERT_EQ(units.size(), 1u);
  EXPECT_NEAR(units[0] * static_cast<double>(sums.at(0)), 1000, 1e-3);
}

TEST_F(ActivationQuantiserTest, AValueThatIsAlwaysZero) {
  const QuantisedModel made = quantised(model(convolution("x", "y") + kernel(), "y"), {0, 0});
  ASSERT_EQ(made.activations.size(), 1u);
  EXPECT_EQ(made.activations[0].scale, 1);
  EXPECT_EQ(made.activations[0].zero, 0);
}

TEST_F(ActivationQuantiserTest, OldFilesListWeightsAmongTheInputs) {
  const Model source =
      model(convolution("x", "y") + kernel() +
                Msg().sub(11, test::valueInfo("k", test::tensorType(1, {"1", "1", "1", "1"}))),
            "y", 3);
  EXPECT_THAT(inputNamesOf(again(quantised(source).file)),
              UnorderedElementsAre("x", "x_scale", "x_zero", "k_i8", "k_scales"));
}

TEST_F(ActivationQuantiserTest, WhatStaysSaysWhy) {
  types_["h"] = type("Tensor[(n, 1, h, w), f16]");
  const Model source =
      model(Msg().sub(1, test::node("Conv", {"x", "x"}, {"a"})) +
                Msg().sub(1, test::node("MatMul", {"x", "k"}, {"b"})) +
                Msg().sub(1, test::node("Cast", {"x"}, {"h"})) +
                Msg().sub(1, test::node("Conv", {"h", "k"}, {"c"})) +
                Msg().sub(1, test::node("Gemm", {"x", "w"}, {"d"}) + test::floatAttribute("alpha", 2)) +
                Msg().sub(1, test::node("ConvTranspose", {"x", "k"}, {"t"})) +
                Msg().sub(1, test::node("Conv", {"x", "k", "x"}, {"y"})) + kernel() +
                Msg().sub(5, weight("w", {1, 1}, {1})),
            "y");
  const QuantisedModel made = quantised(source);
  std::vector<std::string> whys;
  for (const QuantisedWeight& row : made.weights) whys.push_back(row.why);
  EXPECT_THAT(whys, ElementsAre("its right factor is no constant", "its weight has 4 axes",
                                "its left factor is not known to be f32", "it has factors",
                                "it is no product of bytes", "its bias is no constant of the file"));
  EXPECT_EQ(bytesOfFile(made.file), std::string(source.source.file->bytes()));
}

TEST_F(ActivationQuantiserTest, AValueWithoutARangeStays) {
  const Model source = model(convolution("x", "c") + convolution("c", "y") + kernel(), "y");
  ActivationQuantiser quantiser(source, types_, excluded_);
  const Result<QuantisedModel> made = quantiser.quantise({{"x", {0, 1}}}, "");
  ASSERT_TRUE(made.ok()) << made.error().toString();
  ASSERT_EQ(made->weights.size(), 2u);
  EXPECT_EQ(made->weights[0].why, "");
  EXPECT_EQ(made->weights[1].why, "the range of its left factor is unknown");
  EXPECT_THAT(nodeThatMakes(again(made->file), "y").inputs, ElementsAre("c", "k"));
}

}  // namespace
}  // namespace dyn::onnx
