#include "frontends/onnx/quantise/new_fields.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/file_pieces.h"

namespace dyn::onnx {

namespace {

// Up to this version of the format, weights stand among the inputs, too.
constexpr int64_t kWeightsAreInputs = 3;
constexpr uint32_t kInputOfNode = 1;
constexpr int64_t kChannelScalesVersion = 13;  // of ai.onnx

}  // namespace

Result<std::string> weightFields(const Model& model, NewWeight weight) {
  DecodedTensor tensor;
  tensor.name = std::move(weight.name);
  tensor.onnxType = weight.type;
  tensor.dims = std::move(weight.dims);
  for (const int64_t size : tensor.dims) tensor.elementCount *= size;
  tensor.data = static_cast<const std::byte*>(weight.data);
  tensor.sizeBytes = static_cast<uint64_t>(tensor.elementCount) * storageBits(weight.type) / 8;
  DYN_TRY(const std::string message, writeTensorProto(tensor));
  WireWriter out;
  out.bytes(field::kInitializer, message);
  if (model.irVersion > kWeightsAreInputs) return out.take();
  WireWriter shape, tensorType, type, value;
  for (const int64_t size : tensor.dims) {
    WireWriter dim;
    dim.varint(1, static_cast<uint64_t>(size));
    shape.bytes(1, dim.str());
  }
  tensorType.varint(1, static_cast<uint64_t>(tensor.onnxType));
  tensorType.bytes(2, shape.str());
  type.bytes(1, tensorType.str());
  value.bytes(field::kNameOfValue, tensor.name);
  value.bytes(field::kTypeOfValue, type.str());
  out.bytes(field::kInput, value.str());
  return out.take();
}

std::string nodeFields(const NodeMessage& node) {
  GraphMessage graph;
  graph.add(node);
  return graph.nodes;
}

Result<std::string> nodeFields(const Model& model, const NodeProto& node,
                               const std::map<size_t, std::string>& inputs) {
  DYN_TRY(const std::vector<FilePart> parts, partsOf(node.bytes, model.source));
  std::string message;
  size_t input = 0;
  for (const FilePart& part : parts) {
    const auto changed = part.number == kInputOfNode ? inputs.find(input++) : inputs.end();
    if (changed == inputs.end()) {
      message += part.all;
      continue;
    }
    WireWriter name;
    name.bytes(kInputOfNode, changed->second);
    message += name.str();
  }
  WireWriter out;
  out.bytes(field::kNode, message);
  return out.take();
}

Status hasChannelScales(const Model& model) {
  int64_t version = 0;
  for (const OperatorSetId& opset : model.opsetImports)
    if (standardDomain(opset.domain).empty()) version = opset.version;
  if (version >= kChannelScalesVersion) return {};
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: operator set " + std::to_string(version) +
                       " has no DequantizeLinear with a scale for each channel; 13 has");
}

Result<std::optional<ExternalData>> externalDataOf(const Model& model, const std::string& dataRoot) {
  std::optional<ExternalData> external;
  if (model.folder.empty()) return external;
  DYN_TRY(external, ExternalData::atFolder(model.folder));
  if (!dataRoot.empty()) DYN_CHECK(external->allowLinks(dataRoot));
  return external;
}

Result<std::vector<float>> floatsOf(const Model& model, const TensorProto& weight,
                                    std::optional<ExternalData>& external) {
  DYN_TRY(const DecodedTensor decoded, decodeTensor(weight, model.source, external ? &*external : nullptr));
  std::vector<float> elements(static_cast<size_t>(decoded.elementCount));
  if (!elements.empty()) std::memcpy(elements.data(), decoded.data, decoded.sizeBytes);
  return elements;
}

bool areFinite(const std::vector<float>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
}

}  // namespace dyn::onnx
