// Small models cut at every byte and with every byte changed: each is read or refused with a typed diagnostic.
// The sanitizer build makes any read out of bounds a failure.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "frontends/onnx/read/onnx_tensor.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx {
namespace {

namespace fs = std::filesystem;
using test::Msg;

// Also an environment may name a folder of models: <folder>/<model>/model.onnx and test_data_set_*/*.pb.
std::string modelFolder() {
  const char* folder = std::getenv("DYN_ONNX_MODELS");
  return folder == nullptr ? "" : folder;
}

bool isTyped(DiagnosticId id) {
  static const std::set<DiagnosticId> ids = {DiagnosticId::onnxMalformed,    DiagnosticId::onnxInvalid,
                                             DiagnosticId::onnxExternalData, DiagnosticId::dimOverflow,
                                             DiagnosticId::unsupportedDtype, DiagnosticId::unsupportedFeature,
                                             DiagnosticId::memoryLimit};
  return ids.count(id) != 0;
}

// Reads the model and all its tensors; the first diagnostic, or null.
void readAll(std::string bytes, const std::string& what) {
  Result<Model> m = readModel(MappedFile::fromBytes(std::move(bytes), "m.onnx"));
  if (!m.ok()) {
    ASSERT_TRUE(isTyped(m.error().id)) << what << ": " << m.error().toString();
    ASSERT_EQ(m.error().place.file, "m.onnx") << what;
    return;
  }
  std::vector<const GraphProto*> work = {m->graph};
  auto check = [&](const TensorProto& tensor) {
    Result<DecodedTensor> t = decodeTensor(tensor, m->source);
    EXPECT_TRUE(t.ok() || isTyped(t.error().id)) << what << ": " << t.error().toString();
  };
  while (!work.empty()) {
    const GraphProto* graph = work.back();
    work.pop_back();
    for (const TensorProto& tensor : graph->initializers) check(tensor);
    for (const NodeProto& node : graph->nodes) {
      (void)node.describe();
      (void)node.metadata();
      for (const AttributeProto& attribute : node.attributes) {
        for (const TensorProto& tensor : attribute.tensors()) check(tensor);
        for (const GraphProto& inner : attribute.graphs()) work.push_back(&inner);
      }
    }
  }
}

std::vector<std::string> smallModels() {
  Msg typed = Msg().packed(1, {2, 2}).num(2, kInt8).packed(5, {1, -2, 3, 4}).sub(8, "t");
  Msg text = Msg().num(1, 2).num(2, kString).sub(6, "ab").sub(6, "c");
  Msg constant = test::node("Constant", {}, {"k"}).sub(5, Msg().sub(1, "value").sub(5, typed).num(20, 4));
  Msg nested = Msg().sub(1, test::node("Loop", {"a"}, {"b"})
                                .sub(5, Msg().sub(1, "body").sub(6, Msg().sub(1, constant)).num(20, 5)));
  return {test::sampleModel().bytes, test::model(Msg().sub(5, typed).sub(5, text).sub(1, constant)).bytes,
          test::model(nested).bytes, Msg().sub(7, Msg().sub(2, "g")).bytes};
}

TEST(DamagedModel, cutAtEveryByte) {
  for (const std::string& model : smallModels()) {
    ASSERT_TRUE(readModel(MappedFile::fromBytes(model, "m.onnx")).ok());
    for (size_t length = 0; length != model.size(); ++length)
      readAll(model.substr(0, length), "cut at " + std::to_string(length));
  }
}

TEST(DamagedModel, eachByteChanged) {
  for (const std::string& model : smallModels())
    for (size_t at = 0; at != model.size(); ++at)
      for (int change : {0x01, 0x02, 0x07, 0x08, 0x40, 0x80, 0xff, -1}) {
        std::string damaged = model;
        damaged[at] = static_cast<char>(change < 0 ? 0 : static_cast<uint8_t>(model[at]) ^ change);
        readAll(damaged, "byte " + std::to_string(at) + " changed by " + std::to_string(change));
      }
}

TEST(DamagedModel, testDataCutAndChanged) {
  Msg tensor = Msg().packed(1, {2}).num(2, kInt16).packed(5, {7, -300}).sub(8, "t");
  Msg sequence = Msg().sub(1, "s").num(2, 1).sub(3, tensor).sub(3, tensor);
  const std::string whole = Msg().num(2, 3).sub(5, sequence).bytes;
  auto attempt = [](std::string bytes) {
    auto file = std::make_shared<const MappedFile>(MappedFile::fromBytes(std::move(bytes), "d.pb"));
    for (DataKind kind : {DataKind::tensor, DataKind::sequence, DataKind::optional, DataKind::map}) {
      Result<DataValue> v = readData(file, kind);
      EXPECT_TRUE(v.ok() || isTyped(v.error().id)) << v.error().toString();
    }
  };
  for (size_t at = 0; at != whole.size(); ++at) {
    attempt(whole.substr(0, at));
    for (int change : {0x01, 0x02, 0x07, 0x08, 0x40, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(static_cast<uint8_t>(damaged[at]) ^ change);
      attempt(damaged);
    }
  }
}

TEST(ModelFolder, everyModelAndDataFileIsRead) {
  if (modelFolder().empty()) GTEST_SKIP() << "DYN_ONNX_MODELS names no folder of models";
  size_t models = 0, data = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(modelFolder())) {
    const std::string path = entry.path().string();
    if (entry.path().extension() != ".onnx") continue;
    Result<Model> m = openModel(path);
    ASSERT_TRUE(m.ok()) << path << ": " << m.error().toString();
    ++models;
    EXPECT_FALSE(m->graph->nodes.empty() && m->graph->outputs.empty()) << path;
    for (const TensorProto& tensor : m->graph->initializers) {
      Result<DecodedTensor> t = decodeTensor(tensor, m->source);
      EXPECT_TRUE(t.ok()) << path << ": " << t.error().toString();
    }
    for (int set = 0;; ++set) {
      fs::path folder = entry.path().parent_path() / ("test_data_set_" + std::to_string(set));
      if (!fs::exists(folder)) break;
      for (auto [list, prefix] :
           {std::pair(m->graph->inputs, "input_"), std::pair(m->graph->outputs, "output_")})
        for (size_t i = 0; i != list.size(); ++i) {
          std::string file = (folder / (prefix + std::to_string(i) + ".pb")).string();
          if (!fs::exists(file) || list[i].type == nullptr) continue;
          Result<DataValue> v = openData(file, dataKindOf(*list[i].type));
          EXPECT_TRUE(v.ok()) << file << ": " << (v.ok() ? "" : v.error().toString());
          if (!v.ok()) continue;
          ++data;
          Result<std::string> written = writeData(*v);
          EXPECT_TRUE(written.ok()) << file << ": " << (written.ok() ? "" : written.error().toString());
        }
    }
  }
  EXPECT_GT(models, 0u);
  RecordProperty("models", static_cast<int>(models));
  RecordProperty("data", static_cast<int>(data));
}

}  // namespace
}  // namespace dyn::onnx
