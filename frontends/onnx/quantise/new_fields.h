// Weights of the file, and fields of GraphProto that the quantisers write: weights and nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/read/onnx_tensor.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {

// A weight for the graph of `model`; the elements lie at `data`. Files of old versions list it among the
// inputs, too.
struct NewWeight {
  std::string name;
  int32_t type = 0;  // ElementType
  std::vector<int64_t> dims;
  const void* data = nullptr;
};
Result<std::string> weightFields(const Model& model, NewWeight weight);

std::string nodeFields(const NodeMessage& node);
// The node of the file with other names at some of its inputs.
Result<std::string> nodeFields(const Model& model, const NodeProto& node,
                               const std::map<size_t, std::string>& inputs);

// Error unsupportedFeature where the operator set has no DequantizeLinear with a scale for each channel.
Status hasChannelScales(const Model& model);

// The files that hold weights of the model; none where it lies in memory. `dataRoot` as in ImportOptions.
Result<std::optional<ExternalData>> externalDataOf(const Model& model, const std::string& dataRoot);

// The elements of an f32 weight of the file.
Result<std::vector<float>> floatsOf(const Model& model, const TensorProto& weight,
                                    std::optional<ExternalData>& external);
bool areFinite(const std::vector<float>& numbers);

}  // namespace dyn::onnx
