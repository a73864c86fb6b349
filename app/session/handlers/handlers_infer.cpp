// Handlers: :infer, the ONNX model with the types of its values.
#include <sys/stat.h>

#include <algorithm>

#include "app/engine/model/loaded_model.h"
#include "app/session/handlers/read_again.h"
#include "app/session/session_state.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/folders.h"
#ifdef DYN_HAVE_ONNX
#include "frontends/onnx/write/shape_writer.h"
#endif

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

// The types that @main has of its values.
std::map<ValueId, Type> typesOfMain(const Module& module) {
  std::map<ValueId, Type> types;
  const Function* main = module.main();
  if (!main) return types;
  for (const Parameter& parameter : main->parameters) types[parameter.id] = parameter.type;
  for (const Op* op : main->ops)
    for (const ValueDef& result : op->results) types[result.id] = result.type;
  return types;
}

// External data are found from the folder of the model.
Status staysBeside(const std::string& model, const std::string& file) {
  struct stat of = {}, to = {};
  const bool known = ::stat(folderOf(model).c_str(), &of) == 0 && ::stat(folderOf(file).c_str(), &to) == 0;
  if (known && of.st_dev == to.st_dev && of.st_ino == to.st_ino) return {};
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: " + file + ": the model has weights in files of its folder, " +
                       folderOf(model) + ", where the new file has to be, too");
}

}  // namespace
#endif

Result<View> handle_infer([[maybe_unused]] SessionState& state, [[maybe_unused]] const Command& command,
                          Outcome&) {
#ifdef DYN_HAVE_ONNX
  DYN_TRY(const LoadedModel* loaded, state.model());
  if (loaded->kind() != ModelKind::onnx)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: only an ONNX file has types to be written");
  if (loaded->request().path == "-")
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a model of standard input is not there to be read again");
  const std::string path = loaded->request().path, file = command.text("file");
  if (!file.ends_with(".onnx"))
    return makeError(DiagnosticId::usageError, file + ": a file NAME.onnx is needed");
  LoadRequest request = loaded->request();
  request.listValues = true;
  constexpr std::string_view kPasses[] = {"infer"};
  DYN_TRY(const std::unique_ptr<LoadedModel> model, readAgain(state, request, kPasses));
  DYN_CHECK(model->ensurePasses());
  const std::map<ValueId, Type> known = typesOfMain(model->typed());
  InferResult result;
  onnx::TypesByName types;
  for (const auto& [name, value] : model->namedValues()) {
    ++result.valuesCount;
    const auto type = known.find(value);
    if (type == known.end() || !type->second) {
      result.untyped.push_back(name);
      continue;
    }
    types[name] = type->second;
    ++result.typedCount;
    countDims(type->second, result);
  }
  std::sort(result.untyped.begin(), result.untyped.end());
  DYN_TRY(MappedFile mapped, MappedFile::open(path));
  DYN_TRY(const onnx::FileWithTypes made,
          onnx::withTypes(std::make_shared<const MappedFile>(std::move(mapped)), types));
  if (made.hasExternalData) DYN_CHECK(staysBeside(path, file));
  DYN_CHECK(writeFileAtomically(file, made.pieces));
  int64_t bytes = 0;
  for (const std::string_view piece : made.pieces) bytes += static_cast<int64_t>(piece.size());
  result.file = {file, bytes};
  return makeView(std::move(result));
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
#endif
}

}  // namespace dyn
