#include "app/repl/repl.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "app/engine/device/launch_counts.h"
#include "app/repl/init_file.h"
#include "app/repl/line_editor.h"
#include "app/repl/pager.h"
#include "app/repl/piped_lines.h"
#include "app/repl/signal_watch.h"
#include "app/session/history_file.h"
#include "app/session/script_reader.h"
#include "app/session/supervisor.h"
#include "app/session/views/shell_views.h"
#include "app/session/views/stop_views.h"
#include "app/session/views/text/picture_text.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

namespace {

constexpr const char* kBanner = "Dyn " DYN_VERSION "  :help shows the commands, Ctrl-D leaves\n";

constexpr int kInterruptedCode = 130;
constexpr auto kQuiet = std::chrono::seconds(1);  // a wait that needs no word
// What does not listen within this time after a signal is left behind.
constexpr auto kPatience = std::chrono::milliseconds(80);

// stdout and stderr come from two threads (results, and notes of a run): one at a time, and never after the
// reader went away.
void write(int descriptor, const std::string& text) { (void)writeStandard(descriptor, text); }

bool colorWanted(int descriptor) {
  const char* no = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return !(no && *no) && ::isatty(descriptor) && terminal && std::string(terminal) != "dumb";
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool hasTrueColor() {
  const std::string depth = environment("COLORTERM");
  return depth == "truecolor" || depth == "24bit";
}

// By what terminals say of themselves; tmux and screen pass neither protocol on.
TextOptions::Pictures picturesOfTerminal() {
  const std::string terminal = environment("TERM"), program = environment("TERM_PROGRAM");
  if (terminal.starts_with("tmux") || terminal.starts_with("screen")) return TextOptions::Pictures::blocks;
  if (terminal == "xterm-kitty" || terminal == "xterm-ghostty" || program == "WezTerm")
    return TextOptions::Pictures::kitty;
  if (terminal.starts_with("foot") || terminal.starts_with("mlterm") ||
      terminal.find("sixel") != std::string::npos)
    return TextOptions::Pictures::sixel;
  return TextOptions::Pictures::blocks;
}

int widthOfTerminal() {
  winsize size{};
  return ::ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 100;
}

int heightOfTerminal() {
  winsize size{};
  return ::ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_row >= 4 ? size.ws_row : 24;
}

class Shell {
 public:
  // record: of what is to be done again after a crash; null: none is kept.
  explicit Shell(bool interactive, CommandRecord* record = nullptr)
      : interactive_(interactive), record_(record), session_(options()) {
    text_.color = interactive && colorWanted(1);
    text_.trueColor = hasTrueColor();
    text_.terminalPictures = text_.color ? picturesOfTerminal() : TextOptions::Pictures::off;
    text_.pictures = text_.terminalPictures;
    const char* terminal = std::getenv("TERM");
    if (interactive && terminal && std::string(terminal) != "dumb") pager_ = pagerCommand();
    text_.mostLines = interactive && pager_.empty() ? 40 : 0;
    session_.setListener([this](const Event& event) { onEvent(event); });
  }

  // What the start asks for comes first; behind a crash, what the shell before it held, and nothing else:
  // what crashed once crashes again.
  int runInteractive(const Restart& restart, const ShellStart& start) {
    const bool isFirst = restart.crash.empty();
    if (isFirst)
      write(1, kBanner);
    else if (!restart.commands.empty())
      restore(restart.commands);
    bool crashed = false;
    for (const std::string& line : startLines(start)) {
      int code = 0;
      crashed |= line == restart.running;
      if (isFirst)
        handle(line, code);
      else if (crashed)
        write(2, "not done again by itself: " + line + "\n");
    }
    return readLines();
  }

  // Piped input: stops at the first error.
  int runPiped(const ShellStart& start) {
    PipedLines lines(signals_);
    std::string pending, line;
    OpenEnd openEnd;
    uint32_t number = 0, begin = 0;
    int code = 0;
    bool goOn = start.command.empty() || handle(start.command, code);
    while (goOn && code == 0) {
      const LineEnd end = lines.next(line);
      if (end == LineEnd::endOfFile) break;
      if (end != LineEnd::line) leave();
      ++number;
      if (pending.empty() && blank(line)) continue;
      if (pending.empty()) begin = number;
      pending.append(pending.empty() ? "" : "\n").append(line);
      openEnd.add(line);
      if (openEnd.isOpen()) continue;
      openEnd = {};
      goOn = handle(pending, code);
      if (code != 0) write(2, "<stdin>:" + std::to_string(begin) + ": stopped here\n");
      pending.clear();
    }
    if (ended_) return kInterruptedCode;
    if (code == 0 && goOn && !pending.empty()) {
      showError(makeError(DiagnosticId::textSyntax, "a bracket or quote is not closed",
                          {.file = "<stdin>", .line = begin})
                    .diagnostic());
      code = 1;
    }
    return code;
  }

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
      write(2,
            (terminal ? wrapped(event.text, static_cast<size_t>(widthOfTerminal()), 2) : event.text) + "\n");
    } else if (event.kind == EventKind::text) {
      clearProgress();
      isTextShown_ = true;
      if (Status status = writeStandard(1, event.text); !status.ok() && written_.ok())
        written_ = std::move(status);
    } else if (event.kind == EventKind::started) {
      start_ = std::chrono::steady_clock::now();
      progress_.clear();
    } else if (event.kind == EventKind::progress && terminal) {
      progress_ = event.text;
      if (std::chrono::steady_clock::now() - start_ < kQuiet) return;
      write(2, "\r\033[K" + event.text);
      progressShown_ = true;
    } else if (event.kind == EventKind::finished) {
      clearProgress();
      if (event.outcome && event.outcome->ticket == 0) show(*event.outcome);  // inside :source
    }
  }

