// Handler: :extract, a part of an ONNX model.
#include <map>

#include "app/session/changes/watched_values.h"
#include "app/session/handlers/models/onnx_file.h"
#include "compiler/support/file_names.h"
#include "compiler/support/read_files.h"
#ifdef DYN_HAVE_ONNX
#include "app/session/views/change_views.h"
#include "app/session/views/view.h"
#include "frontends/onnx/write/part_writer.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_ONNX
namespace {

std::string boundaryType(const onnx::TypesByName& types, const std::string& name) {
  const auto type = types.find(name);
  return type == types.end() ? "" : type->second.toString();
}

// The inputs of the part in a run of the whole model, each in a file beside it.
Status writeInputsOfRun(SessionState& state, const Command& command, TypedOnnxFile& typed,
                        ExtractResult& result) {
  std::map<std::string, ValueId> values(typed.model->namedValues().begin(), typed.model->namedValues().end());
  DYN_TRY(const CallInputs inputs, callInputs(state, *typed.model, command));
  std::vector<ValueId> watched;
  for (const ExtractResult::Boundary& input : result.inputs) {
    const auto value = values.find(input.name);
    if (value == values.end())
      return makeError(
          DiagnosticId::unsupportedFeature,
          "unsupported: " + input.name + " is not a value of the program, which a run could show");
    watched.push_back(value->second);
  }
  DYN_TRY(const std::vector<Value> made,
          watchedValues(state, {*typed.model, watched, inputs, state.now.options.passes}));
  const std::string stem = result.file.substr(0, result.file.rfind(".onnx"));
  FileNames names;
  result.again = "dynrepl run " + result.file;
  for (size_t i = 0; i < made.size(); ++i) {
    ExtractResult::Boundary& input = result.inputs[i];
    if (!made[i].isTensor())
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: " + input.name + " is no tensor, which a file .npy could hold");
    input.file = stem + "." + names.file(input.name, ".npy");
    DYN_CHECK(mayWrite(input.file));
    DYN_CHECK(writeNpyTensor(input.file, made[i].tensor()));
    result.again += " --input '" + input.name + "=@" + input.file + "'";
  }
  return {};
}

}  // namespace
#endif

Result<View> handle_extract([[maybe_unused]] SessionState& state, [[maybe_unused]] const Command& command,
                            Outcome&) {
#ifdef DYN_HAVE_ONNX
  ExtractResult result;
  result.file = command.text("file");
  DYN_TRY(TypedOnnxFile typed, typedOnnxFile(state));
  const std::string path = typed.model->request().path;
  DYN_TRY(const onnx::Model model, onnx::openModel(path));
  DYN_TRY(const onnx::ModelPart part,
          onnx::partOf(model,
                       {command.all("from"), command.all("to"),
                        [&](const std::vector<std::string>& inputs) { return dimsOfInputs(typed, inputs); }},
                       typed.types));
  result.nodesCount = part.nodesCount;
  result.allNodesCount = static_cast<int64_t>(model.graph->nodes.size());
  result.weightsBytes = part.weightsBytes;
  result.allWeightsBytes = onnx::weightsBytes(model);
  for (size_t i = 0; i < part.inputs.size(); ++i)
    result.inputs.push_back(
        {part.inputs[i], boundaryType(typed.types, part.inputs[i]), "", i < part.askedInputsCount});
  for (const std::string& output : part.outputs)
    result.outputs.push_back({output, boundaryType(typed.types, output), "", true});
  DYN_TRY(result.bytes, writeOnnxPieces(part.file, path, result.file));
  if (command.has("dim") || command.has("input") || command.has("lengths"))
    DYN_CHECK(writeInputsOfRun(state, command, typed, result));
  return makeView(std::move(result));
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
#endif
}

}  // namespace dyn
