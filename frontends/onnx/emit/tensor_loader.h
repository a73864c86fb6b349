// Tensors of the file as constants: borrowed from the mapping where they are aligned, copied otherwise.
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/tensor.h"
#include "frontends/onnx/read/onnx_tensor.h"

namespace dyn::onnx {

class TensorLoader {
 public:
  // External data are looked for in model.folder; an empty folder has none.
  // External data may be reached by symbolic links that stay below `dataRoot`; "": by none.
  explicit TensorLoader(const Model& model, std::string dataRoot = "")
      : model_(model), dataRoot_(std::move(dataRoot)) {}

  Result<HostTensor> load(const TensorProto& tensor);
  // Sparse tensors become dense.
  Result<HostTensor> loadSparse(const SparseTensorProto& tensor);

 private:
  const Model& model_;
  const std::string dataRoot_;
  std::optional<ExternalData> external_;  // opened at the first external tensor
};

// What readData gives, as a constant.
Result<HostTensor> toHostTensor(DecodedTensor decoded);

}  // namespace dyn::onnx
