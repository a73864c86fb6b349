#include "app/engine/inputs/test_value.h"

#ifdef DYN_HAVE_ONNX
#include <cstring>

#include "frontends/onnx/read/onnx_tensor.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_ONNX
namespace {

Result<HostTensor> convertTensor(const onnx::DecodedTensor& decoded) {
  if (!decoded.strings.empty() || decoded.onnxType == onnx::kString)
    return HostTensor::strings(decoded.dims, decoded.strings);
  std::optional<Dtype> dtype = dtypeFromOnnx(decoded.onnxType);
  if (!dtype)
    return makeError(DiagnosticId::unsupportedDtype,
                     "unsupported element type " + onnx::elementTypeName(decoded.onnxType));
  DYN_TRY(HostTensor tensor,
          HostTensor::create(*dtype, decoded.dims));  // copied: a file's data lie at any address
  if (tensor.sizeBytes() > 0)
    std::memcpy(tensor.mutableData(), decoded.data, static_cast<size_t>(tensor.sizeBytes()));
  return tensor;
}

onnx::DataKind dataKindOf(const std::string& kind) {
  if (kind == "list") return onnx::DataKind::sequence;
  if (kind == "optional") return onnx::DataKind::optional;
  return onnx::DataKind::tensor;
}

Result<Value> convertData(const onnx::DataValue& data, int depth) {
  if (depth > static_cast<int>(onnx::kMaxDataDepth))
    return makeError(DiagnosticId::onnxInvalid, "values are nested too deeply");
  if (data.kind == onnx::DataKind::tensor) {
    DYN_TRY(HostTensor tensor, convertTensor(data.tensor));
    return Value(std::move(tensor));
  }
  std::vector<Value> parts;
  for (const onnx::DataValue& element : data.elements) {
    DYN_TRY(Value part, convertData(element, depth + 1));
    parts.push_back(std::move(part));
  }
  if (data.kind == onnx::DataKind::sequence) return Value::list(std::move(parts));
  if (data.kind == onnx::DataKind::optional)
    return parts.empty() ? Value::nothing() : Value::some(std::move(parts[0]));
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: map values");
}

}  // namespace

Result<Value> readTestValue(const std::string& path, const Port& port) {
  DYN_TRY(onnx::DataValue data, onnx::openData(path, dataKindOf(port.info.kind)));
  return convertData(data, 0);
}
#else
Result<Value> readTestValue(const std::string& path, const Port&) {
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: " + path + ": this build reads no files of ONNX");
}
#endif

}  // namespace dyn
