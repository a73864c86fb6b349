// Handlers: the runs that are kept: listed, marked, saved and recalled; one by place, two side by side.
#include <algorithm>

#include "app/engine/run/run_file.h"
#include "app/engine/run/run_record.h"
#include "app/engine/run/run_result.h"
#include "app/engine/run/trace_file.h"
#include "app/session/answers/place_tree.h"
#include "app/session/answers/runs_view.h"
#include "app/session/graph/kernel_members.h"
#include "app/session/records/run_records.h"
#include "app/session/session_state.h"
#include "app/session/views/run_views.h"
#include "app/session/views/view.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

Error noRun(const std::string& message) {
  return makeError(DiagnosticId::usageError, message).note("run it by :profile");
}

// The last one that was run here; of recalled ones alone the last of them.
const RunHistory::Entry& lastOf(const std::vector<RunHistory::Entry>& runs) {
  for (auto entry = runs.rbegin(); entry != runs.rend(); ++entry)
    if (entry->run->recalledFrom.empty()) return *entry;
  return runs.back();
}

}  // namespace

Result<View> handle_places(SessionState& state, const Command&, Outcome&) {
  DYN_CHECK(state.model());
  const std::vector<RunHistory::Entry> runs = state.runs.profiled(state.now.model);
  if (runs.empty()) return noRun("no run of this model was profiled");
  return makeView(placeTree(*lastOf(runs).run));
}

namespace {

// A trace of :profile, one more run of the loaded model.
Result<View> recallTrace(SessionState& state, const std::string& path, std::string_view text) {
  DYN_TRY(LoadedModel * model, state.model());
  Result<TraceEvents> trace = readTrace(text);
  if (!trace.ok()) return makeError(DiagnosticId::fileError, path + ": " + trace.error().message);
  if (trace->events.empty()) return makeError(DiagnosticId::fileError, path + ": a trace without events");
  auto run = std::make_shared<RunResult>(runOfTrace(*trace));
  run->recalledFrom = path;
  if (const Trace& passes = model->trace(); !passes.steps.empty())
    nameMembers(passes.steps.back().after, *run);
  RunRecord record = timesOf(*run);
  record.model = model->info().path;
  record.modelFile = modelFileOf(state);
  record.pipeline = model->compileOptions().passes;
  record.from = path;
  keep(state, std::move(record), run, {});
  return View(Shared<RunResult>(std::move(run)));
}

RunList listOf(SessionState& state) {
  state.runs.readDigests();
  RunList list;
  list.rows = state.runs.records();
  list.forgottenCount = state.runs.forgottenCount();
  return list;
}

}  // namespace

// Runs that were saved are more to compare with.
Result<View> handle_recall(SessionState& state, const Command& command, Outcome&) {
  const std::string path = command.text("file");
  DYN_TRY(MappedFile file, MappedFile::open(path));
  if (!isRunsText(file.bytes())) return recallTrace(state, path, file.bytes());
  DYN_TRY(std::vector<RunRecord> runs, readRunsFile(path));
  for (RunRecord& record : runs) {
    record.from = path;
    record.isBaseline = record.isChecked = false;  // marks are of the session that wrote it
    keep(state, std::move(record));
  }
  return makeView(listOf(state));
}

namespace {

enum class RunsAction : uint8_t { list, pin, unpin, check, uncheck, drop };
constexpr std::string_view kRunsActions[] = {"list", "pin", "unpin", "check", "uncheck", "drop"};

Result<RunsAction> runsAction(const std::string& word, size_t numbersCount) {
  const auto found = std::find(std::begin(kRunsActions), std::end(kRunsActions), word);
  if (found == std::end(kRunsActions))
    return makeError(DiagnosticId::usageError, ":runs has no action '" + word + "'")
        .note(":runs [list], pin N, unpin, check N..., uncheck N... or drop N...");
  const auto action = static_cast<RunsAction>(found - std::begin(kRunsActions));
  const auto refused = [&](const char* what) {
    return makeError(DiagnosticId::usageError, ":runs " + word + " takes " + what);
  };
  const bool takesNumbers = action != RunsAction::list && action != RunsAction::unpin;
  if (!takesNumbers && numbersCount > 0) return refused("no number");
  if (action == RunsAction::pin && numbersCount != 1) return refused("the number of one run");
  if (takesNumbers && numbersCount == 0) return refused("numbers of runs");
  return action;
}

Status actOn(RunHistory& runs, RunsAction action, int64_t number) {
  switch (action) {
    case RunsAction::pin:
      return runs.setBaseline(number);
    case RunsAction::check:
    case RunsAction::uncheck:
      return runs.setChecked(number, action == RunsAction::check);
    case RunsAction::drop:
      return runs.drop(number);
    case RunsAction::list:
    case RunsAction::unpin:
      break;
  }
  return {};
}

}  // namespace

Result<View> handle_runs(SessionState& state, const Command& command, Outcome&) {
  const std::vector<std::string>& numbers = command.all("number");
  DYN_TRY(const RunsAction action, runsAction(command.text("action", "list"), numbers.size()));
  if (action == RunsAction::unpin) DYN_CHECK(state.runs.setBaseline(0));
  for (const std::string& text : numbers) {
    DYN_TRY(const int64_t number, Command::of(command.id).add("number", text).integer("number", 0));
    DYN_CHECK(actOn(state.runs, action, number));
  }
  RunList list = listOf(state);
  if (command.has("o")) {
    if (list.rows.empty()) return noRun("there is no run to write");
    list.file = command.text("o");
    DYN_CHECK(writeRunsFile(list.file, list.rows));
  }
  return makeView(std::move(list));
}

namespace {

struct RunPair {
  int64_t first = 0, second = 0;
};

// Those that were named; else the two that are checked; else the baseline and the last one that was run
// here; else the last two.
Result<RunPair> comparedPair(const RunHistory& runs, const Command& command) {
  std::vector<int64_t> all, checked;
  int64_t last = 0;
  for (const RunHistory::Entry& entry : runs.entries()) {
    all.push_back(entry.record.number);
    if (entry.record.isChecked) checked.push_back(entry.record.number);
    if (entry.record.from.empty()) last = entry.record.number;
  }
  if (all.size() < 2)
    return noRun("two runs are needed; there is " + std::string(all.empty() ? "no run yet" : "one"));
  if (last == 0) last = all.back();
  RunPair pair{all.back() != last ? all.back() : all[all.size() - 2], last};
  if (const RunHistory::Entry* baseline = runs.baseline(); baseline && baseline->record.number != last)
    pair.first = baseline->record.number;
  if (checked.size() == 2 && !command.has("first")) pair = {checked[0], checked[1]};
  DYN_TRY(pair.first, command.integer("first", pair.first));
  DYN_TRY(pair.second, command.integer("second", pair.second));
  for (const int64_t number : {pair.first, pair.second}) {
    DYN_TRY([[maybe_unused]] const RunHistory::Entry* run, runs.kept(number));
  }
  return pair;
}

}  // namespace

Result<View> compareKeptRuns(SessionState& state, const Command& command) {
  DYN_TRY(const RunPair pair, comparedPair(state.runs, command));
  state.runs.readDigests();
  return makeView(compareRuns(state.runs.find(pair.first)->record, state.runs.find(pair.second)->record));
}

}  // namespace dyn
