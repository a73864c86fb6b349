#include "app/session/records/time_limit.h"

#include <algorithm>

#include "app/engine/model/model_info.h"
#include "app/session/views/view_text.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

void boundBySizes(const LatencyFormula& formula, std::vector<LimitSymbol>& symbols) {
  for (LimitSymbol& symbol : symbols) {
    const auto sizes = formula.measured.find(symbol.name);
    if (sizes == formula.measured.end()) continue;
    const auto [least, most] = sizes->second;
    symbol.low = std::max(symbol.low.value_or(least), least);
    if (most >= symbol.high.value_or(INT64_MAX)) continue;
    symbol.high = most;
    symbol.highReason = std::to_string(most) + " is the largest " + symbol.name + " that was measured";
  }
}

// "seq = 24 is the largest that stays within the limit, with batch = 2", one for each dim.
std::vector<std::string> largestSizes(SessionState& state, const PreparedRun& prepared,
                                      const KnownLatency& latency, Limit limit) {
  LoadedModel& model = *prepared.model;
  const DimValues& dims = prepared.inputs.dims;
  const CostOfDims peakOf = [&](const DimValues& values) {
    return prepared.runner->predictPeak(completeDims(model.signature(), values), Runner::Warmth::repeated,
                                        state.interruption);
  };
  std::vector<std::string> notes;
  const std::vector<std::string> free = freeDims(model, {});
  for (const std::string& name : free) {
    DimValues others;
    for (const std::string& other : free)
      if (const auto value = dims.find(other); other != name && value != dims.end()) others.insert(*value);
    const Result<LimitView> view = timeLimitView(model, latency, others, limit, peakOf);
    if (!view.ok() || view->rows.empty() || !view->rows[0].largest) continue;
    notes.push_back(name + " = " + std::to_string(*view->rows[0].largest) +
                    " is the largest that stays within the limit" +
                    (others.empty() ? "" : ", with " + dimValuesText(others)));
  }
  if (notes.empty()) notes.emplace_back("no size that was measured stays within the limit");
  return notes;
}

}  // namespace

Result<LimitView> timeLimitView(LoadedModel& model, const KnownLatency& latency, const DimValues& dims,
                                Limit limit, const CostOfDims& peakOf) {
  std::vector<LimitSymbol> symbols = freeSymbols(model, dims);
  boundBySizes(latency.formula, symbols);
  const CostOfDims timeOf = [&](const DimValues& values) -> Result<int64_t> {
    // Is there a run of these sizes at all? Values that a dry run does not have decide nothing here.
    if (const Result<int64_t> peak = peakOf(values);
        !peak.ok() && peak.error().id != DiagnosticId::unsupportedFeature)
      return Error{peak.error()};
    const std::optional<Latency> time = latency.formula.at(completeDims(model.signature(), values));
    if (!time)
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: the formula of the time needs more dims");
    return wholeNs(time->highNs);
  };
  DYN_TRY(LimitView view, limitView(symbols, dims, limit, timeOf));
  view.formula = latency.formula.formula();
  view.source = latency.source;
  view.outside = latency.formula.outside(dims);
  return view;
}

Result<std::optional<RunTimeLimit>> timeLimitOf(SessionState& state, const Command& command,
                                                const PreparedRun& prepared) {
  if (!command.has("limit")) {
    if (!command.has("runs")) return std::optional<RunTimeLimit>();
    return makeError(DiagnosticId::usageError, "--runs goes with --limit");
  }
  DYN_TRY(const Limit limit, parseLimit(command.text("limit")));
  if (limit.unit != LimitUnit::nanoseconds)
    return makeError(DiagnosticId::usageError, "--limit of a run is a time, such as 20ms")
        .note("--mem-limit and :set mem-limit bound its memory");
  RunTimeLimit made;
  made.limitNs = limit.most;
  const Result<KnownLatency> latency = knownLatency(state, *state.now.model, command);
  if (!latency.ok()) {
    if (command.has("runs")) return Error{latency.error()};
    made.whyNotPredicted = latency.error().message;
    for (const std::string& note : latency.error().notes) made.whyNotPredicted += "; " + note;
    return std::optional<RunTimeLimit>(std::move(made));
  }
  const std::optional<Latency> time = latency->formula.at(prepared.inputs.dims);
  if (!time) {
    made.whyNotPredicted = "the formula of the time needs more dims";
    return std::optional<RunTimeLimit>(std::move(made));
  }
  made.predicted = RunTimeLimit::Predicted{wholeNs(time->ns), wholeNs(time->lowNs), wholeNs(time->highNs),
                                           time->outside, toString(latency->source)};
  if (made.predicted->lowNs <= made.limitNs) return std::optional<RunTimeLimit>(std::move(made));
  Error error =
      makeError(DiagnosticId::timeBeyondLimit,
                "the run would take about " + durationText(made.predicted->ns) + ", at least " +
                    durationText(made.predicted->lowNs) + ", and the limit is " + durationText(made.limitNs));
  std::vector<std::string>& notes = error.diagnostic().notes;
  if (!time->outside.empty()) notes.push_back("a guess: " + time->outside);
  for (std::string& note : largestSizes(state, prepared, *latency, limit)) notes.push_back(std::move(note));
  notes.push_back("time = " + latency->formula.formula());
  return error;
}

void compareTimes(RunResult& result) {
  if (!result.timeLimit) return;
  RunTimeLimit& limit = *result.timeLimit;
  for (const int64_t ns : result.runsNs) {
    limit.beyondCount += ns > limit.limitNs;
    limit.longestNs = std::max(limit.longestNs, ns);
  }
}

}  // namespace dyn
