#include "app/session/handlers/measure/latency_runs.h"

#include <algorithm>

#include "app/engine/model/file_digest.h"
#include "app/engine/model/model_flops.h"
#include "app/session/answers/limit_view.h"
#include "app/session/handlers/run_records.h"

namespace dyn {

namespace {

// Runs that were measured as those of the loaded model are now.
std::vector<LatencySample> samplesOf(const std::vector<RunRecord>& runs, const RunRecord& here) {
  std::vector<LatencySample> samples;
  for (const RunRecord& run : runs)
    if (!run.isTimeProfiled && run.pipeline == here.pipeline && run.settings == here.settings)
      samples.push_back({run.dims, run.time});
  return samples;
}

}  // namespace

std::vector<std::string> latencyQuantitiesOf(LoadedModel& model, const std::vector<std::string>& dims) {
  std::string flops;
  if (model.hasModule())
    if (const Dim formula = flopsOf(model.typed())) {
      const Dim known = model.ir().facts().canonical(formula);
      const std::vector<SymbolId> symbols = symbolsOf(known);
      if (std::all_of(symbols.begin(), symbols.end(), [&](SymbolId symbol) {
            return std::find(dims.begin(), dims.end(), model.ir().dims().symbolName(symbol)) != dims.end();
          }))
        flops = known.toString();
    }
  return latencyQuantities(dims, flops);
}

Result<LatencyModel> latencyOf(SessionState& state, LoadedModel& model, const Command& command) {
  const RunRecord here = recordOf(state, command, {}, {});
  std::vector<RunRecord> runs;
  if (command.has("runs")) {
    const std::string path = command.text("runs");
    DYN_TRY(runs, comparableRuns(state, command, path));
    const std::string digest = here.modelFile->text();
    std::erase_if(runs, [&](const RunRecord& run) {
      return run.modelDigest.empty() || digest.empty() ? run.model != here.model : run.modelDigest != digest;
    });
    if (runs.empty())
      return makeError(DiagnosticId::usageError, path + ": there is no run of this model in it");
  } else {
    for (const RunHistory::Entry& entry : state.runs.entries())
      if (entry.record.from.empty() && entry.record.modelFile == here.modelFile &&
          differencesOf(entry.record, here, Sameness::comparable).empty())
        runs.push_back(entry.record);
  }
  Result<LatencyModel> latency =
      fitLatency(latencyQuantitiesOf(model, freeDims(model, {})), samplesOf(runs, here));
  if (!latency.ok())
    return std::move(latency.takeError()).note("latency --dim seq=1..512 measures sizes of this range");
  return latency;
}

}  // namespace dyn
