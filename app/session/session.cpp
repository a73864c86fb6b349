#include "app/session/session.h"

#include <sys/stat.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "app/engine/run/run_result.h"
#include "app/engine/run/thread_start.h"
#include "app/session/session_files.h"
#include "app/session/session_state.h"
#include "app/session/views/text/live_text.h"
#include "compiler/support/clock.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

std::string defaultCacheDirectory() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string base = xdg && *xdg == '/' ? xdg : home && *home ? std::string(home) + "/.cache" : "";
  if (base.empty()) return "none";
  ::mkdir(base.c_str(), 0700);
  const std::string directory = base + "/dyn";
  ::mkdir(directory.c_str(), 0700);
  struct stat info {};
  return ::stat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) ? directory : "none";
}

namespace {

// Handlers throw nothing of their own; the library may when the system has no memory left.
template <typename Work>
auto guarded(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return makeError(DiagnosticId::memoryLimit, "the system gave no more memory");
  } catch (const std::length_error&) {  // of a container that was to hold more than any memory
    return makeError(DiagnosticId::memoryLimit, "more memory would be needed than can be addressed");
  } catch (const std::exception& e) {
    return makeError(DiagnosticId::internalError, std::string("an exception escaped: ") + e.what());
  }
}

// Is it a view that can be made while the model runs?
bool isServedBeside(const Command& command) {
  const Concurrency concurrency = commandSpec(command.id).concurrency;
  if (command.id == CommandId::why && asksAboutRun(command)) return false;
  if (concurrency == Concurrency::graphReader)
    return command.text("level", "graph") == "graph" && !command.has("linked");
  return concurrency == Concurrency::reader;
}

}  // namespace

struct Session::Impl {
  struct Waiting {
    Ticket ticket = 0;
    Command command;
    Delivery delivery = Delivery::fetched;
    std::function<Status(SessionState&)> visit;  // instead of the command
  };

  SessionState state;  // of the worker, but for its journal
  CompletionIndex completion;
  std::weak_ptr<LoadedModel> shown;  // the model that events have told of

  mutable std::mutex mutex;  // guards all below
  std::condition_variable wake, done, interrupted;
  std::deque<Waiting> queue;  // tickets ascending
  std::map<Ticket, std::shared_ptr<const Outcome>> outcomes;
  std::function<void(const Event&)> listener;
  Ticket next = 1, running = 0;
  bool stop = false, interrupting = false;
  // While a program runs its thread touches nothing else of the state: views of the model are served beside
  // it. A run does not go on before the view that is under way is done.
  std::condition_variable aside, asideDone;
  bool inRun = false;
  Ticket beside = 0;
  std::thread worker, interrupter, besideWorker;

  // Starts those that do not run yet. Under the lock.
  Status startThreads() {
    if (!worker.joinable()) DYN_CHECK(startThread(worker, [this] { work(); }));
    if (!interrupter.joinable()) DYN_CHECK(startThread(interrupter, [this] { keepInterrupting(); }));
    if (!besideWorker.joinable()) DYN_CHECK(startThread(besideWorker, [this] { serveBeside(); }));
    return {};
  }

