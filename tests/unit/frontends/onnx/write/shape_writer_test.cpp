#include "frontends/onnx/write/shape_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx/read/onnx_model.h"
#include "tests/support/text_module.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx {
namespace {

using test::Msg;

std::shared_ptr<const MappedFile> fileOf(const Msg& graph) {
  const Msg model = Msg().num(1, 8).sub(7, graph).sub(8, Msg().num(2, 17)).sub(2, "maker");
  return std::make_shared<const MappedFile>(MappedFile::fromBytes(model.bytes, "m.onnx"));
}

std::string joined(const FilePieces& file) {
  std::string bytes;
  for (const std::string_view piece : file.pieces) bytes += piece;
  return bytes;
}

// Types of a text module's parameters, by their names.
class ShapeWriter : public testing::Test {
 protected:
  Type type(const std::string& text) {
    Result<Module> module = dyn::test::parseText(ir_, "fn @main(%x: " + text + ") { %x }");
    EXPECT_TRUE(module.ok()) << module.error().toString();
    return module->main()->parameters[0].type;
  }
  IrContext ir_;
};

Msg reluTwice() {
  return Msg()
      .sub(1, test::node("Relu", {"x"}, {"h"}))
      .sub(1, test::node("Relu", {"h"}, {"y"}))
      .sub(2, "g")
      .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "4"})))
      .sub(12, test::valueInfo("y", test::tensorType(1, {"rows", "4"})).sub(3, "the result"));
}

TEST_F(ShapeWriter, ValuesAndOutputsHaveTheTypesGiven) {
  const Type known = type("Tensor[(n, 4), f32]");
  Result<FilePieces> made = withTypes(fileOf(reluTwice()), {{"x", known}, {"h", known}, {"y", known}});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Msg graph = Msg()
                        .sub(1, test::node("Relu", {"x"}, {"h"}))
                        .sub(1, test::node("Relu", {"h"}, {"y"}))
                        .sub(2, "g")
                        .sub(11, test::valueInfo("x", test::tensorType(1, {"n", "4"})))
                        .sub(12, test::valueInfo("y", test::tensorType(1, {"n", "4"})).sub(3, "the result"))
                        .sub(13, test::valueInfo("h", test::tensorType(1, {"n", "4"})));
  EXPECT_EQ(joined(*made), fileOf(graph)->bytes());
  EXPECT_FALSE(made->hasExternalData);
}

TEST_F(ShapeWriter, WithoutTypesTheFileStaysAsItIs) {
  const auto file = fileOf(reluTwice().sub(5, Msg().num(1, 2).num(14, 1).sub(8, "w")));
  Result<FilePieces> made = withTypes(file, {});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  EXPECT_EQ(joined(*made), file->bytes());
  EXPECT_TRUE(made->hasExternalData);
}

TEST_F(ShapeWriter, WhatTheFileSaidOfAValueIsReplacedOnce) {
  const Msg graph = reluTwice()
                        .sub(13, test::valueInfo("h", test::tensorType(1, {"?"})))
                        .sub(13, test::valueInfo("h", test::tensorType(1, {"7"})));
  Result<FilePieces> made = withTypes(fileOf(graph), {{"h", type("Tensor[(2*n + 1), f32]")}});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Msg expected = reluTwice().sub(13, test::valueInfo("h", test::tensorType(1, {"2*n + 1"})));
  EXPECT_EQ(joined(*made), fileOf(expected)->bytes());
}

TEST_F(ShapeWriter, AnUnknownSizeHasOneNameWhereverItIs) {
  const Type open = type("Tensor[(?), f32]");
  const Msg openVector = Msg().sub(1, Msg().num(1, 1).sub(2, Msg().sub(1, Msg())));
  const Msg graph = Msg()
                        .sub(1, test::node("Relu", {"x"}, {"y"}))
                        .sub(2, "g")
                        .sub(11, test::valueInfo("x", openVector))
                        .sub(12, test::valueInfo("y", Msg()));
  Result<FilePieces> made = withTypes(fileOf(graph), {{"x", open}, {"y", open}});
  ASSERT_TRUE(made.ok()) << made.error().toString();
  Result<Model> model = readModel(MappedFile::fromBytes(joined(*made), "made.onnx"));
  ASSERT_TRUE(model.ok()) << model.error().toString();
  const Dimension in = model->graph->inputs[0].type->shape[0], out = model->graph->outputs[0].type->shape[0];
  EXPECT_THAT(std::string(in.parameter), testing::MatchesRegex("unk_[0-9]+"));
  EXPECT_EQ(in.parameter, out.parameter);
}

TEST_F(ShapeWriter, AFileThatIsCutOffIsAnError) {
  const auto whole = fileOf(reluTwice());
  const std::string bytes(whole->bytes());
  for (size_t size = 1; size < bytes.size(); ++size) {
    const auto cut =
        std::make_shared<const MappedFile>(MappedFile::fromBytes(bytes.substr(0, size), "cut.onnx"));
    Result<FilePieces> made = withTypes(cut, {{"h", type("Tensor[(n), f32]")}});
    EXPECT_TRUE(made.ok() || made.error().id == DiagnosticId::onnxMalformed) << size;
  }
}

}  // namespace
}  // namespace dyn::onnx
