#include "app/engine/model/model_info.h"

namespace dyn {

const char* toString(ModelKind kind) {
  switch (kind) {
    case ModelKind::none:
      return "none";
    case ModelKind::onnx:
      return "onnx";
    case ModelKind::text:
      return "text";
    case ModelKind::package:
      return "package";
  }
  return "?";
}

std::string dimValuesText(const DimValues& dims) {
  std::string text;
  for (const auto& [name, value] : dims)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return text;
}

}  // namespace dyn
