// SessionState: all that a session holds between commands, and the table of handlers. Touched by the
// session's thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/loaded_model.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_history.h"
#include "app/engine/run/runner.h"
#include "app/engine/run/specialisation.h"
#include "app/engine/run/stepped_run.h"
#include "app/session/bound_values.h"
#include "app/session/completion.h"
#include "app/session/journal.h"
#include "app/session/session.h"
#include "app/session/undo_stack.h"
#include "app/session/views/shell_views.h"
#include "compiler/support/visible_text.h"

namespace dyn {

// The model compiled anew to take less memory for some dims.
struct SmallProgram {
  DimValues dims;
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Runner> runner;  // null: nothing could be made smaller
};

struct SessionState {
  SessionSnapshot now;
  BoundValues values;
  UndoStack undo;
  std::map<std::string, std::string> settingSources;
  Interruption interruption;
  std::optional<Diagnostic> lastError;
  Journal journal;
  RunHistory runs;
  // Of the model that ran, or was to run, last: what was asked for, and the inputs where they could be made.
  struct LastCall {
    std::weak_ptr<LoadedModel> model;
    Command command;
    std::optional<CallInputs> inputs;
  };
  std::optional<LastCall> lastCall;
  // The value of the last run that was looked at last, computed by the reference; of at most 64 MB.
  struct LookedAt {
    std::weak_ptr<const RunResult> run;
    std::string name, step;
    Value value;
  };
  std::optional<LookedAt> lookedAt;
  struct ModelFile {
    std::weak_ptr<LoadedModel> model;
    std::shared_ptr<FileDigest> digest;
  } modelFile;                           // of the model that ran last
  std::vector<std::string> openScripts;  // those of :source that are under way, the outermost first
  std::vector<Breakpoint> breakpoints;
  std::weak_ptr<LoadedModel> breakpointsOf;  // of whose program their positions are
  int lastBreakpoint = 0;                    // numbers are not used again
  std::vector<std::string> watched;          // registers and dims, as they were given
  bool hasRemeasuredLimits = false;          // it takes seconds: once
  std::unique_ptr<SteppedRun> debug;         // null: no run is stepped through
  int64_t warpLaunch = 0;  // the launch on the simulated GPU whose warps are stepped through
  std::function<void(EventKind, const std::string& text, double fraction)> emit;
  std::function<void(const LiveRun&)> emitLive;
  std::function<void(std::shared_ptr<const Outcome>)> emitOutcome;  // of commands inside :source

  void log(const std::string& text) const {
    if (emit) emit(EventKind::log, visibleText(text, ColorCodes::escaped), -1);
  }
  void emitText(const std::string& text) const {
    if (emit) emit(EventKind::text, text, -1);
  }
  void progress(const std::string& text, double fraction = -1) const {
    if (emit) emit(EventKind::progress, visibleLine(text), fraction);
  }
  // The loaded model, or an error that says how to load one. The second one may have problems that keep it
  // from being compiled (:load --anyway); of the first, the first of them is the error.
  Result<LoadedModel*> model() const;
  Result<LoadedModel*> opened() const;
  Result<LoadedModel*> modelWithPasses() const;
  // The program for these inputs, ready to run and kept warm: of the loaded model, or of a specialisation
  // made now or before.
  Result<PreparedRun> prepare(CallInputs inputs);
  std::vector<std::pair<std::string, Type>> ports() const;
};

// The inputs of a call of the model by the arguments --dim, --input and --lengths of a command; says which
// are random.
Result<CallInputs> callInputs(SessionState& state, LoadedModel& model, const Command& command);
// The same, and nothing is said.
Result<CallInputs> quietCallInputs(SessionState& state, LoadedModel& model, const Command& command);

// A setting as text, as it is now.
struct OptionRow;
std::string settingValue(const SessionSnapshot& now, const OptionRow& setting);

// Runs one command: checks it, keeps a snapshot for undo, times it, turns a failure into an error of the
// outcome.
std::shared_ptr<const Outcome> runCommand(SessionState& state, const Command& command, Ticket ticket);

#define DYN_COMMAND(id, name, arguments, cancellable, undoable, concurrency, help, example) \
  Result<View> handle_##id(SessionState& state, const Command& command, Outcome& outcome);
#include "app/session/commands.def"
#undef DYN_COMMAND

template <typename T>
View makeView(T view) {
  return Shared<T>(std::make_shared<const T>(std::move(view)));
}
inline View textView(std::string text) { return makeView(TextView{std::move(text)}); }

}  // namespace dyn
