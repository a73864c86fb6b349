// Handlers: what a run will take, before it is run.
#include <algorithm>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/answers/contraction_rows.h"
#include "app/session/answers/limit_view.h"
#include "app/session/answers/plan_view.h"
#include "app/session/answers/sweep_view.h"
#include "app/session/explain/explain.h"
#include "app/session/handlers/measure/predictions.h"
#include "app/session/records/latency_runs.h"
#include "app/session/records/time_limit.h"
#include "app/session/session_state.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/view.h"
#include "compiler/support/clock.h"

namespace dyn {

Result<View> handle_plan(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.modelWithPasses());
  DYN_TRY(const Question question, questionOf(*model, command.all("dim"), command.all("lengths")));
  const DimValues& dims = question.dims;
  PlanView view = planView(model->placed(), dims);
  // The peak is that of the compiled program; of what cannot be compiled yet the plan is there all the same.
  Result<Runner> runner = makeRunner(*model, state.now.options);
  if (!runner.ok() && runner.error().id == DiagnosticId::cancelled) return runner.takeError();
  if (runner.ok()) DYN_CHECK(assumeLengths(*model, question, *runner));
  if (!dims.empty() || model->info().symbols.empty()) {
    Result<int64_t> peak = runner.ok() ? runner->predictPeak(dims, Runner::Warmth::first, state.interruption)
                                       : Result<int64_t>(Error{runner.error()});
    if (!peak.ok() && peak.error().id == DiagnosticId::cancelled) return peak.takeError();
    if (peak.ok())
      view.predictedPeakBytes = *peak;
    else
      view.whyNoPeak = peak.error().message;
  }
  return makeView(std::move(view));
}

Result<View> handle_limit(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(const Limit limit, parseLimit(command.text("bytes")));
  if (limit.unit == LimitUnit::bytes && command.has("runs"))
    return makeError(DiagnosticId::usageError, "--runs is for a limit of time, such as 20ms");
  DYN_TRY(const Question question, questionOf(*model, command.all("dim"), command.all("lengths")));
  DYN_TRY(Runner runner, makeRunner(*model, state.now.options));
  DYN_CHECK(assumeLengths(*model, question, runner));
  const CostOfDims peakOf = [&](const DimValues& values) {
    return runner.predictPeak(completeDims(model->signature(), values), Runner::Warmth::repeated,
                              state.interruption);
  };
  if (limit.unit == LimitUnit::nanoseconds) {
    DYN_TRY(const KnownLatency latency, knownLatency(state, *model, command));
    DYN_TRY(LimitView view, timeLimitView(*model, latency, question.dims, limit, peakOf));
    return makeView(std::move(view));
  }
  DYN_TRY(LimitView view, limitView(freeSymbols(*model, question.dims), question.dims, limit, peakOf));
  return makeView(std::move(view));
}

namespace {

std::optional<PredictView::ByRuns> predictionBy(const KnownLatency& latency, const DimValues& dims) {
  const std::optional<Latency> time = latency.formula.at(dims);
  if (!time) return std::nullopt;
  return PredictView::ByRuns{wholeNs(time->ns),  wholeNs(time->lowNs), wholeNs(time->highNs),
                             latency.sizesCount, time->outside,        latency.source};
}

// By measured runs; nothing where there are too few of them and no file was named.
Status predictByRuns(SessionState& state, LoadedModel& model, const Command& command, PredictView& view) {
  const Result<KnownLatency> latency = knownLatency(state, model, command);
  if (!latency.ok()) return command.has("runs") ? Status(Error{latency.error()}) : Status();
  view.byRuns = predictionBy(*latency, view.dims);
  return {};
}

// Where the definitions of its kernels are not there (a package), or a dry run needs values: `why`. Errors:
// that one, where there are no runs either; it says why the package's own formula does not count.
Result<PredictView> predictionByRuns(SessionState& state, LoadedModel& model, const Question& question,
                                     const Command& command, Error why) {
  PredictView view;
  view.dims = question.dims;
  const Result<KnownLatency> latency = knownLatency(state, model, command);
  if (!latency.ok() && command.has("runs")) return Error{latency.error()};
  if (latency.ok()) view.byRuns = predictionBy(*latency, view.dims);
  if (!view.byRuns) {
    if (const Status readable = packageIsFromHere(state, model); !readable.ok())
      return std::move(why).note(readable.error().message);
    return std::move(why).note("latency measures it at some sizes: from these runs a prediction is made");
  }
  view.timeNs = view.byRuns->ns;
  DYN_TRY(Runner runner, makeRunner(model, state.now.options));
  const Result<int64_t> peak = runner.predictPeak(view.dims, Runner::Warmth::first, state.interruption);
  if (!peak.ok() && peak.error().id != DiagnosticId::unsupportedFeature) return Error{peak.error()};
  if (peak.ok())
    view.peakBytes = *peak;
  else
    view.whyNoPeak = peak.error().message;
  return view;
}

}  // namespace

