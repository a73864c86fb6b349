#include "frontends/onnx/emit/tensor_loader.h"

#include <cstring>
#include <unordered_set>

namespace dyn::onnx {

Result<HostTensor> toHostTensor(DecodedTensor decoded) {
  const std::optional<Dtype> dtype = dtypeFromOnnx(decoded.onnxType);
  if (!dtype) {
    return makeError(
        DiagnosticId::unsupportedDtype,
        "tensor " + quotedText(decoded.name) + " has element type " + elementTypeName(decoded.onnxType));
  }
  if (*dtype == Dtype::string) return HostTensor::strings(decoded.dims, std::move(decoded.strings));
  HostTensor::Forget forget;
  if (decoded.borrowed && decoded.file)
    forget = [file = decoded.file](std::string_view part) { file->forget(part); };
  HostTensor borrowed =
      HostTensor::borrow(*dtype, decoded.dims, decoded.data, std::move(decoded.keepAlive), std::move(forget));
  if (borrowed.valid() && (decoded.data != nullptr || decoded.sizeBytes == 0)) return borrowed;
  return HostTensor::create(*dtype, decoded.dims);
}

Result<HostTensor> TensorLoader::load(const TensorProto& tensor) {
  ExternalData* external = nullptr;
  if (tensor.location == TensorProto::Location::external && !model_.folder.empty()) {
    if (!external_) {
      DYN_TRY(ExternalData folder, ExternalData::atFolder(model_.folder));
      if (!dataRoot_.empty()) DYN_CHECK(folder.allowLinks(dataRoot_));
      external_.emplace(std::move(folder));
    }
    external = &*external_;
  }
  DYN_TRY(DecodedTensor decoded, decodeTensor(tensor, model_.source, external));
  return toHostTensor(std::move(decoded));
}

Result<HostTensor> TensorLoader::loadSparse(const SparseTensorProto& tensor) {
  const SourceLocation place = model_.place(tensor.bytes);
  if (tensor.values == nullptr || tensor.indices == nullptr)
    return makeError(DiagnosticId::onnxInvalid, "a sparse tensor lacks values or indices", place);
  DYN_TRY(HostTensor values, load(*tensor.values));
  DYN_TRY(HostTensor indices, load(*tensor.indices));
  const std::vector<int64_t> shape(tensor.dims.begin(), tensor.dims.end());
  if (values.dtype() == Dtype::string)
    return makeError(DiagnosticId::unsupportedDtype, "a sparse tensor of strings", place);
  DYN_TRY(HostTensor dense, HostTensor::create(values.dtype(), shape));
  const int64_t rank = dense.rank();
  const bool linear = indices.rank() == 1;
  const int64_t count = values.elementCount();
  if (indices.dtype() != Dtype::i64 || values.rank() != 1 || indices.rank() < 1 || indices.rank() > 2 ||
      indices.elementCount() != (linear ? count : count * rank))
    return makeError(DiagnosticId::onnxInvalid, "indices of a sparse tensor do not go with its values",
                     place);
  const int64_t bytes = storageBytes(values.dtype());
  std::byte* target = dense.mutableData();
  std::unordered_set<int64_t> known;
  for (int64_t i = 0; i < count; ++i) {
    int64_t flat = 0;
    bool inside = true;
    if (linear) {
      flat = indices.intAt(i);
    } else {
      for (int64_t axis = 0; axis < rank; ++axis) {
        const int64_t at = indices.intAt(i * rank + axis);
        const int64_t size = shape[static_cast<size_t>(axis)];
        inside = inside && at >= 0 && at < size;
        flat = inside ? flat * size + at : 0;
      }
    }
    if (!inside || flat < 0 || flat >= dense.elementCount())
      return makeError(DiagnosticId::onnxInvalid, "an index of a sparse tensor is out of its range", place);
    if (!known.insert(flat).second)
      return makeError(DiagnosticId::onnxInvalid, "a sparse tensor has two values at one place", place);
    std::memcpy(target + flat * bytes, values.data() + i * bytes, static_cast<size_t>(bytes));
  }
  return dense;
}

}  // namespace dyn::onnx
