// Models that are read from bytes and read again after an edit.
#pragma once

#include <gtest/gtest.h>

#include "frontends/onnx/read/model_reader.h"
#include "frontends/onnx/write/file_pieces.h"
#include "tests/support/text_module.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx::test {

inline std::string bytesOfFile(const FilePieces& file) {
  std::string bytes;
  for (const std::string_view piece : file.pieces) bytes += piece;
  return bytes;
}

inline std::string opsOf(const Model& model) {
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

// The names of the graph's inputs.
inline std::vector<std::string> inputNamesOf(const Model& model) {
  std::vector<std::string> names;
  for (const ValueInfoProto& input : model.graph->inputs) names.emplace_back(input.name);
  return names;
}

inline Msg weight(const char* name, std::initializer_list<int64_t> dims,
                  std::initializer_list<float> elements) {
  return Msg().packed(1, dims).num(2, 1).sub(8, name).packedFixed<float>(4, elements);
}

}  // namespace dyn::onnx::test