Result<View> handle_predict(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(const Question question, questionOf(*model, command.all("dim"), command.all("lengths")));
  std::optional<MachineLimits> limits;
  Result<PredictView> view =
      model->hasModule()
          ? predictionOf(state, *model, question, limits)
          : makeError(DiagnosticId::unsupportedFeature,
                      "unsupported: a package does not contain the definitions of its kernels");
  if (!view.ok() && view.error().id == DiagnosticId::unsupportedFeature) {
    DYN_TRY(PredictView byRuns, predictionByRuns(state, *model, question, command, view.takeError()));
    return makeView(std::move(byRuns));
  }
  if (!view.ok()) return view.takeError();
  if (view->refused.empty()) DYN_CHECK(predictByRuns(state, *model, command, *view));
  return makeView(std::move(*view));
}

namespace {

// "8..256", or what is known of the dim.
Result<std::pair<int64_t, int64_t>> sweepRange(const LimitSymbol& symbol, const std::string& text) {
  constexpr int64_t kUsualEnd = 256;
  if (text.empty()) {
    const int64_t low = std::max<int64_t>(symbol.low.value_or(1), 1);
    return std::make_pair(low, symbol.high.value_or(std::max(kUsualEnd, 4 * low)));
  }
  DYN_TRY(DimSpec spec, parseDimSpec(symbol.name + "=" + text));
  if (!spec.low || !spec.high || *spec.low > *spec.high)
    return makeError(DiagnosticId::usageError, "'" + text + "' is not a range").note("write 1..256");
  return std::make_pair(*spec.low, *spec.high);
}

}  // namespace

Result<View> handle_sweep(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package does not contain the definitions of its kernels");
  DYN_TRY(const Question question, questionOf(*model, command.all("dim"), command.all("lengths")));
  const DimValues& dims = question.dims;
  DYN_TRY(int64_t pointsCount, command.integer("points", 24));
  if (pointsCount < 2 || pointsCount > 1000)
    return makeError(DiagnosticId::usageError, "2 to 1000 points, not " + std::to_string(pointsCount));
  DYN_TRY(Runner runner, makeRunner(*model, state.now.options));
  const std::vector<LimitSymbol> symbols = limitSymbols(*model);
  const auto symbol = std::find_if(symbols.begin(), symbols.end(), [&](const LimitSymbol& one) {
    return one.name == command.text("symbol");
  });
  if (symbol == symbols.end())
    return makeError(DiagnosticId::textName, "the inputs have no dim '" + command.text("symbol") + "'")
        .note(":dims lists all");
  DYN_TRY(const auto range, sweepRange(*symbol, command.text("range")));
  DYN_TRY(MachineLimits limits, machineLimits(state.now.options, state.interruption,
                                              [&](const std::string& text) { state.log(text); }));
  DimValues first = dims;
  first.emplace(symbol->name, 0);
  const ForecastOfDims forecast = [&](const DimValues& free) -> Result<Forecast> {
    const DimValues values = completeDims(model->signature(), free);
    DYN_TRY(Runner::DryRun dryRun, runner.dryRunEvents(values, state.interruption));
    Forecast at;
    for (const KernelRow& row : predictKernels(dryRun, model->compiled()->lowered, limits).rows)
      at.timeNs += row.totalNs;
    // As :limit counts: of a run after others.
    DYN_TRY(at.peakBytes, runner.predictPeak(values, Runner::Warmth::repeated, state.interruption));
    DYN_TRY(const std::vector<ContractionRow> rows, contractionRows(*model, state.now.options, values));
    at.versions = versionsText(rows);
    return at;
  };
  DYN_TRY(SweepView view,
          sweepView(*symbol, freeSymbols(*model, first), dims, range.first, range.second, pointsCount,
                    forecast, [&](double part) { state.progress("sweeping " + symbol->name, part); }));
  view.measured = measuredAlong(state.runs.of(state.now.model), view.symbol, view.others);
  return makeView(std::move(view));
}

}  // namespace dyn
