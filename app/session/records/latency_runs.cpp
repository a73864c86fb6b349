#include "app/session/records/latency_runs.h"

#include <algorithm>

#include "app/engine/model/file_digest.h"
#include "app/engine/model/model_flops.h"
#include "app/engine/run/run_file.h"
#include "app/engine/serving/served_program.h"
#include "app/session/answers/limit_view.h"
#include "app/session/explain/machine_limits.h"
#include "app/session/records/run_records.h"

namespace dyn {

namespace {

// Does the program have other sizes where it has numbers?
bool isOfOtherSizes(const RunRecord& run, const DimValues& fixed) {
  return std::any_of(fixed.begin(), fixed.end(), [&](const auto& dim) {
    const auto size = run.dims.find(dim.first);
    return size != run.dims.end() && size->second != dim.second;
  });
}

// By runs that were measured as those of the loaded model are now.
Result<LatencyModel> fitTo(LoadedModel& model, const std::vector<RunRecord>& runs, const RunRecord& here) {
  std::vector<LatencySample> samples;
  for (const RunRecord& run : runs)
    if (!run.isTimeProfiled && run.pipeline == here.pipeline && run.settings == here.settings &&
        !isOfOtherSizes(run, model.signature().fixedDims))
      samples.push_back({run.dims, run.time});
  Result<LatencyModel> latency = fitLatency(latencyQuantitiesOf(model, freeDims(model, {})), samples);
  if (latency.ok()) return latency;
  Error error = latency.takeError();
  if (samples.size() < runs.size())
    error.diagnostic().notes.push_back(
        "runs that are profiled, or of another pipeline, other settings or other fixed sizes, do not count");
  return std::move(error).note("latency --dim seq=1..512 measures sizes of this range");
}

Status keepRunsOf(const RunRecord& here, const std::string& path, std::vector<RunRecord>& runs) {
  const std::string digest = here.modelFile->text();
  std::erase_if(runs, [&](const RunRecord& run) {
    return run.modelDigest.empty() || digest.empty() ? run.model != here.model : run.modelDigest != digest;
  });
  if (!runs.empty()) return {};
  return makeError(DiagnosticId::usageError, path + ": there is no run of this model in it");
}

// Takes the form of the host code out of the settings; is it native?
bool takeHostCode(std::string& settings) {
  static constexpr std::string_view kKey = "host-code=";
  const size_t at = settings.find(kKey);
  if (at == std::string::npos) return false;
  const size_t end = settings.find(", ", at);
  const bool isNative = settings.compare(at + kKey.size(), 6, "native") == 0;
  if (end != std::string::npos)
    settings.erase(at, end + 2 - at);
  else
    settings.erase(at >= 2 ? at - 2 : at);
  return isNative;
}

// Of runs with either form of host code those count whose form the package has, where there are such.
void keepRunsOfForm(const SessionState& state, HostCode form, RunRecord& here, std::vector<RunRecord>& runs) {
  takeHostCode(here.settings);
  std::vector<RunRecord> same, other;
  for (RunRecord& run : runs)
    (takeHostCode(run.settings) == (form == HostCode::native) ? same : other).push_back(std::move(run));
  if (same.empty() && form == HostCode::native)
    state.log(
        "the runs are of host code as bytecode, and that of the package is native: it is faster where "
        "kernels are short; latency --host-code native measures it");
  runs = same.empty() ? std::move(other) : std::move(same);
}

LatencyPlace placeOfRun(const RunRecord& run) { return {run.machine, run.device, run.threads}; }

}  // namespace

std::vector<std::string> latencyQuantitiesOf(LoadedModel& model, const std::vector<std::string>& dims) {
  std::string flops;
  if (model.hasModule() && model.ensurePasses().ok())
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
    DYN_CHECK(keepRunsOf(here, path, runs));
  } else {
    for (const RunHistory::Entry& entry : state.runs.entries())
      if (entry.record.from.empty() && entry.record.modelFile == here.modelFile &&
          differencesOf(entry.record, here, Sameness::comparable).empty())
        runs.push_back(entry.record);
  }
  return fitTo(model, runs, here);
}

LatencyPlace latencyPlaceOf(const SessionState& state, LoadedModel& model) {
  LatencyPlace place{processorName(), state.now.options.device, threadsOf(state.now.options)};
  if (model.hasModule() || state.now.options.deviceIsChosen) return place;
  // Nobody said where: the package has its own.
  const Result<dyn_module*> program = model.program();
  const char* own = program.ok() ? dyn_module_metadata(*program, "device") : nullptr;
  if (!own) return place;
  place.device = own;
  if (place.device.ends_with(":0")) place.device.resize(place.device.size() - 2);
  return place;
}

std::vector<std::string> differencesOf(const LatencyPlace& there, const LatencyPlace& here) {
  const auto record = [](const LatencyPlace& place) {
    RunRecord run;
    run.machine = place.machine;
    run.device = place.device;
    run.threads = place.threads;
    return run;
  };
  return differencesOf(record(there), record(here), Sameness::comparable);
}

