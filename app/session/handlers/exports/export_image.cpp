// Exports that run once on inputs that they hold.
#include "app/engine/inputs/input_spec.h"
#include "app/session/handlers/exports/export_writers.h"
#include "app/session/handlers/exports/freestanding_export.h"
#include "compiler/export/image_export.h"

namespace dyn {

namespace {

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

}  // namespace

Status write_image(const ExportJob& job) {
  DYN_TRY(const auto loaded, loadFreestanding(job.model.sharedCompiled()));
  const CompiledModel& compiled = job.compiled();
  DYN_TRY(const CallInputs given, callInputs(job.state, job.model, withoutRanges(job.command)));
  if (!given.overrides.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: an image with another value of an input that has its own");
  ImageRequest request;
  request.inputs = imageInputs(given, compiled);
  DYN_TRY(const FreestandingBound bound, freestandingBoundAt(*loaded, request.inputs.sizes));
  DYN_TRY(request.inputs.memoryBytes, bytesOrUnsupported(bound));
  request.inputs.memoryBytes = (request.inputs.memoryBytes + 63) / 64 * 64;
  job.result.ramBoundBytes = static_cast<int64_t>(request.inputs.memoryBytes);
  request.output = job.command.text("o");
  request.runtime = runtimeFile("dynimage", compiled.target);
  request.board = job.command.text("board");
  DYN_TRY(const ExportedImage made, exportImage(compiled, request));
  job.result.files = {{request.output, made.fileBytes}};
  job.result.weightsBytes = made.weightsBytes;
  job.result.runtimeBytes = made.codeBytes;
  job.result.entryPoints = {"_start"};
  return {};
}

}  // namespace dyn
