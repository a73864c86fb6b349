// Handlers: :generalise, a model of fixed sizes that gets open dims.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "app/engine/generalise/generalise.h"
#include "app/engine/model/compare.h"
#include "app/engine/run/runner.h"
#include "app/session/handlers/generalise_trials.h"
#include "app/session/handlers/read_again.h"
#include "app/session/session_state.h"
#include "compiler/infer/infer.h"
#include "compiler/support/folders.h"
#ifdef DYN_HAVE_ONNX
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/file_views.h"
#include "app/session/views/view.h"
#include "frontends/onnx/write/model_writer.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_ONNX
namespace {

constexpr std::string_view kForOpening[] = {"infer"};

Result<std::unique_ptr<LoadedModel>> readFixed(SessionState& state, const std::string& path) {
  LoadRequest request;
  request.path = path;
  return readAgain(state, request, kForOpening);
}

GeneraliseResult::Change openingChange(const Opening& opening) {
  return {opening.place.toString(), opening.op, opening.what, opening.why, opening.doubtful};
}

void removeFiles(const onnx::SavedFiles& written) {
  for (const auto& [path, bytes] : written.files) (void)std::remove(path.c_str());
}

// Smaller and larger than the example, within the limits.
std::vector<DimValues> otherSizes(const Generalised& opened) {
  DimValues smaller, larger;
  for (const auto& [name, size] : opened.sizes) {
    const auto limit = opened.limits.find(name);
    const int64_t most = limit == opened.limits.end() ? INT64_MAX : limit->second;
    smaller[name] = std::max<int64_t>(1, size / 2);
    larger[name] = std::min(most, size + std::max<int64_t>(1, size / 4));
  }
  std::vector<DimValues> others;
  for (DimValues& one : std::array<DimValues, 2>{smaller, larger})
    if (one != opened.sizes) others.push_back(std::move(one));
  return others;
}

DimValues doubledSizes(const Generalised& opened) {
  DimValues doubled;
  for (const auto& [name, size] : opened.sizes) {
    const auto limit = opened.limits.find(name);
    doubled[name] = limit == opened.limits.end() || 2 * size <= limit->second ? 2 * size : size;
  }
  return doubled;
}

// A run at these sizes, and why it failed.
Result<GeneraliseResult::Trial> trialAt(SessionState& state, LoadedModel& open, const DimValues& sizes) {
  GeneraliseResult::Trial trial{sizes, ""};
  const Result<CallInputs> inputs = inputsAt(state, open, sizes);
  if (!inputs.ok()) {
    trial.failure = inputs.error().message;
    return trial;
  }
  const auto made = resultsOfRun(state, open, *inputs);
  if (!made.ok() && made.error().id == DiagnosticId::cancelled) return Error(made.error());
  if (!made.ok()) trial.failure = made.error().message;
  return trial;
}

// An opened dim that can only be what it was: what asks for that.
std::optional<Error> onlyOfTheExample(LoadedModel& open, const Generalised& opened) {
  const DimSolver& facts = open.ir().facts();
  for (const auto& [name, size] : opened.sizes) {
    if (!open.ir().dims().hasSymbol(name)) continue;
    const Dim dim = open.ir().dims().symbol(name);
    const Interval range = facts.interval(dim);
    if (!range.low || !range.high || *range.low != *range.high) continue;
    Error error = makeError(DiagnosticId::shapeMismatch,
                            "the model cannot be opened: " + name + " can only be " + std::to_string(size));
    for (const Fact& fact : facts.factsAbout(dim.symbol()))
      if (fact.kind == FactKind::range) std::move(error).note(fact.toString());
    std::move(error).note("nothing is written");
    return error;
  }
  return std::nullopt;
}

Result<onnx::SavedModel> openedToOnnx(const LoadedModel& model, const Module& typed) {
  onnx::SaveOptions options;
  for (const ValueInfo& input : model.info().inputs) options.inputNames.push_back(input.name);
  for (const ValueInfo& output : model.info().outputs) options.outputNames.push_back(output.name);
  const std::string file = fileNameOf(model.info().path);
  options.graphName = file.substr(0, file.rfind('.'));
  options.metadata = {{"dyn.source", file}};
  options.dimRelations = model.dimRelations(typed);
  options.typed = &typed;
  return onnx::toOnnx(typed, options);
}

}  // namespace
#endif