  void emit(Event event) {
    std::function<void(const Event&)> call;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      call = listener;
    }
    if (call) call(event);
  }

  void publish(const Waiting& item, std::shared_ptr<const Outcome> outcome) {
    const CommandSpec& spec = commandSpec(outcome->command.id);
    completion.refresh(state);
    // Settings and :undo can change the model, too.
    const std::shared_ptr<LoadedModel>& now = state.now.model;
    if (shown.owner_before(now) || now.owner_before(shown))
      emit({.kind = EventKind::model, .ticket = item.ticket});
    else if (outcome->ok() && (spec.undoable == Undoable::yes || outcome->command.id == CommandId::undo))
      emit({.kind = EventKind::values, .ticket = item.ticket});
    shown = now;
    emit({.kind = EventKind::finished, .ticket = item.ticket, .fraction = 1, .outcome = outcome});
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (item.delivery == Delivery::fetched) outcomes[item.ticket] = std::move(outcome);
      running = 0;
      interrupting = false;
      while (outcomes.size() > kMostKept) outcomes.erase(outcomes.begin());
    }
    done.notify_all();
  }

  void work() {
    for (;;) {
      Waiting item;
      {
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, [&] { return stop || !queue.empty(); });
        if (stop) return;
        item = std::move(queue.front());
        queue.pop_front();
        running = item.ticket;
        state.interruption.reset();
      }
      const Ticket ticket = item.ticket;
      prepareEvents(item);
      if (item.visit) {
        finishVisit(item);
        continue;
      }
      const std::string line = toLine(item.command);
      state.journal.add(line);
      emit({.kind = EventKind::started, .ticket = ticket, .text = line});
      publish(item, runCommand(state, item.command, ticket));
    }
  }

  void prepareEvents(const Waiting& item) {
    const Ticket ticket = item.ticket;
    state.emit = [this, ticket](EventKind kind, const std::string& text, double fraction) {
      emit({.kind = kind, .ticket = ticket, .text = text, .fraction = fraction});
    };
    state.emitLive = [this, ticket](const LiveRun& run) {
      emit({.kind = EventKind::progress,
            .ticket = ticket,
            .text = textOf(run),
            .fraction = fractionOf(run),
            .live = std::make_shared<const LiveRun>(run)});
    };
    state.emitOutcome = [this, ticket](std::shared_ptr<const Outcome> inner) {
      emit({.kind = EventKind::finished, .ticket = ticket, .outcome = std::move(inner)});
    };
    state.interruption.setListener([this, &item](bool now) { setInRun(now, item.command); });
  }

  void finishVisit(const Waiting& item) {
    auto outcome = std::make_shared<Outcome>();
    outcome->ticket = item.ticket;
    const Status done = guarded([&] { return item.visit(state); });
    if (!done.ok()) outcome->error = done.error();
    {
      const std::lock_guard<std::mutex> lock(mutex);
      outcomes[item.ticket] = std::move(outcome);
      running = 0;
      interrupting = false;
    }
    this->done.notify_all();
  }

  void setInRun(bool now, const Command& command) {
    std::unique_lock<std::mutex> lock(mutex);
    inRun = now && commandSpec(command.id).concurrency == Concurrency::runner;
    if (inRun && !queue.empty()) aside.notify_all();
    if (!now) asideDone.wait(lock, [&] { return beside == 0; });
  }

  // Views that come next in the queue, so that none overtakes what changes the model.
  void serveBeside() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      aside.wait(lock, [&] {
        return stop ||
               (inRun && !queue.empty() && !queue.front().visit && isServedBeside(queue.front().command));
      });
      if (stop) return;
      const Waiting item = std::move(queue.front());
      queue.pop_front();
      beside = item.ticket;
      lock.unlock();
      state.journal.add(toLine(item.command));
      const auto emitOfRun = std::exchange(
          state.emit, [this, ticket = item.ticket](EventKind kind, const std::string& text, double fraction) {
            emit({.kind = kind, .ticket = ticket, .text = text, .fraction = fraction});
          });
      std::shared_ptr<const Outcome> outcome = runCommand(state, item.command, item.ticket);
      state.emit = emitOfRun;
      emit({.kind = EventKind::finished, .ticket = item.ticket, .fraction = 1, .outcome = outcome});
      lock.lock();
      if (item.delivery == Delivery::fetched) outcomes[item.ticket] = std::move(outcome);
      beside = 0;
      asideDone.notify_all();
      done.notify_all();
    }
  }

  // Is the command of this ticket still to be done? Under the lock.
  bool waits(Ticket ticket) const {
    if (outcomes.count(ticket)) return false;
    return running == ticket || beside == ticket ||
           (!queue.empty() && queue.front().ticket <= ticket && ticket <= queue.back().ticket);
  }

  // A program that was just about to start when the wish to stop came would not notice it: it is told until
  // it ends.
  void keepInterrupting() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      interrupted.wait(lock, [&] { return stop || interrupting; });
      if (stop && running == 0) return;
      // Asked under the lock, so that it never meets the next command.
      state.interruption.request();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      lock.lock();
    }
  }
};

Session::Session(SessionOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->state.now.options = std::move(options);
  impl_->completion.refresh(impl_->state);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  (void)impl_->startThreads();  // submit() tries again, and says it
}

Session::~Session() {
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->stop = true;
    impl_->queue.clear();
  }
  impl_->wake.notify_all();
  impl_->interrupted.notify_all();
  impl_->aside.notify_all();
  for (std::thread* thread : {&impl_->besideWorker, &impl_->worker, &impl_->interrupter})
    if (thread->joinable()) thread->join();
}

void Session::setListener(std::function<void(const Event&)> listener) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->listener = std::move(listener);
}

