// libFuzzer: any bytes as a model and as test data. Nothing may crash, hang or read out of bounds; errors are
// expected.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "frontends/onnx/read/onnx_tensor.h"
#include "tests/fuzz/replay/fuzz_target.h"

namespace {

using namespace dyn::onnx;

void decodeAll(const Model& model, const GraphProto& graph) {
  for (const TensorProto& tensor : graph.initializers) (void)decodeTensor(tensor, model.source);
  for (const NodeProto& node : graph.nodes) {
    (void)node.describe();
    (void)node.metadata();
    for (const AttributeProto& attribute : node.attributes)
      for (const TensorProto& tensor : attribute.tensors()) (void)decodeTensor(tensor, model.source);
  }
}

}  // namespace

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  ReadOptions options;
  options.arenaLimitBytes = uint64_t{256} << 20;
  dyn::Result<Model> model = readModel(dyn::MappedFile::fromBytes(bytes, "fuzz.onnx"), options);
  bool accepted = model.ok();
  if (model.ok()) decodeAll(*model, *model->graph);
  auto file =
      std::make_shared<const dyn::MappedFile>(dyn::MappedFile::fromBytes(std::move(bytes), "fuzz.pb"));
  for (DataKind kind : {DataKind::tensor, DataKind::sequence, DataKind::optional, DataKind::map}) {
    dyn::Result<DataValue> value = readData(file, kind);
    accepted |= value.ok();
    if (value.ok() && kind != DataKind::map) (void)writeData(*value);
  }
  return accepted;
}
