// Handlers: the last profiled runs, by place and side by side.
#include "app/engine/run/trace_file.h"
#include "app/session/answers/place_tree.h"
#include "app/session/graph/kernel_members.h"
#include "app/session/session_state.h"
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

// A run that was saved is one more to compare with.
Result<View> handle_recall(SessionState& state, const Command& command, Outcome&) {
  DYN_CHECK(state.model());
  const std::string path = command.text("file");
  DYN_TRY(MappedFile file, MappedFile::open(path));
  Result<TraceEvents> trace = readTrace(file.bytes());
  if (!trace.ok()) return makeError(DiagnosticId::fileError, path + ": " + trace.error().message);
  if (trace->events.empty()) return makeError(DiagnosticId::fileError, path + ": a trace without events");
  auto run = std::make_shared<RunResult>(runOfTrace(*trace));
  run->recalledFrom = path;
  if (const Trace& passes = state.now.model->trace(); !passes.steps.empty())
    nameMembers(passes.steps.back().after, *run);
  state.runs.add(state.now.model, run);
  return View(Shared<RunResult>(std::move(run)));
}

Result<View> handle_compare(SessionState& state, const Command& command, Outcome&) {
  DYN_CHECK(state.model());
  const std::vector<RunHistory::Entry> runs = state.runs.profiled(state.now.model);
  if (runs.size() < 2)
    return noRun("two profiled runs are needed; there " + std::string(runs.empty() ? "is none" : "is one"));
  const int64_t last = lastOf(runs).number;
  const int64_t other = runs.back().number != last ? runs.back().number : runs[runs.size() - 2].number;
  DYN_TRY(const int64_t first, command.integer("first", other));
  DYN_TRY(const int64_t second, command.integer("second", last));
  const auto find = [&](int64_t number) -> const RunHistory::Entry* {
    for (const RunHistory::Entry& entry : runs)
      if (entry.number == number) return &entry;
    return nullptr;
  };
  std::string known;
  for (const RunHistory::Entry& entry : runs)
    known += (known.empty() ? "" : ", ") + std::to_string(entry.number);
  for (const int64_t number : {first, second})
    if (!find(number))
      return makeError(DiagnosticId::usageError, "run " + std::to_string(number) + " is not kept")
          .note("profiled runs: " + known);
  RunsView view = compareRuns(*find(first)->run, *find(second)->run);
  const bool bothPipelines = find(first)->pipeline != find(second)->pipeline;
  const auto title = [&](int64_t number, const std::string& dims) {
    const RunHistory::Entry& entry = *find(number);
    const std::string& file = entry.run->recalledFrom;
    const std::string name = file.substr(file.rfind('/') + 1);
    const std::string pipeline =
        bothPipelines ? " [" + (entry.pipeline.empty() ? "standard" : entry.pipeline) + "]" : "";
    return "run " + std::to_string(number) + (file.empty() ? "" : " of " + name) + pipeline + ": " + dims;
  };
  view.first = title(first, view.first);
  view.second = title(second, view.second);
  return makeView(std::move(view));
}

}  // namespace dyn