  // What takes longer than a second says what it does, and since when, also where no news come of it.
  void showWaiting() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!interactive_ || !::isatty(2) || now - start_ < kQuiet || now - waitingShown_ < kQuiet) return;
    waitingShown_ = now;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
    const std::string text =
        (progress_.empty() ? "working" : progress_) + "  " + std::to_string(seconds) + " s";
    write(2, "\r\033[K" + shortened(text, static_cast<size_t>(widthOfTerminal()) - 1));
    progressShown_ = true;
  }

  void clearProgress() {
    if (progressShown_) write(2, "\r\033[K");
    progressShown_ = false;
  }

  void show(const Outcome& outcome) {
    if (const SettingTable* settings = outcome.as<SettingTable>()) applySettings(*settings, text_);
    text_.width = widthOfTerminal();
    text_.fitted = interactive_;
    // What came piece by piece is there already.
    const std::string text = std::exchange(isTextShown_, false) ? "" : toText(outcome.view, text_);
    if (!pages(text))
      if (Status status = writeStandard(1, text); !status.ok() && written_.ok()) written_ = std::move(status);
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

  // What is longer than the terminal, in pages; false: not shown yet.
  bool pages(const std::string& text) {
    // Lines that are typed already would be keys of the pager.
    int typedBytes = 0;
    if (::ioctl(0, FIONREAD, &typedBytes) == 0 && typedBytes > 0) return false;
    // A pager would show the bytes of pixels.
    if (hasPixels(text) || pager_.empty() || !paging_ ||
        std::count(text.begin(), text.end(), '\n') < heightOfTerminal())
      return false;
    const Paged paged = showByPager(pager_, text, signals_);
    if (paged == Paged::ended) ended_ = true;
    if (paged == Paged::notStarted) {
      write(2, "the pager '" + pager_ + "' could not be started; $DYN_PAGER names another\n");
      pager_.clear();
    }
    return paged != Paged::notStarted;
  }

  void showError(const Diagnostic& diagnostic) {
    TextOptions options = text_;
    options.color = interactive_ && colorWanted(2);
    write(2, toText(diagnostic, options));
  }

  // Waits for the command. On a terminal Ctrl-C ends it, and twice within two seconds the shell; a signal to
  // end, or Ctrl-C on piped input, ends both.
  std::shared_ptr<const Outcome> execute(Command command) {
    using Clock = std::chrono::steady_clock;
    const Ticket ticket = session_.submit(std::move(command));
    std::shared_ptr<const Outcome> outcome;
    std::optional<Clock::time_point> asked;
    while (!(outcome = session_.waitFor(ticket, std::chrono::milliseconds(10)))) {
      showWaiting();
      while (const int signal = signals_.take()) {
        if (signal == SIGTSTP) signals_.suspend();
        if (signal != SIGINT && !SignalWatch::ends(signal)) continue;
        const bool again = asked && Clock::now() - *asked < std::chrono::seconds(2);
        if (interactive_ && signal == SIGINT && again) leave();
        if (!interactive_ || signal != SIGINT) ended_ = true;
        asked = Clock::now();
        session_.interrupt();
      }
      if (ended_ && Clock::now() - *asked > kPatience) leave();
    }
    return outcome;
  }

  // At once, whatever runs.
  [[noreturn]] void leave() {
    write(2, interactive_ ? "\n" : "interrupted\n");
    ::_exit(kInterruptedCode);
  }

  // The commands that made what another shell held, without what they say.
  void restore(const std::vector<std::string>& lines) {
    std::vector<Command> commands;
    size_t lastLoad = 0;
    bool undoes = false;  // what is taken back has to be there
    for (const std::string& line : lines) {
      Result<Command> command = parseCommand(line);
      if (!command.ok()) continue;
      if (command->id == CommandId::load) lastLoad = commands.size();
      undoes |= command->id == CommandId::undo;
      commands.push_back(*std::move(command));
    }
    size_t done = 0, wanted = 0;
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].id == CommandId::load && i < lastLoad && !undoes) continue;
      ++wanted;
      done += recorded(commands[i])->ok();
    }
    write(2, "started anew: " + std::to_string(done) + " of " + std::to_string(wanted) +
                 " commands were done again (:info, :vars and :set show what is there)\n");
  }

  // The init file and the command of the start, as the record of commands has them.
  static std::vector<std::string> startLines(const ShellStart& start) {
    std::vector<std::string> lines;
    std::string why;
    const std::string file = start.initFile ? initFile(why) : "";
    if (!why.empty()) write(2, why + "\n");
    if (!file.empty()) lines.push_back(toLine(Command::of(CommandId::source).add("file", file)));
    if (start.command.empty()) return lines;
    const Result<Command> command = parseCommand(start.command);
    lines.push_back(command.ok() ? toLine(*command) : start.command);
    return lines;
  }

  // As execute(); what changes the session is noted for the case of a crash.
  std::shared_ptr<const Outcome> recorded(Command command) {
    const bool changes = changesSession(command);
    if (record_) record_->begin(toLine(command));
    std::shared_ptr<const Outcome> outcome = execute(std::move(command));
    if (record_) record_->end(changes && outcome->ok());
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
    std::shared_ptr<const Outcome> outcome = recorded(*command);
    const std::lock_guard<std::mutex> lock(mutex_);
    repeat_ = goesOnByEnter(*command, *outcome) ? line : "";
    paging_ = interactive_ && !inScript_;
    show(*outcome);
    paging_ = false;
    exitCode = outcome->exitCode();
    if (!interactive_ && exitCode == 0 && !written_.ok()) {
      showError(written_.error());
      exitCode = dyn::exitCode(written_.error().id);
    }
    return !ended_;
  }

  // Steps of a run that still stands are repeated by Enter.
  static bool goesOnByEnter(const Command& command, const Outcome& outcome) {
    static constexpr CommandId kSteps[] = {CommandId::next,  CommandId::step,   CommandId::stepi,
                                           CommandId::nexti, CommandId::finish, CommandId::continue_,
                                           CommandId::stepw, CommandId::nextw};
    if (std::find(std::begin(kSteps), std::end(kSteps), command.id) == std::end(kSteps)) return false;
    const StopView* stop = outcome.as<StopView>();
    return outcome.ok() && (stop ? !stop->ended : outcome.as<WarpView>() != nullptr);
  }

  // Several lines in one, pasted or recalled: they are done one after the other, up to the first error. A
  // :quit among them does not end the shell. False when the shell is to end.
  bool handleText(const std::string& text) {
    Result<std::vector<ScriptLine>> lines = splitScript(text, "<prompt>");
    if (!lines.ok()) {
      showError(lines.error());
      return true;
    }
    inScript_ = lines->size() > 1;
    bool goOn = true;
    for (size_t i = 0; i < lines->size() && goOn; ++i) {
      const std::string& line = (*lines)[i].text;
      const Result<Command> command = parseCommand(line);
      if (command.ok() && command->id == CommandId::quit) {
        write(2, "a pasted :quit is passed over: Ctrl-D or :quit leaves\n");
        continue;
      }
      int code = 0;
      goOn = handle(line, code);
      if (code == 0) continue;
      if (const size_t left = lines->size() - i - 1; left > 0)
        write(2,
              "line " + std::to_string((*lines)[i].place.line) + " of the text failed, " +
                  std::to_string(left) +
                  (left == 1 ? " command behind it was not done\n" : " commands behind it were not done\n"));
      break;
    }
    inScript_ = false;
    return goOn;
  }

  // Does the last command of the text go on?
  static bool endsOpen(const std::string& text) {
    ScriptReader reader(text, "");
    while (reader.next()) {
    }
    return reader.isOpen();
  }

  static bool blank(const std::string& line) {
    const size_t begin = line.find_first_not_of(" \t");
    return begin == std::string::npos || line[begin] == '#';
  }

  int readLines() {
    LineEditor editor(
        historyPath(),
        [this](const std::string& line, size_t cursor) { return session_.complete(line, cursor); }, signals_);
    std::string pending;
    OpenEnd openEnd;
    bool isText = false;       // of several lines, pasted or recalled
    bool leaveWanted = false;  // Ctrl-C on an empty line, and nothing since
    for (;;) {
      std::string line;
      const LineEnd end = editor.read(pending.empty() ? "dyn> " : "...  ", line);
      if (end == LineEnd::terminated) return kInterruptedCode;
      if (end == LineEnd::interrupted) {
        const bool nothingTyped = pending.empty() && line.empty();
        if (nothingTyped && leaveWanted) return kInterruptedCode;
        if (nothingTyped) write(1, "Ctrl-D or :quit leaves, Ctrl-C once more too\n");
        leaveWanted = nothingTyped;
        pending.clear();
        openEnd = {};
        isText = false;
        continue;
      }
      leaveWanted = false;
      if (end == LineEnd::endOfFile) {
        write(1, "\n");
        return 0;
      }
      const bool several = line.find('\n') != std::string::npos;
      if (pending.empty() && !several && blank(line)) {
        if (line.empty()) line = repeat_;
        if (line.empty()) continue;
      }
      pending.append(pending.empty() ? "" : "\n").append(line);
      isText |= several;
      if (!isText) openEnd.add(line);
      if (isText ? endsOpen(pending) : openEnd.isOpen()) continue;
      openEnd = {};
      if (pending != repeat_) editor.remember(pending);
      int code = 0;
      const bool goOn = isText ? handleText(pending) : handle(pending, code);
      isText = false;
      pending.clear();
      if (!goOn) return ended_ ? kInterruptedCode : 0;
    }
  }

  bool interactive_, ended_ = false;  // ended_: by a signal
  CommandRecord* record_ = nullptr;
  SignalWatch signals_;  // before the session: its threads take over what is blocked
  std::mutex mutex_;
  TextOptions text_;
  Status written_;  // what was shown
  bool progressShown_ = false, isTextShown_ = false;
  std::string progress_;   // what the command that runs said last
  std::string repeat_;     // what Enter on an empty line does again; "": nothing
  std::string pager_;      // "": none
  bool paging_ = false;    // the answer to a line that was typed is shown
  bool inScript_ = false;  // several commands are done at once
  std::chrono::steady_clock::time_point start_, waitingShown_;
  Session session_;  // last: its thread must end before what it calls
};

}  // namespace

int runRepl(const ShellStart& start) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  if (!::isatty(0) || !::isatty(1)) return Shell(false).runPiped(start);
  return supervise("shell", [&](CommandRecord& record, const Restart& restart) {
    return Shell(true, &record).runInteractive(restart, start);
  });
}

}  // namespace dyn