Ticket Session::submit(Command command, Delivery delivery) {
  Ticket ticket = 0;
  std::shared_ptr<Outcome> refused;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    ticket = impl_->next++;
    if (const Status started = impl_->startThreads(); started.ok()) {
      impl_->queue.push_back({ticket, std::move(command), delivery});
      if (impl_->inRun) impl_->aside.notify_all();
    } else {
      refused = std::make_shared<Outcome>();
      refused->ticket = ticket;
      refused->command = std::move(command);
      refused->error = started.error();
      if (delivery == Delivery::fetched) impl_->outcomes[ticket] = refused;
    }
  }
  if (refused)
    impl_->emit({.kind = EventKind::finished, .ticket = ticket, .fraction = 1, .outcome = refused});
  impl_->wake.notify_all();
  return ticket;
}

std::shared_ptr<const Outcome> Session::waitFor(Ticket ticket, std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->done.wait_for(lock, time, [&] { return !impl_->waits(ticket); });
  auto found = impl_->outcomes.find(ticket);
  if (found != impl_->outcomes.end()) {
    std::shared_ptr<const Outcome> outcome = std::move(found->second);
    impl_->outcomes.erase(found);
    return outcome;
  }
  if (impl_->waits(ticket)) return nullptr;
  auto lost = std::make_shared<Outcome>();
  lost->ticket = ticket;
  lost->error =
      makeError(DiagnosticId::internalError, "there is no outcome of ticket " + std::to_string(ticket))
          .diagnostic();
  return lost;
}

std::shared_ptr<const Outcome> Session::wait(Ticket ticket) {
  for (;;)
    if (std::shared_ptr<const Outcome> outcome = waitFor(ticket, std::chrono::hours(1))) return outcome;
}

Status Session::visit(std::function<Status(SessionState&)> work) {
  Ticket ticket = 0;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    DYN_CHECK(impl_->startThreads());
    ticket = impl_->next++;
    Impl::Waiting item;
    item.ticket = ticket;
    item.visit = std::move(work);
    impl_->queue.push_back(std::move(item));
  }
  impl_->wake.notify_all();
  const std::shared_ptr<const Outcome> outcome = wait(ticket);
  if (outcome->error) return Error{*outcome->error};
  return {};
}

void Session::interrupt() {
  std::deque<Impl::Waiting> dropped;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    if (impl_->running != 0) impl_->interrupting = true;
    dropped = std::move(impl_->queue);
    impl_->queue.clear();
    for (Impl::Waiting& item : dropped) {
      if (item.delivery != Delivery::fetched) continue;
      auto outcome = std::make_shared<Outcome>();
      outcome->ticket = item.ticket;
      outcome->command = std::move(item.command);
      outcome->error = makeError(DiagnosticId::cancelled, "interrupted before it began").diagnostic();
      impl_->outcomes[item.ticket] = std::move(outcome);
    }
  }
  impl_->interrupted.notify_all();
  impl_->done.notify_all();
}

bool Session::busy() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->running != 0 || impl_->beside != 0 || !impl_->queue.empty();
}

std::vector<std::string> Session::journal() const { return impl_->state.journal.last(0).lines; }

Completion Session::complete(std::string_view line, size_t cursor) const {
  return impl_->completion.complete(line, cursor);
}

// --- one command ---

namespace {

using Handler = Result<View> (*)(SessionState&, const Command&, Outcome&);
constexpr Handler kHandlers[] = {
#define DYN_COMMAND(id, name, arguments, cancellable, undoable, concurrency, help, example) handle_##id,
#include "app/session/commands.def"
#undef DYN_COMMAND
};

// The line and a caret, where the place is a line of a text and the one who found the fault had no text at
// hand.
void addExcerpt(Diagnostic& diagnostic, const Command& command) {
  if (diagnostic.place.line == 0 || diagnostic.place.column == 0) return;
  const bool prompt = diagnostic.place.file == "<prompt>" && command.has("rest");
  std::vector<std::string>& notes = diagnostic.notes;
  for (size_t i = 0; i < notes.size(); ++i) {
    if (notes[i].find('^') == std::string::npos) continue;
    if (!prompt || i == 0) return;
    // The parser saw the expression alone; here the whole line is known.
    notes.erase(notes.begin() + static_cast<ptrdiff_t>(i) - 1, notes.begin() + static_cast<ptrdiff_t>(i) + 1);
    break;
  }
  std::string text;
  if (prompt) {
    text = command.text("rest");
  } else {
    Result<MappedFile> file = MappedFile::open(diagnostic.place.file);
    if (!file.ok() || file->size() > (1 << 24)) return;
    text = std::string(file->bytes());
  }
  size_t begin = 0;
  for (uint32_t line = 1; line < diagnostic.place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return;
    ++begin;
  }
  const std::string line = text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
  const size_t column = diagnostic.place.column - 1;
  if (column > line.size() || line.size() > 300) return;
  std::string caret;
  for (size_t i = 0; i < column; ++i) caret += line[i] == '\t' ? '\t' : ' ';
  diagnostic.notes.insert(diagnostic.notes.begin(), {"    " + line, "    " + caret + "^"});
}

Result<View> callHandler(SessionState& state, const Command& command, Outcome& outcome) {
  return guarded([&] { return kHandlers[static_cast<size_t>(command.id)](state, command, outcome); });
}

}  // namespace

