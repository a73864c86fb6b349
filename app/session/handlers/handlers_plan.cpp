// Handlers: what a run will take, before it is run.
#include <numeric>

#include "app/session/explain/explain.h"
#include "app/session/session_state.h"
#include "app/session/views/limit_view.h"
#include "app/session/views/plan_view.h"

namespace dyn {

namespace {

Result<DimValues> dimValues(const LoadedModel& model, const Command& command) {
  CallDims dims(model.signature());
  DYN_TRY(std::vector<DimSpec> specs, parseDimSpecs(command.all("dim")));
  for (const DimSpec& spec : specs) {
    if (!spec.value)
      return makeError(DiagnosticId::usageError, "--dim " + spec.text + ": one value is wanted here");
    DYN_CHECK(dims.bind(spec.name, *spec.value));
  }
  return dims.values();
}

std::vector<LimitSymbol> limitSymbols(LoadedModel& model) {
  std::vector<LimitSymbol> symbols;
  for (const std::string& name : model.info().symbols) {
    LimitSymbol symbol;
    symbol.name = name;
    if (model.hasModule() && model.ir().dims().hasSymbol(name)) {
      const Dim dim = model.ir().dims().symbol(name);
      const DimSolver& facts = model.ir().facts();
      const Interval range = facts.interval(dim);
      symbol.low = range.low;
      symbol.high = range.high;
      for (const Fact& fact : facts.factsAbout(dim.symbol())) {
        if (fact.a != dim) continue;
        if (fact.kind == FactKind::multipleOf) symbol.multiple = std::lcm(symbol.multiple, fact.multiple);
        if (fact.kind == FactKind::likely && symbol.likely.empty()) symbol.likely = fact.likely;
      }
    }
    symbols.push_back(std::move(symbol));
  }
  return symbols;
}

}  // namespace

Result<View> handle_plan(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.modelWithPasses());
  DYN_TRY(DimValues dims, dimValues(*model, command));
  PlanView view = planView(model->placed(), dims);
  // The peak is that of the compiled program; of what can not be compiled yet the plan is there all the same.
  Result<Runner> runner = makeRunner(*model, state.now.options);
  if (!runner.ok() && runner.error().id == DiagnosticId::cancelled) return runner.takeError();
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
  DYN_TRY(int64_t limitBytes, parseBytes(command.text("bytes")));
  DYN_TRY(DimValues dims, dimValues(*model, command));
  DYN_TRY(Runner runner, makeRunner(*model, state.now.options));
  const PeakOfDims peakOf = [&](const DimValues& values) {
    return runner.predictPeak(values, Runner::Warmth::repeated, state.interruption);
  };
  DYN_TRY(LimitView view, limitView(limitSymbols(*model), dims, limitBytes, peakOf));
  return makeView(std::move(view));
}

Result<View> handle_predict(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(LoadedModel * model, state.model());
  if (!model->hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package does not hold what its kernels compute");
  PredictView view;
  DYN_TRY(view.dims, dimValues(*model, command));
  DYN_TRY(Runner runner, makeRunner(*model, state.now.options));
  DYN_TRY(Runner::Rehearsal rehearsal, runner.rehearseEvents(view.dims, state.interruption));
  DYN_TRY(MachineLimits limits, machineLimits(state.now.options, state.interruption,
                                              [&](const std::string& text) { state.log(text); }));
  view.peakBytes = rehearsal.peakBytes;
  const LoweredModule& lowered = model->compiled()->lowered;
  view.kernels = predictKernels(rehearsal, lowered, limits);
  for (const KernelRow& row : view.kernels.rows) view.timeNs += row.totalNs;
  return makeView(std::move(view));
}

}  // namespace dyn
