#include "app/session/handlers/measure/predictions.h"

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/run/valid_positions.h"
#include "app/session/answers/contraction_rows.h"
#include "app/session/answers/dim_views.h"
#include "app/session/explain/explain.h"

namespace dyn {

Result<Question> questionOf(const LoadedModel& model, const std::vector<std::string>& dimTexts,
                            const std::vector<std::string>& lengthTexts) {
  Question question;
  CallDims dims(model.signature());
  DYN_TRY(question.specs, parseDimSpecs(dimTexts));
  for (const DimSpec& spec : question.specs)
    if (!spec.value)
      return makeError(DiagnosticId::usageError, "--dim " + spec.text + ": one value is wanted here");
  for (const std::string& text : lengthTexts) {
    DYN_TRY(const BatchLengths lengths, parseBatchLengths(text));
    DYN_TRY(LengthsOfCall call, lengthsOfCall(model.signature(), lengths, question.specs));
    question.specs.insert(question.specs.end(), call.dims.begin(), call.dims.end());
    question.given[call.name] = Value(std::move(call.value));
  }
  for (const DimSpec& spec : question.specs) DYN_CHECK(dims.bind(spec.name, *spec.value));
  (void)dims.deduce();
  question.dims = dims.values();
  return question;
}

Status assumeLengths(LoadedModel& model, const Question& question, Runner& runner) {
  runner.assumeElements({});
  if (question.given.empty() || question.dims.size() < model.info().symbols.size()) return {};
  InputSources sources;
  sources.given = question.given;
  std::vector<std::string> zeros, unknown;
  for (const Port& port : model.signature().inputs)
    if (port.info.kind == "tensor" && question.given.count(port.info.name) == 0) {
      unknown.push_back(port.info.name);
      zeros.push_back(port.info.name + "=zeros");
    }
  DYN_TRY(const CallInputs inputs, makeInputs(model.signature(), question.specs, zeros, 0, sources));
  (void)setValidPositions(model, inputs, runner, unknown);
  return {};
}

Result<PredictView> predictionOf(SessionState& state, LoadedModel& model, const Question& question,
                                 std::optional<MachineLimits>& limits) {
  PredictView view;
  const DimValues& dims = view.dims = question.dims;
  DYN_TRY(Runner runner, makeRunner(model, state.now.options));
  DYN_CHECK(assumeLengths(model, question, runner));
  view.checks = checkRows(model.typed(), dims);
  view.outside = rangeFaults(model.typed(), dims);
  Result<Runner::DryRun> dryRun = runner.dryRunEvents(dims, state.interruption);
  if (!dryRun.ok()) {
    // Sizes that the model does not take are an answer; all else is a fault of the question.
    const bool answers = !view.outside.empty() || (!view.checks.empty() && view.checks.front().fails) ||
                         dryRun.error().id == DiagnosticId::shapeCheckFailed;
    if (!answers) return dryRun.takeError();
    view.refused = dryRun.error().message;
    return view;
  }
  if (!limits) {
    DYN_TRY(limits, machineLimits(state.now.options, state.interruption,
                                  [&](const std::string& text) { state.log(text); }));
  }
  view.peakBytes = dryRun->peakBytes;
  view.kernels = predictKernels(*dryRun, model.compiled()->lowered, *limits);
  for (const KernelRow& row : view.kernels.rows) view.timeNs += row.totalNs;
  DYN_TRY(view.kernels.contractions, contractionRows(model, state.now.options, dims));
  return view;
}

}  // namespace dyn
