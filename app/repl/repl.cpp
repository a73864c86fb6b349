#include "app/repl/repl.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "app/repl/line_editor.h"
#include "app/session/view_text.h"

namespace dyn {

namespace {

constexpr const char* kBanner = "Dyn 0.1.0  :help shows the commands, Ctrl-D leaves\n";

volatile sig_atomic_t stopWanted = 0;
void noteStop(int) { stopWanted = stopWanted + 1; }

// stdout and stderr come from two threads (results, and notes of a run): one at a time, and never after the reader went away.
void write(int descriptor, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

bool colorWanted(int descriptor) {
  const char* no = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return !(no && *no) && ::isatty(descriptor) && terminal && std::string(terminal) != "dumb";
}

int widthOfTerminal() {
  winsize size{};
  return ::ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 100;
}

class Shell {
 public:
  explicit Shell(bool interactive) : interactive_(interactive), session_(options()) {
    text_.color = interactive && colorWanted(1);
    session_.setListener([this](const Event& event) { onEvent(event); });
  }

  int run() { return interactive_ ? runInteractive() : runPiped(); }

 private:
  static SessionOptions options() {
    SessionOptions options;
    options.cacheDirectory = defaultCacheDirectory();
    return options;
  }

  void onEvent(const Event& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool terminal = interactive_ && ::isatty(2);
    if (event.kind == EventKind::log) {
      clearProgress();
      write(2, event.text + "\n");
    } else if (event.kind == EventKind::started) {
      start_ = std::chrono::steady_clock::now();
    } else if (event.kind == EventKind::progress && terminal) {
      if (std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
      write(2, "\r\033[K" + event.text);
      progressShown_ = true;
    } else if (event.kind == EventKind::finished) {
      clearProgress();
      if (event.outcome && event.outcome->ticket == 0) show(*event.outcome);  // inside :source
    }
  }

  void clearProgress() {
    if (progressShown_) write(2, "\r\033[K");
    progressShown_ = false;
  }

  void show(const Outcome& outcome) {
    if (const SettingTable* settings = outcome.as<SettingTable>()) applySettings(*settings, text_);
    text_.width = widthOfTerminal();
    write(1, toText(outcome.view, text_));
    TextOptions diagnostics = text_;
    diagnostics.color = interactive_ && colorWanted(2);
    for (const Diagnostic& warning : outcome.warnings) {
      Diagnostic shown = warning;
      if (shown.severity == Severity::error) shown.severity = Severity::warning;
      write(2, toText(shown, diagnostics));
    }
    for (const Diagnostic& more : outcome.more)
      if (!outcome.error || more.message != outcome.error->message) write(2, toText(more, diagnostics));
    if (outcome.error) write(2, toText(*outcome.error, diagnostics));
  }

  void showError(const Diagnostic& diagnostic) {
    TextOptions options = text_;
    options.color = interactive_ && colorWanted(2);
    write(2, toText(diagnostic, options));
  }

  // Waits for the command; Ctrl-C ends it, twice within two seconds leaves the shell.
  std::shared_ptr<const Outcome> execute(Command command) {
    struct sigaction action {
    }, previous{};
    if (interactive_) {
      action.sa_handler = noteStop;
      stopWanted = 0;
      ::sigaction(SIGINT, &action, &previous);
    }
    const Ticket ticket = session_.submit(std::move(command));
    std::shared_ptr<const Outcome> outcome;
    int asked = 0;
    auto askedAt = std::chrono::steady_clock::now();
    while (!(outcome = session_.waitFor(ticket, std::chrono::milliseconds(20)))) {
      if (stopWanted <= asked) continue;
      const auto now = std::chrono::steady_clock::now();
      if (asked > 0 && now - askedAt < std::chrono::seconds(2)) {
        write(2, "\n");
        ::_exit(130);  // what runs does not listen
      }
      asked = stopWanted;
      askedAt = now;
      session_.interrupt();
    }
    if (interactive_) ::sigaction(SIGINT, &previous, nullptr);
    return outcome;
  }

  // False when the shell is to end.
  bool handle(const std::string& line, int& exitCode) {
    Result<Command> command = parseCommand(line);
    if (!command.ok()) {
      showError(command.error());
      exitCode = dyn::exitCode(command.error().id);
      return true;
    }
    if (command->id == CommandId::quit) return false;
    std::shared_ptr<const Outcome> outcome = execute(*command);
    const std::lock_guard<std::mutex> lock(mutex_);
    show(*outcome);
    exitCode = outcome->exitCode();
    return true;
  }

  static bool blank(const std::string& line) {
    const size_t begin = line.find_first_not_of(" \t");
    return begin == std::string::npos || line[begin] == '#';
  }

  int runInteractive() {
    write(1, kBanner);
    LineEditor editor(historyPath(), [this](const std::string& line, size_t cursor) {
      return session_.complete(line, cursor);
    });
    std::string pending;
    for (;;) {
      std::string line;
      const LineEnd end = editor.read(pending.empty() ? "dyn> " : "...  ", line);
      if (end == LineEnd::interrupted) {
        pending.clear();
        continue;
      }
      if (end == LineEnd::endOfFile) {
        write(1, "\n");
        return 0;
      }
      if (pending.empty() && blank(line)) continue;
      pending += (pending.empty() ? "" : "\n") + line;
      if (isOpenEnded(pending)) continue;
      editor.remember(pending);
      int code = 0;
      const bool goOn = handle(pending, code);
      pending.clear();
      if (!goOn) return 0;
    }
  }

  // Piped input: stops at the first error.
  int runPiped() {
    std::string pending;
    char* text = nullptr;
    size_t capacity = 0;
    ssize_t length = 0;
    uint32_t number = 0, begin = 0;
    int code = 0;
    bool goOn = true;
    while (goOn && code == 0 && (length = ::getline(&text, &capacity, stdin)) > 0) {
      std::string line(text, static_cast<size_t>(length));
      while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
      ++number;
      if (pending.empty() && blank(line)) continue;
      if (pending.empty()) begin = number;
      pending += (pending.empty() ? "" : "\n") + line;
      if (isOpenEnded(pending)) continue;
      goOn = handle(pending, code);
      if (code != 0) write(2, "<stdin>:" + std::to_string(begin) + ": stopped here\n");
      pending.clear();
    }
    std::free(text);
    if (code == 0 && goOn && !pending.empty()) {
      showError(makeError(DiagnosticId::textSyntax, "a bracket or quote is not closed",
                          {.file = "<stdin>", .line = begin})
                    .diagnostic);
      code = 1;
    }
    return code;
  }

  bool interactive_;
  std::mutex mutex_;
  TextOptions text_;
  bool progressShown_ = false;
  std::chrono::steady_clock::time_point start_;
  Session session_;  // last: its thread must end before what it calls
};

}  // namespace

int runRepl() {
  ::signal(SIGPIPE, SIG_IGN);
  return Shell(::isatty(0) && ::isatty(1)).run();
}

}  // namespace dyn
