// What an operation takes: a pass that changes a million of them copies little.
#include <gtest/gtest.h>

#include "compiler/ir/module.h"

namespace dyn {
namespace {

TEST(OpMemory, anOperationIsSmall) { EXPECT_LE(sizeof(Op), 112u); }

TEST(OpMemory, aCopySharesTextsAndAttributes) {
  Op op;
  op.place.file = "model.onnx";
  op.place.node = "/encoder/MatMul (MatMul, opset 17)";
  op.attributes.set("axis", int64_t{1});
  const Op copy = op;
  EXPECT_TRUE(copy.place.file.sharesWith(op.place.file));
  EXPECT_TRUE(copy.place.node.sharesWith(op.place.node));
  EXPECT_TRUE(copy.attributes.sharesWith(op.attributes));
}

TEST(OpMemory, attributesPartWhenOneIsChanged) {
  Attributes first = {{"axis", int64_t{1}}, {"mode", std::string("edge")}};
  Attributes second = first;
  second.set("axis", int64_t{2});
  EXPECT_FALSE(second.sharesWith(first));
  EXPECT_EQ(first.integer("axis"), 1);
  EXPECT_EQ(second.integer("axis"), 2);
  EXPECT_EQ(second.string("mode"), "edge");

  Attributes third = first;
  third.erase("none");
  EXPECT_TRUE(third.sharesWith(first));
  third.erase("mode");
  EXPECT_TRUE(first.has("mode"));
  EXPECT_FALSE(third.has("mode"));
  third.erase("axis");
  EXPECT_EQ(third, Attributes());
  EXPECT_TRUE(third.all().empty());
}

TEST(OpMemory, equalAttributesNeedNotBeShared) {
  const Attributes first = {{"axis", int64_t{1}}}, second = {{"axis", int64_t{1}}};
  EXPECT_FALSE(first.sharesWith(second));
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace dyn
