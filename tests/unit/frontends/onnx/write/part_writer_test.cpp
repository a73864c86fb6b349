// Parts of ONNX files.
#include "frontends/onnx/write/part_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/frontends/onnx/edited_model.h"

namespace dyn::onnx {
namespace {

using test::GraphEdits;
using test::inputNamesOf;
using test::Msg;
using test::opsOf;
using test::weight;
using testing::ElementsAre;
using testing::HasSubstr;

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

TEST_F(Parts, SayNothingOfWhatTheyDoNotHave) {
  const auto annotation = [](const char* tensor, const char* scale) {
    return Msg().sub(1, tensor).sub(2, Msg().sub(1, "SCALE_TENSOR").sub(2, scale));
  };
  const auto entry = [](const char* key, const char* value) { return Msg().sub(1, key).sub(2, value); };
  const Msg graph = Msg(graph_)
                        .sub(14, annotation("h", "w"))
                        .sub(14, annotation("h", "unused"))
                        .sub(14, annotation("y", "w"));
  const Msg whole = Msg()
                        .num(1, 8)
                        .sub(7, graph)
                        .sub(8, Msg().num(2, 17))
                        .sub(14, entry("author", "somebody"))
                        .sub(14, entry("dyn.dims", "n<=m"))
                        .sub(14, entry("dyn.dim.n", "1..8"))
                        .sub(20, Msg().sub(1, Msg().sub(2, "training")));
  Result<Model> model = readModel(MappedFile::fromBytes(whole.bytes, "m.onnx"));
  ASSERT_TRUE(model.ok()) << model.error().toString();
  PartRequest request{{"x"}, {"a"}};
  std::vector<std::string> inputs;
  request.dims = [&](const std::vector<std::string>& names) {
    inputs = names;
    return Metadata{{"dyn.dim.n", "1..4"}};
  };
  const Result<ModelPart> part = partOf(*model, request, types_);
  ASSERT_TRUE(part.ok()) << part.error().toString();
  EXPECT_THAT(inputs, ElementsAre("x"));
  const Model made = again(part->file);
  ASSERT_EQ(made.graph->quantizationAnnotations.size(), 1u);
  EXPECT_EQ(made.graph->quantizationAnnotations[0].parameters[0].value, "w");
  EXPECT_TRUE(made.trainingInfos.empty());
  ASSERT_EQ(made.metadata.size(), 2u);
  EXPECT_EQ(made.metadata[0].value, "somebody");
  EXPECT_EQ(made.metadata[1].value, "1..4");
}

TEST_F(Parts, WhatIsAskedForHasToBeThere) {
  const Model model = modelOf(graph_);
  EXPECT_THAT(partOf(model, {{"x"}, {"b"}}, types_).error().message, HasSubstr("no such value"));
  EXPECT_THAT(partOf(model, {{"a"}, {"h"}}, types_).error().message,
              HasSubstr("does not follow from --from a"));
  EXPECT_EQ(partOf(model, {{"x"}, {"r"}}, types_).error().id, DiagnosticId::unsupportedFeature);
}

TEST_F(GraphEdits, OldFilesListWeightsAmongTheInputs) {
  const Model model = modelOf(Msg()
                                  .sub(1, test::node("MatMul", {"x", "w"}, {"y"}))
                                  .sub(5, weight("w", {4, 2}, {127, 1, 1, 2, -5, 0, 0, -2}))
                                  .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "4"})))
                                  .sub(11, test::valueInfo("w", test::tensorType(1, {"4", "2"})))
                                  .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "2"}))),
                              3);
  const Type known = type("Tensor[(n, 4), f32]");
  const Result<ModelPart> part = partOf(model, {}, {{"x", known}, {"y", known}});
  ASSERT_TRUE(part.ok()) << part.error().toString();
  EXPECT_THAT(inputNamesOf(again(part->file)), testing::UnorderedElementsAre("w", "x"));
  EXPECT_THAT(part->inputs, ElementsAre("x"));
}

}  // namespace
}  // namespace dyn::onnx
