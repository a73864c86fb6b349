#include "app/session/handlers/export_freestanding.h"

#include "app/engine/inputs/input_spec.h"
#include "compiler/driver/target_choice.h"
#include "compiler/export/freestanding_bound.h"
#include "compiler/export/image_export.h"
#include "compiler/export/program_folder.h"

namespace dyn {

namespace {

std::string runtimeFile(const char* kind, const Target& target) {
  return (programFolder().parent_path() / "lib" / (std::string(kind) + "-" + processorOf(target) + ".o"))
      .string();
}

Result<uint64_t> bytesOrUnsupported(const FreestandingBound& bound) {
  if (bound.bytes) return *bound.bytes;
  Error error = makeError(DiagnosticId::unsupportedFeature, "unsupported: without a heap: " + bound.why);
  if (bound.why.find("has no bound") == std::string::npos) return error;
  return std::move(error).note("give it one: --dim NAME=1..128");
}

Status writeFixedLibrary(SessionState& state, const Command& command, LoadedModel& model,
                         const FreestandingLoaded& loaded, ExportResult& result) {
  const CompiledModel& compiled = *model.compiled();
  if (processorOf(compiled.target) != "x86_64")
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a library without heap for " + compiled.target.machine.name +
                         ": libraries are made for x86-64 only so far; --kind image is there");
  state.progress("trying the sizes that are allowed");
  DYN_TRY(const FreestandingBound bound, freestandingBound(loaded, state.interruption.flag()));
  DYN_TRY(const uint64_t bytes, bytesOrUnsupported(bound));
  result.ramBoundBytes = static_cast<int64_t>(bytes);
  state.log("no run takes more than " + std::to_string(bytes) + " bytes");
  LibraryRequest request;
  request.withoutHeap = true;
  request.runtime = runtimeFile("dynfreestanding", compiled.target);
  return writeLibraryFiles(compiled, command, model.info().path, std::move(request), result);
}

// The dims that have one value: ranges are the model's bounds.
Command withoutRanges(const Command& command) {
  Command values = Command::of(CommandId::run);
  for (const std::string& text : command.all("dim"))
    if (text.find("..") == std::string::npos) values.add("dim", text);
  for (const std::string& text : command.all("input")) values.add("input", text);
  return values;
}

FreestandingImageInputs imageInputs(const CallInputs& given, const CompiledModel& compiled) {
  FreestandingImageInputs inputs;
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : given.values) {
    const HostTensor& tensor = value.tensor();
    shapes.push_back(tensor.shape());
    inputs.elements.emplace_back(reinterpret_cast<const char*>(tensor.bytes()),
                                 static_cast<size_t>(tensor.sizeBytes()));
  }
  inputs.sizes = freestandingSizesOf(compiled, shapes);
  return inputs;
}

Status writeImage(SessionState& state, const Command& command, LoadedModel& model,
                  const FreestandingLoaded& loaded, ExportResult& result) {
  const CompiledModel& compiled = *model.compiled();
  DYN_TRY(const CallInputs given, callInputs(state, model, withoutRanges(command)));
  if (!given.overrides.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: an image with another value of an input that has its own");
  ImageRequest request;
  request.inputs = imageInputs(given, compiled);
  DYN_TRY(const FreestandingBound bound, freestandingBoundAt(loaded, request.inputs.sizes));
  DYN_TRY(request.inputs.memoryBytes, bytesOrUnsupported(bound));
  request.inputs.memoryBytes = (request.inputs.memoryBytes + 63) / 64 * 64;
  result.ramBoundBytes = static_cast<int64_t>(request.inputs.memoryBytes);
  request.output = command.text("o");
  request.runtime = runtimeFile("dynimage", compiled.target);
  request.board = command.text("board");
  DYN_TRY(const ExportedImage made, exportImage(compiled, request));
  result.files = {{request.output, made.fileBytes}};
  result.weightsBytes = made.weightsBytes;
  result.runtimeBytes = made.codeBytes;
  result.entryPoints = {"_start"};
  return {};
}

}  // namespace

Status writeLibraryFiles(const CompiledModel& compiled, const Command& command, const std::string& source,
                         LibraryRequest request, ExportResult& result) {
  request.kind = result.kind == "shared" ? LibraryKind::shared : LibraryKind::archive;
  request.output = command.text("o");
  request.ramBoundBytes = result.ramBoundBytes;
  request.source = std::filesystem::path(source).filename().string();
  DYN_TRY(ExportedLibrary made, exportLibrary(compiled, request));
  for (const ExportedLibrary::File& file : made.files) result.files.push_back({file.path, file.bytes});
  result.weightsBytes = made.weightsBytes;
  result.runtimeBytes = made.files[0].bytes - made.weightsBytes;
  result.entryPoints = made.entryPoints;
  return {};
}

Status exportWithoutHeap(SessionState& state, const Command& command, LoadedModel& model,
                         ExportResult& result) {
  DYN_TRY(const auto loaded, loadFreestanding(model.sharedCompiled()));
  return result.kind == "image" ? writeImage(state, command, model, *loaded, result)
                                : writeFixedLibrary(state, command, model, *loaded, result);
}

}  // namespace dyn
