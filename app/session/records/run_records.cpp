#include "app/session/records/run_records.h"

#include <fmt/format.h>

#include "app/engine/model/file_digest.h"
#include "app/engine/run/run_file.h"
#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "app/session/explain/machine_limits.h"
#include "app/session/option_table.h"
#include "app/session/views/text_table.h"

namespace dyn {

namespace {

// Settings that change a program or its memory, where they are not the default. Those that a record has a
// field for, and files, are left out.
std::string settingsText(const SessionSnapshot& now) {
  const SessionSnapshot standard;
  std::string text;
  for (const OptionRow* row : settingTable()) {
    const std::string name(row->setting);
    if (row->section != SettingSection::compilation && name != "mem-limit" && name != "device-mem-limit")
      continue;
    if (name == "device" || name == "passes" || name == "tuning") continue;
    const std::string value = settingValue(now, *row);
    if (value == settingValue(standard, *row)) continue;
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  return text;
}

std::string inputsText(const Command& command, const std::vector<std::string>& randomInputs, uint64_t seed) {
  constexpr size_t kMostOfInput = 60;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const std::string& input : command.all("input")) add(shortened(input, kMostOfInput));
  for (const std::string& lengths : command.all("lengths"))
    add("lengths " + shortened(lengths, kMostOfInput));
  if (command.has("case")) add("case " + command.text("case"));
  if (!randomInputs.empty()) add(fmt::format("{}random (seed {})", text.empty() ? "" : "others ", seed));
  return text.empty() ? "none" : text;
}

void tellForgotten(const SessionState& state, int64_t before) {
  if (before > 0 || state.runs.forgottenCount() == 0) return;
  state.log(fmt::format("the oldest runs are no longer listed: {} are kept; :runs pin N or check N keeps one",
                        RunHistory::kRecords));
}

}  // namespace

Result<double> mostSpreadOf(const Command& command) {
  if (!command.has("max-spread")) return 0.0;
  DYN_TRY(const double percent, command.number("max-spread", 0));
  if (percent > 0 && percent <= 100) return percent;
  return makeError(DiagnosticId::usageError, "--max-spread is a percentage, above 0 and at most 100");
}

RunRecord timesOf(const RunResult& run) {
  RunRecord record;
  record.dims = run.dims;
  record.time = statisticsOf(run.runsNs);
  record.isTimeProfiled = run.isTimeProfiled;
  record.peakBytes = run.peakBytes;
  record.places = run.placeTimes;
  std::map<std::string, const std::vector<std::string>*> members;
  for (const NodeTime& time : run.nodeTimes) members[time.place] = &time.members;
  for (PlaceTime& place : record.places)
    if (const auto found = members.find(place.place); found != members.end()) place.members = *found->second;
  return record;
}

std::shared_ptr<FileDigest> modelFileOf(SessionState& state) {
  SessionState::ModelFile& kept = state.modelFile;
  const std::shared_ptr<LoadedModel>& model = state.now.model;
  if (!kept.digest || kept.model.owner_before(model) || model.owner_before(kept.model))
    kept = {model, std::make_shared<FileDigest>(model->info().path)};
  return kept.digest;
}

RunRecord recordOf(SessionState& state, const Command& command, RunRecord times,
                   const std::vector<std::string>& randomInputs) {
  RunRecord record = std::move(times);
  const SessionOptions& options = state.now.options;
  record.command = std::string(commandSpec(command.id).name);
  record.model = state.now.model->info().path;
  record.modelFile = modelFileOf(state);
  record.pipeline = state.now.model->compileOptions().passes;
  record.settings = settingsText(state.now);
  record.inputs = inputsText(command, randomInputs, options.seed);
  record.threads = threadsOf(options);
  record.device = options.device;
  record.machine = processorName();
  return record;
}

Result<std::vector<RunRecord>> comparableRuns(SessionState& state, const Command& command,
                                              const std::string& path) {
  DYN_TRY(std::vector<RunRecord> runs, readRunsFile(path));
  if (runs.empty()) return makeError(DiagnosticId::usageError, path + ": there is no run in it");
  const RunRecord here = recordOf(state, command, {}, {});
  const std::vector<std::string> why = differencesOf(runs.front(), here, Sameness::comparable);
  std::erase_if(
      runs, [&](const RunRecord& run) { return !differencesOf(run, here, Sameness::comparable).empty(); });
  if (!runs.empty()) return runs;
  Error error = makeError(DiagnosticId::usageError, path + ": not comparable with runs here");
  error.diagnostic().notes = why;
  return error;
}

int64_t keep(SessionState& state, RunRecord record) {
  const int64_t before = state.runs.forgottenCount();
  const int64_t number = state.runs.add(std::move(record));
  tellForgotten(state, before);
  return number;
}

int64_t keep(SessionState& state, RunRecord record, std::shared_ptr<const RunResult> run,
             std::weak_ptr<const CompiledModel> program) {
  const int64_t before = state.runs.forgottenCount();
  const int64_t number =
      state.runs.add(std::move(record), state.now.model, std::move(run), std::move(program));
  tellForgotten(state, before);
  return number;
}

}  // namespace dyn
