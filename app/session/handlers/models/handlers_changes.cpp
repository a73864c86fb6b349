// Handlers: :diff and :compare, two steps of a compilation, two runs, or two models.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/session/changes/model_difference.h"
#include "app/session/changes/onnxruntime_values.h"
#include "app/session/changes/value_comparison.h"
#include "app/session/changes/value_differences.h"
#include "app/session/graph/trace_views.h"
#include "app/session/handlers/measure/predictions.h"
#include "app/session/handlers/models/onnx_file.h"
#include "app/session/handlers/read_again.h"
#include "app/session/records/run_records.h"
#include "app/session/session_state.h"
#include "app/session/views/change_views.h"
#include "app/session/views/view.h"

namespace dyn {

namespace {

Status hasValues(const LoadedModel& model) {
  if (model.hasModule()) return {};
  return makeError(
             DiagnosticId::unsupportedFeature,
             "unsupported: " + model.info().path + ": a package has no values but its inputs and outputs")
      .note("give the model it was compiled from");
}

// A dim that has another name in the second model is meant by both; one that the second does not have is a
// number there.
std::vector<std::string> sizesOfSecond(const LoadedModel& model, const std::vector<std::string>& sizes,
                                       const std::map<std::string, std::string>& names) {
  const CallDims dims(model.signature());
  std::vector<std::string> ofModel;
  for (const std::string& size : sizes) {
    const size_t equals = std::min(size.find('='), size.size());
    const auto renamed = names.find(size.substr(0, equals));
    const std::string name = renamed == names.end() ? size.substr(0, equals) : renamed->second;
    if (dims.has(name)) ofModel.push_back(name + size.substr(equals));
  }
  return ofModel;
}

// What a run with sizes such as "batch=1,seq=128" is predicted to take in both models.
Result<ModelDifference::TimeChange> timeChange(SessionState& state, LoadedModel& before, LoadedModel& after,
                                               const std::string& text, const ModelDifference& difference,
                                               std::optional<MachineLimits>& limits) {
  const std::vector<std::string> sizes = splitRelations(text);
  DYN_TRY(const Question first, questionOf(before, sizes, {}));
  const std::map<std::string, std::string> names(difference.renamedDims.begin(),
                                                 difference.renamedDims.end());
  DYN_TRY(const Question second, questionOf(after, sizesOfSecond(after, sizes, names), {}));
  ModelDifference::TimeChange change;
  change.dims = first.dims;
  constexpr int kPredictions = 3;  // the host's part of each is timed: the least counts
  for (int i = 0; i < kPredictions; ++i) {
    DYN_TRY(const PredictView was, predictionOf(state, before, first, limits));
    DYN_TRY(const PredictView is, predictionOf(state, after, second, limits));
    change.beforeNs = i == 0 ? was.timeNs : std::min(change.beforeNs, was.timeNs);
    change.afterNs = i == 0 ? is.timeNs : std::min(change.afterNs, is.timeNs);
    change.beforePeakBytes = was.peakBytes;
    change.afterPeakBytes = is.peakBytes;
    change.beforeRefused = was.refused;
    change.afterRefused = is.refused;
  }
  return change;
}

// "3 formulas of inputs, outputs, the peak or checks changed; with batch=1, seq=128 ... 1.4 times as long"
std::string verdictOf(const ModelDifference& difference, std::optional<double> slower) {
  std::string verdict;
  if (const size_t count = difference.seen.size(); count > 0)
    verdict = std::to_string(count) + (count == 1 ? " formula" : " formulas") +
              " of inputs, outputs, the peak or checks changed";
  for (const ModelDifference::TimeChange& change : difference.times) {
    const std::optional<double> ratio = change.ratio();
    const bool isSlower = slower && ratio && *ratio > *slower;
    const bool isRefused = slower && change.beforeRefused.empty() && !change.afterRefused.empty();
    if (!isSlower && !isRefused) continue;
    verdict += (verdict.empty() ? "" : "; ") + std::string("with ") + dimValuesText(change.dims) +
               (isRefused ? " there is no run any more"
                          : fmt::format(" a run is predicted to take {:.2f} times as long", *ratio));
  }
  return verdict;
}

Result<View> diffOfModels(SessionState& state, const Command& command, Outcome& outcome) {
  DYN_TRY(LoadedModel * before, state.modelWithPasses());
  DYN_CHECK(hasValues(*before));
  LoadRequest request;
  request.path = command.text("other");
  request.dims = before->request().dims;
  DYN_TRY(const std::unique_ptr<LoadedModel> after,
          LoadedModel::load(request, state.now.options, state.interruption.flag()));
  DYN_CHECK(hasValues(*after));
  DYN_CHECK(after->ensurePasses());
  ModelDifference difference = modelDifference(*before, *after);
  std::optional<MachineLimits> limits;
  for (const std::string& sizes : command.all("time")) {
    DYN_TRY(ModelDifference::TimeChange change,
            timeChange(state, *before, *after, sizes, difference, limits));
    difference.times.push_back(std::move(change));
  }
  std::optional<double> slower;
  if (command.has("slower")) {
    DYN_TRY(slower, command.number("slower", 1));
  }
  if (const std::string verdict = verdictOf(difference, slower); !verdict.empty())
    outcome.error = makeError(DiagnosticId::resultsDiffer, verdict).diagnostic();
  return makeView(std::move(difference));
}

Result<ValueComparison> comparedModels(SessionState& state, const Command& command) {
  DYN_TRY(LoadedModel * loaded, state.model());
  DYN_CHECK(hasValues(*loaded));
  const bool otherModel = command.has("other"), otherPasses = command.has("other-passes");
  if (!otherModel && !otherPasses)
    return makeError(DiagnosticId::usageError, "another model, another pipeline, or onnxruntime is needed")
        .note(":compare --values --other b.onnx, --other-passes -fuse, or --against onnxruntime");
  constexpr std::string_view kInference[] = {"infer"};
  DYN_TRY(const std::unique_ptr<LoadedModel> expected, readAgain(state, loaded->request(), kInference));
  DYN_CHECK(expected->ensurePasses());
  LoadRequest second = loaded->request();
  if (otherModel) second.path = command.text("other");
  DYN_TRY(const std::unique_ptr<LoadedModel> actual, readAgain(state, second, kInference));
  DYN_CHECK(hasValues(*actual));
  DYN_CHECK(actual->ensurePasses());
  DYN_TRY(const CallInputs inputs, callInputs(state, *expected, command));
  const std::string passes = state.now.options.passes;
  ComparisonRequest request{*expected, *actual, passes, otherPasses ? command.text("other-passes") : passes,
                            inputs};
  DYN_TRY(request.relativeTolerance, command.number("rtol", kRelativeTolerance));
  DYN_TRY(ValueComparison comparison, compareModels(state, request));
  comparison.before = loaded->info().path;
  comparison.after = otherModel ? actual->info().path : loaded->info().path;
  if (otherPasses) comparison.after += " by passes " + command.text("other-passes");
  comparison.dims = inputs.dims;
  return comparison;
}

#ifdef DYN_HAVE_ONNX
// Dyn's values beside those of onnxruntime, by the names of the file.
Result<ValueComparison> comparedWithOnnxruntime(SessionState& state, const Command& command) {
  DYN_TRY(const TypedOnnxFile typed, typedOnnxFile(state));
  LoadedModel& model = *typed.model;
  std::map<ValueId, std::string> names;
  for (const auto& [name, value] : model.namedValues()) names.emplace(value, name);
  ValueComparison comparison;
  std::vector<ValueId> watched;
  std::vector<std::string> watchedNames;
  for (const InnerTensor& tensor : innerTensors(model.typed())) {
    const auto name = names.find(tensor.value());
    if (name == names.end()) continue;
    ValueError value;
    describeValue(model.typed(), tensor, value);
    value.name = name->second;
    comparison.values.push_back(std::move(value));
    watched.push_back(tensor.value());
    watchedNames.push_back(name->second);
  }
  DYN_TRY(const CallInputs inputs, callInputs(state, model, command));
  comparison.dims = inputs.dims;
  std::vector<std::pair<std::string, Value>> given;
  for (size_t i = 0; i < inputs.values.size(); ++i)
    given.emplace_back(model.info().inputs.at(i).name, inputs.values[i]);
  DYN_TRY(const std::vector<Value> made,
          watchedValues(state, {model, watched, inputs, state.now.options.passes}));
  state.progress("running onnxruntime");
  DYN_TRY(const std::vector<Value> wanted,
          onnxruntimeValues(model.request().path, watchedNames, typed.types, given));
  DYN_TRY(comparison.relativeTolerance, command.number("rtol", kRelativeTolerance));
  for (size_t i = 0; i < made.size(); ++i)
    measureError(made[i], wanted.at(i), comparison.relativeTolerance, comparison.values[i]);
  summarise(comparison);
  comparison.before = "onnxruntime";
  comparison.after = model.info().path;
  return comparison;
}
#else
Result<ValueComparison> comparedWithOnnxruntime(SessionState&, const Command&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
}
#endif

// An error where a value goes wrong.
View withVerdict(ValueComparison comparison, Outcome& outcome) {
  if (comparison.firstWrong)
    outcome.error =
        makeError(DiagnosticId::resultsDiffer,
                  std::to_string(comparison.wrongCount) + " of " + std::to_string(comparison.values.size()) +
                      " values differ; the first is " + comparison.values[*comparison.firstWrong].name)
            .diagnostic();
  return makeView(std::move(comparison));
}

Result<View> comparisonOfValues(SessionState& state, const Command& command, Outcome& outcome) {
  if (!command.has("against")) {
    DYN_TRY(ValueComparison comparison, comparedModels(state, command));
    return withVerdict(std::move(comparison), outcome);
  }
  if (command.text("against") != "onnxruntime" || command.has("other") || command.has("other-passes"))
    return makeError(DiagnosticId::usageError,
                     "--against onnxruntime goes without another model or pipeline");
  DYN_TRY(ValueComparison comparison, comparedWithOnnxruntime(state, command));
  return withVerdict(std::move(comparison), outcome);
}

}  // namespace

Result<View> handle_diff(SessionState& state, const Command& command, Outcome& outcome) {
  if (command.has("slower") && !command.has("time"))
    return makeError(DiagnosticId::usageError,
                     "--slower goes with --time SIZES, such as --time batch=1,seq=128");
  if (command.has("time") && !command.has("other"))
    return makeError(DiagnosticId::usageError, "--time goes with --other MODEL");
  if (command.has("other")) {
    if (!command.has("from")) return diffOfModels(state, command, outcome);
    return makeError(DiagnosticId::usageError,
                     "steps are those of one model: leave out " + command.text("from"));
  }
  if (!command.has("from"))
    return makeError(DiagnosticId::usageError, "a step, or another model, is needed")
        .note(":diff import fuse, or :diff --other b.onnx");
  DYN_TRY(LoadedModel * model, state.modelWithPasses());
  DYN_TRY(const TraceStep* from, findStep(model->trace(), command.text("from")));
  if (!command.has("to")) return makeView(diffView(*from));
  DYN_TRY(const TraceStep* to, findStep(model->trace(), command.text("to")));
  return makeView(diffView(*from, *to));
}

Result<View> handle_compare(SessionState& state, const Command& command, Outcome& outcome) {
  if (command.has("values")) return comparisonOfValues(state, command, outcome);
  for (const char* option : {"other", "other-passes", "against", "dim", "input", "rtol"})
    if (command.has(option))
      return makeError(DiagnosticId::usageError, std::string("--") + option + " goes with --values");
  return compareKeptRuns(state, command);
}

}  // namespace dyn
