// Handler: levels of nodes and sequences of the last run that had some.
#include "app/engine/run/level_loops.h"
#include "app/engine/run/run_result.h"
#include "app/session/session_state.h"
#include "app/session/views/view.h"
#include "compiler/support/suggestion.h"

namespace dyn {

namespace {

Shared<LevelsView> lastLevels(const SessionState& state) {
  if (const Shared<RunResult> last = state.runs.last(state.now.model); last && last->levels)
    return last->levels;
  const std::vector<RunHistory::Entry> runs = state.runs.profiled(state.now.model);
  for (auto entry = runs.rbegin(); entry != runs.rend(); ++entry)
    if (entry->run->levels) return entry->run->levels;
  return nullptr;
}

Error noLevels(const SessionState& state) {
  if (state.runs.profiled(state.now.model).empty())
    return makeError(DiagnosticId::usageError, "no run of this model was profiled")
        .note("run it by :profile");
  return makeError(DiagnosticId::usageError,
                   "the profiled runs had no loop over levels of nodes and no sequences of different lengths")
      .note(":passes shows the remarks of the pass batch_levels");
}

// What belongs to a value or a function alone.
Status choose(const std::string& name, LevelsView& view) {
  std::vector<std::string> kept;
  for (const LevelLoop& loop : view.loops) kept.push_back(loop.function);
  for (const SequenceRows& rows : view.sequences) kept.push_back(rows.value);
  const std::vector<std::string_view> names(kept.begin(), kept.end());
  const std::string near = suggestion(name, names);
  std::erase_if(view.loops, [&](const LevelLoop& loop) { return loop.function != name; });
  std::erase_if(view.sequences, [&](const SequenceRows& rows) { return rows.value != name; });
  if (!view.loops.empty() || !view.sequences.empty()) return {};
  std::string list;
  for (const std::string& one : kept) list += (list.empty() ? "" : ", ") + one;
  return makeError(DiagnosticId::usageError,
                   "neither a value with sequences nor a function with levels: " + name)
      .note(near.empty() ? "the run had: " + list : "did you mean " + near + "?");
}

}  // namespace

Result<View> handle_levels(SessionState& state, const Command& command, Outcome&) {
  DYN_CHECK(state.model());
  const Shared<LevelsView> last = lastLevels(state);
  if (!last) return noLevels(state);
  LevelsView view = *last;
  view.all = command.has("all");
  if (command.has("value")) DYN_CHECK(choose(command.text("value"), view));
  return makeView(std::move(view));
}

}  // namespace dyn
