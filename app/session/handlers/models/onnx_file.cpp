#include "app/session/handlers/models/onnx_file.h"

#ifdef DYN_HAVE_ONNX
#include <sys/stat.h>

#include "app/engine/model/value_types.h"
#include "app/session/handlers/read_again.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/folders.h"

namespace dyn {

namespace {

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

Result<TypedOnnxFile> typedOnnxFile(SessionState& state) {
  DYN_TRY(const LoadedModel* loaded, state.model());
  if (loaded->kind() != ModelKind::onnx)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: this needs an ONNX file, not " + loaded->info().path);
  if (loaded->request().path == "-")
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a model of standard input is not there to be read again");
  LoadRequest request = loaded->request();
  request.listValues = true;
  constexpr std::string_view kPasses[] = {"infer"};
  TypedOnnxFile result;
  DYN_TRY(result.model, readAgain(state, request, kPasses));
  DYN_CHECK(result.model->ensurePasses());
  const TypesOfValues known = typesOfValues(result.model->typed());
  for (const auto& [name, value] : result.model->namedValues())
    if (const auto type = known.find(value); type != known.end() && type->second)
      result.types[name] = type->second;
  return result;
}

onnx::Metadata dimsOfInputs(const TypedOnnxFile& typed, const std::vector<std::string>& inputs) {
  LoadedModel::NamedTypes types;
  for (const std::string& input : inputs)
    if (const auto type = typed.types.find(input); type != typed.types.end())
      types.emplace_back(input, type->second);
  return typed.model->dimMetadata(types);
}

Result<int64_t> writeOnnxPieces(const onnx::FilePieces& pieces, const std::string& from,
                                const std::string& file) {
  if (!file.ends_with(".onnx"))
    return makeError(DiagnosticId::usageError, file + ": a file NAME.onnx is needed");
  if (pieces.hasExternalData) DYN_CHECK(staysBeside(from, file));
  DYN_CHECK(writeFileAtomically(file, pieces.pieces));
  return static_cast<int64_t>(pieces.sizeBytes());
}

}  // namespace dyn
#endif