Result<View> handle_generalise([[maybe_unused]] SessionState& state, [[maybe_unused]] const Command& command,
                               [[maybe_unused]] Outcome& outcome) {
#ifdef DYN_HAVE_ONNX
  DYN_TRY(const LoadedModel* loaded, state.model());
  if (!loaded->hasModule() || loaded->request().path.empty() || loaded->request().path == "-")
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the model has to be an ONNX file or a text module");
  const std::string file = command.text("file");
  if (!file.ends_with(".onnx"))
    return makeError(DiagnosticId::usageError, file + ": a file NAME.onnx is needed");
  DYN_TRY(const std::unique_ptr<LoadedModel> fixed, readFixed(state, loaded->request().path));
  GeneraliseRequest request;
  request.cancelled = state.interruption.flag();
  for (const std::string& at : command.all("at")) {
    DYN_TRY(OpenAxis axis, parseOpenAxis(at));
    request.axes.push_back(std::move(axis));
  }
  for (const ValueInfo& input : fixed->info().inputs) request.inputNames.push_back(input.name);
  std::unique_ptr<LoadedModel> second;
  if (command.has("second")) {
    DYN_TRY(second, readFixed(state, command.text("second")));
    DYN_CHECK(second->ensurePasses());
    request.second = &second->typed();
  }
  DYN_TRY(Generalised opened, generalise(fixed->imported(), request));
  GeneraliseResult result;
  result.sizes = opened.sizes;
  result.limits = opened.limits;
  for (const Opening& opening : opened.openings) result.changes.push_back(openingChange(opening));
  for (const Refusal& refusal : opened.refused)
    result.refused.push_back({refusal.place.toString(), refusal.op, "", refusal.why});
  for (const Refusal& suspect : opened.suspects) {
    Diagnostic warning;
    warning.id = DiagnosticId::shapeCheckFailed;
    warning.severity = Severity::warning;
    warning.message = suspect.why + ", and is left as it is";
    warning.place = suspect.place;
    outcome.warnings.push_back(std::move(warning));
  }
  if (!opened.refused.empty()) {
    const Refusal& first = opened.refused.front();
    outcome.error =
        makeError(DiagnosticId::shapeMismatch, "the model cannot be opened: " + first.why, first.place)
            .note("nothing is written")
            .diagnostic();
    outcome.error->op = first.op;
    return makeView(std::move(result));
  }
  IrContext& ir = fixed->ir();
  for (const auto& [name, most] : opened.limits)
    DYN_CHECK(ir.facts().addRange(ir.dims().symbol(name), 1, most, {"a table of the model ends there", {}}));
  DYN_TRY(const InferredModule typed, inferTypes(opened.module));
  DYN_TRY(const onnx::SavedModel saved, openedToOnnx(*fixed, typed.module));
  DYN_TRY(const onnx::SavedFiles written, onnx::writeOnnxFiles(saved, file));
  result.file = {written.files[0].first, written.files[0].second};
  DYN_TRY(const std::unique_ptr<LoadedModel> original,
          LoadedModel::load(fixed->request(), state.now.options, state.interruption.flag()));
  LoadRequest ofOpen;
  ofOpen.path = file;
  DYN_TRY(const std::unique_ptr<LoadedModel> open,
          LoadedModel::load(ofOpen, state.now.options, state.interruption.flag()));
  DYN_CHECK(open->ensurePasses());
  if (std::optional<Error> closed = onlyOfTheExample(*open, opened)) {
    removeFiles(written);
    return *std::move(closed);
  }
  DimValues openBefore;  // dims that the model had
  for (const OpenAxis& axis : request.axes)
    if (axis.size) openBefore[axis.symbol] = *axis.size;
  const Result<bool> same = compareAtExample(state, *original, *open, openBefore, opened.sizes);
  if (!same.ok()) {
    removeFiles(written);
    return Error(same.error());
  }
  result.sameBits = *same;
  const Result<std::string> mixed =
      mixedRows(state, *original, *open, openBefore, opened, /*decided=*/request.second != nullptr);
  if (!mixed.ok() || !mixed->empty()) removeFiles(written);
  if (!mixed.ok()) return Error(mixed.error());
  if (!mixed->empty())
    return makeError(DiagnosticId::shapeMismatch, "the model cannot be opened: " + *mixed)
        .note("an export at 2 or more says which, or --second decides")
        .note("nothing is written");
  const auto fails = [](const auto& trial) { return !trial.failure.empty(); };
  for (const DimValues& sizes : otherSizes(opened)) {
    DYN_TRY(result.trials.emplace_back(), trialAt(state, *open, sizes));
  }
  // Of a model of strides the doubled sizes fit where others do not.
  if (!result.trials.empty() && std::all_of(result.trials.begin(), result.trials.end(), fails)) {
    DYN_TRY(result.trials.emplace_back(), trialAt(state, *open, doubledSizes(opened)));
  }
  if (!result.trials.empty() && std::all_of(result.trials.begin(), result.trials.end(), fails)) {
    removeFiles(written);
    return makeError(DiagnosticId::shapeMismatch,
                     "the model cannot be opened: it runs at no other size that was tried: " +
                         result.trials.front().failure)
        .note("nothing is written");
  }
  return makeView(std::move(result));
#else
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build writes no ONNX files");
#endif
}

}  // namespace dyn
