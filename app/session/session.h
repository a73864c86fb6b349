// Session: one model and the values at hand, on a thread of its own. Commands go in, views and events come
// out.
//
//   Session session({.cacheDirectory = defaultCacheDirectory()});
//   session.setListener([](const Event& e) { post(e); });              // called on the session's thread
//   Ticket t = session.submit(Command::of(CommandId::load).add("model", "bert.onnx"));
//   std::shared_ptr<const Outcome> outcome = session.wait(t);  // or take it from the event `finished`
//   if (auto* info = outcome->as<ModelInfo>()) show(*info);
//
// Threads: every method may be called from any thread. Commands run one after the other in the order of
// submit; those that only look at the model (graph, text, dims, why) are answered beside a run that is under
// way, without the event `started`. Errors: a command that fails leaves the session as it was and says so in
// Outcome::error; nothing throws.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/engine_options.h"
#include "app/session/command.h"
#include "app/session/views/view.h"

namespace dyn {

struct LiveRun;

// The options of a session are those of the model that it holds.
using SessionOptions = EngineOptions;

// Error usageError where `written` is the same file as one of those that are read, also by a link. Commands
// of a session are checked by it.
Status checkOutput(const std::vector<std::string>& read, const std::string& written);

// $XDG_CACHE_HOME/dyn, or ~/.cache/dyn; made when absent. "none" when neither can be had.
std::string defaultCacheDirectory();

using Ticket = uint64_t;
struct SessionState;

// How the outcome of a command is taken: by wait(), or from the event `finished` alone.
enum class Delivery : uint8_t { fetched, byEvent };

struct Outcome {
  Ticket ticket = 0;
  Command command;
  std::optional<Diagnostic> error;
  std::vector<Diagnostic> warnings;
  std::vector<Diagnostic> more;  // further errors of the same command (all problems of a model)
  View view;
  int64_t timeNs = 0;
  bool ok() const { return !error; }
  int exitCode() const { return error ? dyn::exitCode(error->id) : 0; }
  // The view of that kind, or null.
  template <typename T>
  const T* as() const {
    return view.as<T>();
  }
  template <typename T>
  Shared<T> share() const {
    return view.share<T>();
  }
};

enum class EventKind : uint8_t {
  started,   // a command begins
  progress,  // text and fraction (-1: unknown)
  log,       // a line for the console: "inputs x, y are random (seed 0)"
  text,      // a piece of the text that the outcome's view will have, as it comes
  finished,  // outcome is set
  model,     // another model, or none, is loaded; the trace and all views of it are stale
  values,    // bound values or settings changed
};

struct Event {
  EventKind kind = EventKind::log;
  Ticket ticket = 0;
  std::string text;
  double fraction = -1;
  std::shared_ptr<const Outcome> outcome;
  std::shared_ptr<const LiveRun> live;  // with `progress` of a profiled run
};

// What Tab and menus offer.
struct Completion {
  std::vector<std::string> candidates;  // sorted; whole words
  size_t begin = 0;                     // where in the line the word begins that they stand for
};

class Session {
 public:
  // Where the system gives no threads, each command ends with that error until it does.
  explicit Session(SessionOptions options = {});
  ~Session();  // interrupts what runs, drops what waits
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Called on the session's thread, one event at a time; of a profiled run's progress from a thread beside,
  // while that one waits for the run; of a command that no thread can be had for, by submit() itself. Set it
  // before the first submit.
  void setListener(std::function<void(const Event&)> listener);

  // What is delivered by event is kept no longer than its listener keeps it. Of the others the last kMostKept
  // wait to be fetched.
  static constexpr size_t kMostKept = 1000;
  Ticket submit(Command command, Delivery delivery = Delivery::fetched);
  // Blocks until the command is done. An outcome can be fetched once; of a ticket that is unknown, or
  // delivered by event, the outcome is an internalError.
  std::shared_ptr<const Outcome> wait(Ticket ticket);
  // Null when it is not done after that time.
  std::shared_ptr<const Outcome> waitFor(Ticket ticket, std::chrono::milliseconds time);
  std::shared_ptr<const Outcome> execute(Command command) { return wait(submit(std::move(command))); }

  // Calls `work` between two commands, on the session's thread, and waits for it: for what no command
  // answers. It leaves no line in the journal. Errors: those of `work`, cancelled, or there is no thread.
  Status visit(std::function<Status(SessionState&)> work);

  // Ends the command that runs with `cancelled` (compilation at the next pass, runs at the next kernel), and
  // those that wait.
  void interrupt();
  bool busy() const;

  // The last commands (journal.h says how many), as lines that parse back.
  std::vector<std::string> journal() const;
  // Completions of a shell line up to `cursor`; never waits for a command that runs.
  Completion complete(std::string_view line, size_t cursor) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dyn
