// Handlers: :infer, the ONNX model with the types of its values.
#include <algorithm>

#include "app/session/handlers/models/onnx_file.h"
#include "app/session/views/file_views.h"
#include "app/session/views/view.h"

namespace dyn {

#ifdef DYN_HAVE_ONNX
namespace {

// The tensor of a list or an optional.
Type innermost(Type type) {
  while (type && (type.kind() == TypeKind::list || type.kind() == TypeKind::optional)) type = type.element();
  return type;
}

void countDims(const Type& type, InferResult& result) {
  const Type tensor = innermost(type);
  if (!tensor || !tensor.isTensor()) return;
  for (const Dim dim : tensor.dims()) {
    if (dim.isInvalid() || hasAnonymous(dim))
      ++result.unknownDimsCount;
    else
      ++(dim.isConstant() ? result.numberDimsCount : result.formulaDimsCount);
  }
}

}  // namespace
#endif

Result<View> handle_infer([[maybe_unused]] SessionState& state, [[maybe_unused]] const Command& command,
                          Outcome&) {
#ifdef DYN_HAVE_ONNX
  const std::string file = command.text("file");
  DYN_TRY(const TypedOnnxFile typed, typedOnnxFile(state));
  InferResult result;
  for (const auto& [name, value] : typed.model->namedValues()) {
    ++result.valuesCount;
    const auto type = typed.types.find(name);
    if (type == typed.types.end()) {
      result.untyped.push_back(name);
      continue;
    }
    ++result.typedCount;
    countDims(type->second, result);
  }
  std::sort(result.untyped.begin(), result.untyped.end());
  const std::string path = typed.model->request().path;
  std::vector<std::string> inputs;
  for (const ValueInfo& input : typed.model->info().inputs) inputs.push_back(input.name);
  DYN_TRY(MappedFile mapped, MappedFile::open(path));
  DYN_TRY(const onnx::FilePieces made, onnx::withTypes(std::make_shared<const MappedFile>(std::move(mapped)),
                                                       typed.types, dimsOfInputs(typed, inputs)));
  DYN_TRY(const int64_t bytes, writeOnnxPieces(made, path, file));
  result.file = {file, bytes};
  return makeView(std::move(result));
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
#endif
}

}  // namespace dyn
