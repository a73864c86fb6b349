// Modules as ONNX models: what the importer reads back gives the same results, and what ONNX cannot say is
// named.
#include "frontends/onnx/write/model_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/import/importer.h"
#include "frontends/onnx/write/write_table.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_module.h"
#include "tests/unit/frontends/onnx/case_runner.h"

namespace dyn::onnx {
namespace {

Result<Module> typed(IrContext& ir, std::string_view text) {
  DYN_TRY(Module module, dyn::test::parseText(ir, text));
  DYN_TRY(InferredModule inferred, inferTypes(module));
  return inferred.module;
}

// Small positive numbers; every symbol is 4.
std::vector<Value> inputsFor(const Function& function) {
  std::vector<Value> inputs;
  for (const Parameter& parameter : function.parameters) {
    if (!parameter.type.isTensor()) return {};
    DimBinding binding;
    std::vector<int64_t> shape;
    for (SymbolId symbol : symbolsOf(parameter.type)) binding.set(symbol, 4);
    for (Dim dim : parameter.type.dims()) shape.push_back(*evaluate(dim, binding));
    const Dtype dtype = parameter.type.dtype();
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    if (dtype == Dtype::string) {
      inputs.emplace_back(
          HostTensor::strings(shape, std::vector<std::string>(static_cast<size_t>(count), "a")));
      continue;
    }
    HostTensor tensor = *HostTensor::create(dtype, shape);
    for (int64_t i = 0; i < count; ++i)
      isReal(dtype) ? tensor.setReal(i, 0.25 + 0.125 * static_cast<double>(i % 7)) : tensor.setInt(i, 1);
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

// "": the module that is read back gives what this one gives; else what is not the same.
std::string readBackDifference(const Module& module, const std::string& folder, WeightsPlace place) {
  Result<SavedModel> saved = toOnnx(module, {});
  if (!saved.ok()) return saved.error().toString();
  const std::string path = folder + "/model.onnx";
  Result<SavedFiles> files = writeOnnxFiles(*saved, path, place);
  if (!files.ok()) return files.error().toString();
  IrContext ir;
  Result<ImportResult> again = importModel(ir, path);
  if (!again.ok()) return "read back: " + again.error().toString();
  Result<InferredModule> inferred = inferTypes(again->module);
  if (!inferred.ok()) return "inferred again: " + inferred.error().toString();
  Result<std::vector<Value>> expected = interpret(module, inputsFor(*module.main()));
  if (!expected.ok()) return "before: " + expected.error().toString();
  Result<std::vector<Value>> actual = interpret(inferred->module, inputsFor(*module.main()));
  if (!actual.ok()) return "run again: " + actual.error().toString();
  if (expected->size() != actual->size()) return "another number of results";
  for (size_t i = 0; i < expected->size(); ++i)
    if (const std::string fault = test::difference((*expected)[i], (*actual)[i], {}); !fault.empty())
      return "result " + std::to_string(i) + ": " + fault;
  return "";
}

// Examples that no model can hold for another reason than their row.
struct Exception {
  std::string_view op, why;
};
constexpr Exception kExceptions[] = {
    {"tuple", "the example gives a tuple"},
    {"pack_b", "the example gives packed weights"},
    {"pack_bytes", "the example gives packed weights"},
    {"pack_conv", "the example gives packed weights"},
};

class ModelWriterTest : public ::testing::Test {
 protected:
  std::string difference(std::string_view text, WeightsPlace place = WeightsPlace::bySize) {
    IrContext ir;
    Result<Module> module = typed(ir, text);
    return module.ok() ? readBackDifference(*module, folder_.path(), place) : module.error().toString();
  }
  std::string fault(std::string_view text) {
    IrContext ir;
    Result<Module> module = typed(ir, text);
    if (!module.ok()) return module.error().toString();
    Result<SavedModel> saved = toOnnx(*module, {});
    return saved.ok() ? "" : saved.error().toString();
  }
  dyn::test::TemporaryFolder folder_;
};

TEST_F(ModelWriterTest, ExamplesOfAllOperatorsComeBackOrAreNamed) {
  for (const OpDef* op : opTable()) {
    SCOPED_TRACE(std::string(op->name) + ": " + std::string(op->example));
    const WriteRow& row = *findWriteRow(op->name);
    const std::string differs = difference(op->example);
    bool excepted = row.saying == Saying::never;
    for (const Exception& exception : kExceptions) excepted = excepted || exception.op == op->name;
    if (excepted)
      EXPECT_NE(differs.find("unsupported: an ONNX model cannot hold"), std::string::npos) << differs;
    else
      EXPECT_EQ(differs, "");
  }
}

// One node of the model that is read back, as "Reshape(x, integers_0_0_12_64)".
std::vector<std::string> nodesOf(const Model& model) {
  std::vector<std::string> nodes;
  for (const NodeProto& node : model.graph->nodes) {
    std::string text = std::string(node.opType) + "(";
    for (size_t i = 0; i < node.inputs.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::string(node.inputs[i]);
    nodes.push_back(text + ")");
  }
  return nodes;
}

Result<Model> savedModel(std::string_view text, const std::string& path, const SaveOptions& options = {},
                         WeightsPlace place = WeightsPlace::bySize) {
  IrContext ir;
  DYN_TRY(Module module, typed(ir, text));
  DYN_TRY(SavedModel saved, toOnnx(module, options));
  DYN_CHECK(writeOnnxFiles(saved, path, place));
  return openModel(path);
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ModelWriterTest, SizesAreConstantsWhereAReshapeCanSayThem) {
  Result<Model> model = savedModel(
      "fn @main(%x: Tensor[(batch, seq, 12), f32]) {\n"
      "  %s = dims_value() {value = dims(batch, seq, 3, 4)} %a = reshape(%x, %s)\n"
      "  %t = dims_value() {value = dims(batch*seq, 12)} %b = reshape(%x, %t)\n"
      "  return %a, %b\n}",
      folder_ / "m.onnx");
  ASSERT_TRUE(model.ok()) << model.error().toString();
  EXPECT_THAT(nodesOf(*model), ElementsAre("Reshape(x, integers_0_0_3_4)", "Reshape(x, integers_-1_12)"));
  const TypeProto& type = *model->graph->inputs[0].type;
  EXPECT_EQ(type.shape[0].parameter, "batch");
  EXPECT_EQ(model->graph->outputs[1].type->shape[0].parameter, "batch*seq");
}

TEST_F(ModelWriterTest, OtherSizesAreComputedFromShapes) {
  EXPECT_EQ(
      difference("fn @main(%x: Tensor[(n, m), f32], %y: Tensor[(m), f32]) {\n"
                 "  %s = dims_value() {value = dims(n, m, 2*n + m, floordiv(n, 3), ceildiv(m, 3), mod(n, 3), "
                 "min(n, 2), max(m, 9))}\n"
                 "  %k = dim_value() {value = dims(n*m)}\n  return %s, %k\n}"),
      "");
}

TEST_F(ModelWriterTest, BranchesAndLoopsSeeWhatIsAround) {
  EXPECT_EQ(difference("fn @main(%x: Tensor[(n), f32], %p: Tensor[(), bool]) {\n"
                       "  %y = if(%p, %x) then (%a: Tensor[(n), f32]) { return %a }\n"
                       "    else (%b: Tensor[(n), f32]) { %r = neg(%b) return %r }\n  return %y\n}"),
            "");
  // A loop in a loop, whose bodies read a capture and a size from outside and carry what grows.
  EXPECT_EQ(
      difference("fn @main(%x: Tensor[(n), f32]) {\n"
                 "  %t = constant() {value = i64[] 3}\n"
                 "  %y, %z = loop(%t, _, %x, %t, %x) {carried = 1} body (%i: Tensor[(), i64], "
                 "%s: Tensor[(k), f32], %u: Tensor[(), i64], %c: Tensor[(n), f32]) {\n"
                 "    %go = constant() {value = bool[] true}\n"
                 "    %v = loop(%u, _, %s) {carried = 1} body (%j: Tensor[(), i64], %w: Tensor[(l), f32]) {\n"
                 "      %on = constant() {value = bool[] true} %r = relu(%w) return %on, %r }\n"
                 "    %g = concat(%v, %c) {axis = 0} %d = dim_value() {value = dims(n)}\n"
                 "    return %go, %g, %d }\n"
                 "  return %y, %z\n}"),
      "");
}

TEST_F(ModelWriterTest, CallsAreWrittenOut) {
  EXPECT_EQ(
      difference(
          "fn @main(%x: Tensor[(n), f32], %y: Tensor[(m), f32]) {\n"
          "  %a = call(%x) {callee = \"f\"} %b = call(%y) {callee = \"f\"} return %a, %b\n}\n"
          "fn @f(%v: Tensor[(k), f32]) {\n"
          "  %s = dim_value() {value = dims(k)} %c = cast(%s) {to = f32} %r = mul(%v, %c) return %r\n}"),
      "");
}

TEST_F(ModelWriterTest, WhatOnnxLacksIsNamed) {
  const std::string data = fault(
      "type T { A(Tensor[(2), f32]), B(Tensor[(2), f32], Tensor[(2), f32]) }\n"
      "fn @main(%x: Tensor[(2), f32]) {\n"
      "  %d = construct(%x) {type = \"T\", constructor = \"A\"}\n"
      "  %y = match(%d) case A(%a: Tensor[(2), f32]) { return %a } "
      "case B(%b: Tensor[(2), f32], %c: Tensor[(2), f32]) { return %b }\n"
      "  return %y\n}");
  EXPECT_THAT(data, HasSubstr("cannot hold construct (%d): ONNX has no algebraic data types"));
  EXPECT_THAT(data, HasSubstr("note: unsupported: an ONNX model cannot hold match (%y)"));
  EXPECT_THAT(fault("fn @main(%a: Tensor[(n), i32], %b: Tensor[(n), i32]) {\n"
                    "  %y = bit_shift(%a, %b) {direction = \"left\"} return %y }"),
              HasSubstr("ONNX shifts unsigned integers only"));
}

TEST_F(ModelWriterTest, ChecksAreLeftOutAndCounted) {
  IrContext ir;
  Result<Module> module = typed(ir,
                                "fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32]) { %y = add(%a, %b) "
                                "%z = matmul(%a, %b) return %y, %z }");
  ASSERT_TRUE(module.ok()) << module.error().toString();
  Result<SavedModel> saved = toOnnx(*module, {});
  ASSERT_TRUE(saved.ok()) << saved.error().toString();
  EXPECT_EQ(saved->leftOut.count("check"), 1u);
  EXPECT_EQ(saved->nodeCount, 2);
}

TEST_F(ModelWriterTest, OperatorSetsAreThoseThatTheGraphNeeds) {
  const auto opsetOf = [&](std::string_view text) {
    IrContext ir;
    Result<Module> module = typed(ir, text);
    Result<SavedModel> saved = toOnnx(*module, {});
    return saved.ok() ? saved->opsets.at("") : 0;
  };
  EXPECT_EQ(opsetOf("fn @main(%x: Tensor[(n), f32]) { %y = relu(%x) return %y }"), 21);
  EXPECT_EQ(
      opsetOf("fn @main(%x: Tensor[(n, 4), f32], %s: Tensor[(4), f32]) { %y = rms_norm(%x, %s) return %y }"),
      23);
  EXPECT_EQ(opsetOf("fn @main(%x: Tensor[(n), f32]) { %y = cast(%x) {to = i2} return %y }"), 25);
}

TEST_F(ModelWriterTest, NamesAreTheModelsOwn) {
  SaveOptions options;
  options.inputNames = {"pixel values"};
  options.outputNames = {"logits", "again", "input"};
  options.graphName = "net";
  options.metadata = {{"dyn.pass", "fold"}};
  Result<Model> model = savedModel("fn @main(%x: Tensor[(n), f32]) { %y = relu(%x) return %y, %y, %x }",
                                   folder_ / "m.onnx", options);
  ASSERT_TRUE(model.ok()) << model.error().toString();
  EXPECT_THAT(nodesOf(*model),
              ElementsAre("Relu(pixel values)", "Identity(logits)", "Identity(pixel values)"));
  EXPECT_EQ(model->graph->name, "net");
  EXPECT_EQ(model->graph->outputs[1].name, "again");
  EXPECT_EQ(model->metadata[0].value, "fold");
}

TEST_F(ModelWriterTest, WeightsOutsideAreTheSame) {
  std::string numbers;
  for (int i = 0; i < 400; ++i) numbers += (i == 0 ? "" : ", ") + std::to_string(i % 17);
  const std::string text = "fn @main(%x: Tensor[(400), f32]) { %w = constant() {value = f32[400] [" +
                           numbers + "]}\n  %y = mul(%x, %w) return %y }";
  EXPECT_EQ(difference(text, WeightsPlace::outside), "");
  EXPECT_EQ(std::filesystem::file_size(folder_ / "model.onnx.data"), 1600u);
  EXPECT_LT(std::filesystem::file_size(folder_ / "model.onnx"), 600u);
  EXPECT_EQ(difference(text, WeightsPlace::inside), "");
}

TEST_F(ModelWriterTest, EqualModulesGiveEqualBytes) {
  const auto bytesOf = [&](const char* name) {
    Result<Model> model =
        savedModel("fn @main(%x: Tensor[(n, 3), f32]) { %y = softmax(%x) return %y }", folder_ / name);
    std::ifstream file(folder_ / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytesOf("a.onnx"), bytesOf("b.onnx"));
}

}  // namespace
}  // namespace dyn::onnx