Result<std::optional<PlacedLatency>> packagedLatency(LoadedModel& model) {
  if (model.hasModule()) return std::optional<PlacedLatency>();
  DYN_TRY(dyn_module * program, model.program());
  const char* lines = dyn_module_metadata(program, std::string(kLatencyKey).c_str());
  if (!lines) return std::optional<PlacedLatency>();
  DYN_TRY(PlacedLatency latency, readLatencyLines(lines));
  return std::optional<PlacedLatency>(std::move(latency));
}

Result<PlacedLatency> latencyForPackage(SessionState& state, LoadedModel& model, const Command& command,
                                        HostCode form) {
  const std::string path = command.text("runs");
  RunRecord here = recordOf(state, command, {}, {});
  DYN_TRY(std::vector<RunRecord> runs, readRunsFile(path));
  DYN_CHECK(keepRunsOf(here, path, runs));
  const LatencyPlace first = placeOfRun(runs.front());
  const bool isOfOne =
      std::all_of(runs.begin(), runs.end(), [&](const RunRecord& run) { return placeOfRun(run) == first; });
  const LatencyPlace place = isOfOne ? first : placeOfRun(here);
  std::erase_if(runs, [&](const RunRecord& run) { return placeOfRun(run) != place; });
  if (runs.empty())
    return makeError(DiagnosticId::usageError,
                     path + ": its runs are of several machines, devices or numbers of threads")
        .note("none is of " + place.toString());
  if (place.device != here.device)
    return makeError(DiagnosticId::usageError,
                     path + ": runs on " + place.device + ", and the package is for " + here.device);
  keepRunsOfForm(state, form, here, runs);
  DYN_TRY(const LatencyModel fitted, fitTo(model, runs, here));
  PlacedLatency latency{fitted, place, static_cast<int64_t>(fitted.samples.size()), 0};
  for (const LatencySample& sample : fitted.samples)
    latency.runsCount += std::max<int64_t>(1, sample.time.count);
  return latency;
}

std::optional<LatencyInfo> latencyInfo(const SessionState& state, LoadedModel& model) {
  LatencyInfo info;
  const Result<std::optional<PlacedLatency>> packaged = packagedLatency(model);
  if (!packaged.ok()) {
    info.fault = packaged.error().message;
    return info;
  }
  if (!*packaged) return std::nullopt;
  const PlacedLatency& latency = **packaged;
  info.formula = latency.formula.formula();
  info.flops = latency.formula.flops();
  info.spread = latency.formula.spread;
  for (const auto& [dim, sizes] : latency.formula.measured) info.measured[dim] = {sizes.least, sizes.most};
  info.sizesCount = latency.sizesCount;
  info.runsCount = latency.runsCount;
  info.machine = latency.place.machine;
  info.device = latency.place.device;
  info.threads = latency.place.threads;
  info.elsewhere = differencesOf(latency.place, latencyPlaceOf(state, model));
  return info;
}

Result<std::string> latencyLinesOf(SessionState& state, LoadedModel& model, const Command& command,
                                   HostCode form) {
  if (!command.has("runs")) return std::string();
  DYN_TRY(const PlacedLatency latency, latencyForPackage(state, model, command, form));
  return latencyLines(latency);
}

Result<std::optional<PlacedLatency>> latencyFromHere(const SessionState& state, LoadedModel& model) {
  Result<std::optional<PlacedLatency>> packaged = packagedLatency(model);
  if (!packaged.ok())
    return makeError(DiagnosticId::usageError,
                     "the formula of the time in the package cannot be read: " + packaged.error().message);
  if (!*packaged) return packaged;
  const std::vector<std::string> differences =
      differencesOf((*packaged)->place, latencyPlaceOf(state, model));
  if (differences.empty()) return packaged;
  std::string text = "the package's formula of the time does not count here: it is of runs on " +
                     (*packaged)->place.toString();
  for (const std::string& difference : differences) text += "; " + difference;
  return makeError(DiagnosticId::usageError, text);
}

void giveLatency(const SessionState& state, LoadedModel& model, ServedProgram& program) {
  Result<std::optional<PlacedLatency>> latency = latencyFromHere(state, model);
  if (!latency.ok())
    program.setAdmissionText("all: " + latency.error().message);
  else if (*latency)
    program.setLatency(std::move((*latency)->formula));
}

Status packageIsFromHere(const SessionState& state, LoadedModel& model) {
  const Result<std::optional<PlacedLatency>> packaged = latencyFromHere(state, model);
  return packaged.ok() ? Status() : Status(Error{packaged.error()});
}

Result<KnownLatency> knownLatency(SessionState& state, LoadedModel& model, const Command& command) {
  std::string why;
  if (!command.has("runs")) {
    Result<std::optional<PlacedLatency>> packaged = latencyFromHere(state, model);
    if (packaged.ok() && *packaged)
      return KnownLatency{std::move((*packaged)->formula), static_cast<size_t>((*packaged)->sizesCount),
                          LatencySource::package};
    if (!packaged.ok()) why = packaged.error().message;
  }
  Result<LatencyModel> latency = latencyOf(state, model, command);
  if (latency.ok()) return KnownLatency{*latency, latency->samples.size(), LatencySource::runs};
  if (why.empty()) return latency.takeError();
  return std::move(latency.takeError()).note(why);
}

}  // namespace dyn
