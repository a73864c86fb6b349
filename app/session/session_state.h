// SessionState: all that a session holds between commands, and the table of handlers. Touched by the session's thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/loaded_model.h"
#include "app/session/runner.h"
#include "app/session/session.h"
#include "app/session/specialisation.h"

namespace dyn {

struct BoundValue {
  Value value;
  std::string type;  // text; of tensors with their concrete shape
};

// The model compiled anew to take less memory for some dims.
struct SmallProgram {
  DimValues dims;
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<Runner> runner;  // null: nothing could be made smaller
};

// What :undo goes back to. Copies share everything large.
struct SessionSnapshot {
  std::map<std::string, BoundValue> values;
  std::shared_ptr<LoadedModel> model;
  std::shared_ptr<Runner> runner;
  std::shared_ptr<Specialisations> specialisations;  // of the model; null before one is needed
  std::shared_ptr<SmallProgram> small;               // of the model; null before a limit asks for it
  SessionOptions options;
  std::map<std::string, std::string> display;
  int currentStep = 0;
};

struct SessionState {
  SessionSnapshot now;
  std::vector<SessionSnapshot> undo;
  std::map<std::string, std::string> settingSources;
  Interruption interruption;
  std::optional<Diagnostic> lastError;
  std::vector<std::string> history;
  int sourceDepth = 0;
  std::function<void(EventKind, const std::string& text, double fraction)> emit;
  std::function<void(std::shared_ptr<const Outcome>)> emitOutcome;  // of commands inside :source

  void log(const std::string& text) const {
    if (emit) emit(EventKind::log, text, -1);
  }
  void progress(const std::string& text, double fraction = -1) const {
    if (emit) emit(EventKind::progress, text, fraction);
  }
  // The loaded model, or an error that says how to load one.
  Result<LoadedModel*> model() const;
  Result<LoadedModel*> modelWithPasses() const;
  // The program for these inputs, ready to run and kept warm: of the loaded model, or of a specialisation made now or before.
  Result<PreparedRun> prepare(CallInputs inputs);
  std::vector<std::pair<std::string, Type>> ports() const;
};

// The inputs of a call of the model by the arguments --dim and --input of a command; says which are random.
Result<CallInputs> callInputs(SessionState& state, LoadedModel& model, const Command& command);

// Runs one command: checks it, keeps a snapshot for undo, times it, turns a failure into an error of the outcome.
std::shared_ptr<const Outcome> runCommand(SessionState& state, const Command& command, Ticket ticket);

#define DYN_COMMAND(id, name, arguments, cancellable, undoable, help, example) \
  Result<View> handle_##id(SessionState& state, const Command& command, Outcome& outcome);
#include "app/session/commands.def"
#undef DYN_COMMAND

template <typename T>
View makeView(T view) {
  return Shared<T>(std::make_shared<const T>(std::move(view)));
}
inline View textView(std::string text) { return makeView(TextView{std::move(text)}); }

// The names Tab offers, refreshed after each command.
struct CompletionWords {
  std::vector<std::string> values, passes, symbols, valueDims, kernels, settings, inputs, ops;
};
CompletionWords completionWords(const SessionState& state);
Completion completeLine(const CompletionWords& words, std::string_view line, size_t cursor);

// The settings :set knows; `apply` errors are usageError.
struct SettingSpec {
  std::string_view name, help;
};
const std::vector<SettingSpec>& settingTable();
// "conv=direct,matmul=auto"; "auto" is none. Errors: usageError.
Result<std::map<std::string, std::string>> parsePolicies(const std::string& text);
std::string settingValue(const SessionSnapshot& now, std::string_view name);

}  // namespace dyn