std::shared_ptr<const Outcome> runCommand(SessionState& state, const Command& command, Ticket ticket) {
  auto outcome = std::make_shared<Outcome>();
  outcome->ticket = ticket;
  outcome->command = command;
  const int64_t start = steadyNs();
  ReadFiles files;
  Status checked = checkCommand(command);
  if (checked.ok()) {
    noteFiles(state, command, files);
    checked = checkOutputs(state, command, files);
  }
  if (!checked.ok()) {
    outcome->error = checked.error();
  } else {
    const CommandSpec& spec = commandSpec(command.id);
    const bool undoable = spec.undoable == Undoable::yes;
    UndoStep step;
    if (undoable) step = {state.now, state.values.mark(), toLine(command)};
    const ReadFilesScope scope(files, ReadFilesScope::Nesting::alone);
    Result<View> view = callHandler(state, command, *outcome);
    if (view.ok()) {
      outcome->view = *std::move(view);
      if (undoable) state.undo.push(std::move(step), state.values);
    } else {
      outcome->error = view.error();
      if (undoable) {
        state.now = std::move(step.before);
        state.values.rollback(step.valuesMark);
      }
      if (!outcome->error->place.known()) outcome->error->place = command.place;
    }
  }
  if (outcome->error) addExcerpt(*outcome->error, command);
  if (outcome->error && command.id != CommandId::explain) state.lastError = outcome->error;
  outcome->timeNs = steadyNs() - start;
  return outcome;
}

Result<LoadedModel*> SessionState::opened() const {
  if (now.model) return now.model.get();
  return makeError(DiagnosticId::usageError, "no model is loaded").note("load one by :load FILE");
}

Result<LoadedModel*> SessionState::model() const {
  DYN_TRY(LoadedModel * loaded, opened());
  if (loaded->problems().empty()) return loaded;
  Error first;
  first.diagnostic() = loaded->problems().front();
  if (const size_t others = loaded->problems().size() - 1; others > 0)
    first.diagnostic().notes.push_back("and " + std::to_string(others) + " more: :check lists all");
  return first;
}

Result<LoadedModel*> SessionState::modelWithPasses() const {
  DYN_TRY(LoadedModel * loaded, model());
  DYN_CHECK(loaded->ensurePasses());
  return loaded;
}

Result<PreparedRun> SessionState::prepare(CallInputs inputs) {
  DYN_TRY(LoadedModel * loaded, model());
  const auto specialised = [&] {
    if (!now.specialisations) now.specialisations = std::make_shared<Specialisations>(*loaded, now.options);
    return now.specialisations->prepare(std::move(inputs), interruption.flag(),
                                        [&](const std::string& text) { log(text); });
  };
  if (!inputs.overrides.empty()) return specialised();
  if (!now.runner) {
    progress("compiling " + loaded->info().path);
    if (loaded->hasModule()) {
      const Status passes = loaded->ensurePasses();
      if (!passes.ok() && canSpecialise(*loaded, passes.error())) return specialised();
    }
    DYN_TRY(Runner made, makeRunner(*loaded, now.options));
    now.runner = std::make_shared<Runner>(std::move(made));
  }
  return PreparedRun{loaded, now.runner.get(), std::move(inputs), 0};
}

std::vector<std::pair<std::string, Type>> SessionState::ports() const {
  std::vector<std::pair<std::string, Type>> ports;
  if (!now.model) return ports;
  for (const Port& port : now.model->signature().inputs) ports.emplace_back(port.info.name, port.type);
  for (const Port& port : now.model->signature().outputs) ports.emplace_back(port.info.name, port.type);
  return ports;
}

}  // namespace dyn
