// Handlers: :save of a value, of the model as text, and of the graph after a pass as an ONNX model.
#include <algorithm>
#include <array>

#include "app/session/graph/graph_after.h"
#include "app/session/graph/trace_views.h"
#include "app/session/handlers/named_value.h"
#include "app/session/handlers/read_again.h"
#include "app/session/session_state.h"
#include "compiler/ir/printer.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/folders.h"
#include "compiler/support/suggestion.h"
#ifdef DYN_HAVE_ONNX
#include "app/engine/model/model_info.h"
#include "app/session/views/file_views.h"
#include "app/session/views/view.h"
#include "frontends/onnx/write/model_writer.h"
#endif

namespace dyn {

namespace {

bool hasEnding(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

#ifdef DYN_HAVE_ONNX
Result<onnx::SavedModel> toOnnx(const LoadedModel& model, const TraceStep& step) {
  onnx::SaveOptions options;
  for (const ValueInfo& input : model.info().inputs) options.inputNames.push_back(input.name);
  for (const ValueInfo& output : model.info().outputs) options.outputNames.push_back(output.name);
  const std::string file = fileNameOf(model.info().path);
  options.graphName = file.substr(0, file.rfind('.'));
  options.metadata = {{"dyn.source", file}, {"dyn.pass", step.name}};
  options.dimRelations = model.dimRelations(step.after);
  const Module& typed = model.typed();
  options.typed = &typed;
  return onnx::toOnnx(step.after, options);
}

// What makes a graph simpler wherever it runs. All other passes make the program of one machine.
constexpr std::array<std::string_view, 5> kSimplifying = {"infer", "fold", "simplify", "cse", "dce"};

bool simplifies(std::string_view pass) {
  return std::find(kSimplifying.begin(), kSimplifying.end(), pass) != kSimplifying.end();
}

// The graph after the last of those passes, or the last one before it that ONNX can say as a whole. The error
// is that of the former.
Result<onnx::SavedModel> simplified(const LoadedModel& model, SaveResult& result) {
  const std::vector<TraceStep>& steps = model.trace().steps;
  std::optional<Error> first;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->kind != StepKind::import && !simplifies(step->name)) continue;
    if (!step->diagnostics.empty()) continue;
    Result<onnx::SavedModel> saved = toOnnx(model, *step);
    if (saved.ok()) {
      result.stepName = step->name;
      return saved;
    }
    result.passedOver.push_back({step->name, saved.error().message});
    if (!first) first = saved.takeError();
  }
  return first ? std::move(*first)
               : makeError(DiagnosticId::unsupportedFeature, "unsupported: there is no graph to be saved");
}

// Of the step that the command names.
Result<onnx::SavedModel> afterStep(LoadedModel& model, const std::string& name, SaveResult& result) {
  DYN_TRY(const TraceStep* step, graphAfter(model, name));
  result.step = step->index;
  result.stepName = step->name;
  return toOnnx(model, *step);
}
#endif

Result<View> saveOnnx([[maybe_unused]] SessionState& state, [[maybe_unused]] const Command& command,
                      [[maybe_unused]] const std::string& file) {
#ifdef DYN_HAVE_ONNX
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: a package holds no graph any more");
  SaveResult result;
  std::unique_ptr<LoadedModel> again;  // holds what is written
  std::optional<onnx::SavedModel> saved;
  if (command.has("pass")) {
    DYN_TRY(saved, afterStep(*model, command.text("pass"), result));
  } else {
    // A pipeline that a person chose stays, and what came from standard input cannot be read again.
    if (state.now.options.passes.empty() && model->request().path != "-") {
      DYN_TRY(again, readAgain(state, model->request(), kSimplifying));
      model = again.get();
    }
    DYN_CHECK(model->ensurePasses());
    DYN_TRY(saved, simplified(*model, result));
  }
  DYN_TRY(
      const onnx::SavedFiles written,
      onnx::writeOnnxFiles(
          *saved, file, command.has("external") ? onnx::WeightsPlace::outside : onnx::WeightsPlace::bySize));
  for (const auto& [path, bytes] : written.files) result.files.push_back({path, bytes});
  result.nodesCount = saved->nodeCount;
  result.weightsBytes = static_cast<int64_t>(saved->weightsBytes);
  result.opsets = saved->opsets;
  result.leftOut = saved->leftOut;
  return makeView(std::move(result));
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build writes no ONNX files");
#endif
}

}  // namespace

Result<View> handle_save(SessionState& state, const Command& command, Outcome&) {
  std::string file = command.text("file"), name = command.text("value");
  if (!command.has("file")) {
    file = name;
    name = "model";
    if (!hasEnding(file, ".onnx"))
      return makeError(DiagnosticId::usageError, "a value and a file are needed, or a file NAME.onnx");
  }
  const std::optional<BoundValue> value = namedValue(state, name);
  if (!value && name == "model" && hasEnding(file, ".onnx")) return saveOnnx(state, command, file);
  if (command.has("pass") || command.has("external"))
    return makeError(DiagnosticId::usageError, "--pass and --external are for the model as an .onnx file");
  if (!value) {
    if (name == "model" && state.now.model && state.now.model->hasModule()) {
      PrintOptions options;
      options.maxInlineElements = -1;
      DYN_CHECK(writeFileAtomically(file, {print(state.now.model->imported(), options)}));
      return textView("wrote " + file + "\n");
    }
    const std::vector<std::string> known = namesOfValues(state);
    const std::vector<std::string_view> names(known.begin(), known.end());
    const std::string near = suggestion(name, names);
    return makeError(DiagnosticId::textName, "there is no value '" + name + "'")
        .note(near.empty() ? ":vars lists the bound values" : "did you mean " + near + "?");
  }
  if (!value->value.isTensor())
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: only tensors can be written");
  DYN_CHECK(writeNpyTensor(file, value->value.tensor()));
  return textView("wrote " + file + "\n");
}

}  // namespace dyn
