#include "app/batch/batch.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "app/batch/verbs.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/view_json.h"
#include "compiler/support/standard_streams.h"
#include "compiler/support/trusted_folder.h"
#include "vm/include/dynvm.h"

namespace dyn {

namespace {

int terminalWidth() {
  winsize size{};
  return ::ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 100;
}

// Notes go to stderr at once; progress only to a terminal, on one line, after a second.
class EventPrinter {
 public:
  EventPrinter(const BatchRequest& request, BatchOutput& output)
      : output_(output),
        notes_(!request.has("quiet")),
        progress_(!request.has("quiet") && (request.has("progress") || ::isatty(2))),
        verbose_(request.has("verbose")),
        terminal_(::isatty(2)) {}

  void operator()(const Event& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (event.kind == EventKind::log && notes_) {
      clearLine();
      writeStderr(event.text + "\n");
    } else if (event.kind == EventKind::text && !output_.json()) {
      clearLine();
      output_.add({}, event.text);
    } else if (event.kind == EventKind::progress && progress_) {
      if (event.live && !terminal_) return;  // ten lines a second are for eyes
      const auto now = std::chrono::steady_clock::now();
      if (now - start_ < std::chrono::seconds(1) && !verbose_) return;
      std::string text = event.text;
      if (event.fraction >= 0) text += " (" + std::to_string(static_cast<int>(event.fraction * 100)) + "%)";
      writeStderr(terminal_ ? "\r\033[K" + text : text + "\n");
      shown_ = terminal_;
    } else if (event.kind == EventKind::finished) {
      clearLine();
      if (const ModelInfo* info = event.outcome ? event.outcome->as<ModelInfo>() : nullptr;
          verbose_ && info && !info->tuning.empty())
        writeStderr("versions from " + info->tuning + "\n");
      if (verbose_ && event.outcome)
        writeStderr(toLine(event.outcome->command) + ": " + durationText(event.outcome->timeNs) + "\n");
    }
  }

 private:
  void clearLine() {
    if (shown_) writeStderr("\r\033[K");
    shown_ = false;
  }
  std::mutex mutex_;
  BatchOutput& output_;
  bool notes_, progress_, verbose_, terminal_, shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int dispatch(const BatchContext& context) {
  using Verb = int (*)(const BatchContext&);
  static constexpr Verb kVerbs[] = {
#define DYN_VERB(id, name, start, help, example) verb_##id,
#include "app/session/command_line.def"
  };
  return kVerbs[static_cast<size_t>(context.request.verb->id)](context);
}

// With -v: a cache that is not used is no fault, but work is done again each time. "": it is used, or off on
// request.
std::string whyNothingIsCached(const BatchRequest& request) {
  const std::string& folder = request.session.cacheDirectory;
  if (folder.empty() || folder == "none") return "";
  std::string why = whyNotTrusted(folder);
  if (why.empty() && ::access(folder.c_str(), W_OK) != 0) why = "it cannot be written";
  return why.empty() ? "" : "nothing is cached in " + folder + ": " + why;
}

// A file that is only checked, or that a program names, may be anybody's: what it would take without end is
// not waited for. A server limits the time of its calls itself.
WatchdogLimits limitsOf(const BatchRequest& request) {
  constexpr double kCheckSeconds = 120;
  WatchdogLimits limits{request.real("time-limit", 0), request.session.memoryLimitBytes};
  const bool checks = request.verb->id == VerbId::inspect && request.has("check");
  if (checks && limits.timeSeconds == 0) {
    limits.timeSeconds = kCheckSeconds;
    limits.timeNote = "a check ends then; --time-limit gives it longer";
  }
  const bool bounded = checks || request.verb->id == VerbId::mcp;
  if (bounded && limits.memoryBytes == 0 && dyn_usable_memory() != UINT64_MAX) {
    limits.memoryBytes = dyn_usable_memory() / 2;
    limits.memoryNote = std::string(checks ? "a check" : "a server") +
                        " takes at most half of the usable memory; --mem-limit gives it more";
  }
  return limits;
}

ColorChoice colorChoice(const BatchRequest& request) {
  const std::string word = request.text("color");
  return word == "always"  ? ColorChoice::always
         : word == "never" ? ColorChoice::never
                           : ColorChoice::automatic;
}

}  // namespace

std::shared_ptr<const Outcome> BatchContext::execute(Command command) const {
  std::shared_ptr<const Outcome> outcome = session->execute(std::move(command));
  const std::shared_ptr<const Diagnostic> reason = watchdog ? watchdog->reason() : nullptr;
  if (outcome->ok() || !reason) return outcome;
  auto ended = std::make_shared<Outcome>(*outcome);
  ended->error = *reason;
  return ended;
}

int BatchContext::fail(const Outcome& outcome) const { return fail(*outcome.error); }

int BatchContext::fail(const Diagnostic& diagnostic) const {
  if (!output.claim()) ::pause();  // the watchdog is printing and ends the process
  // What ended the command reads the same whichever thread was faster to print it: it has no place in a file.
  const std::shared_ptr<const Diagnostic> reason = watchdog ? watchdog->reason() : nullptr;
  return output.failure(reason ? *reason : diagnostic);
}

int runBatch(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no further is an error of the write
  ParsedArguments parsed = parseArguments(argc, argv);
  if (!parsed.request) {
    if (parsed.json && parsed.exitCode != 0) {
      Diagnostic diagnostic = makeError(DiagnosticId::usageError, parsed.toStderr).diagnostic();
      nlohmann::ordered_json document = {
          {"schema", 1}, {"command", parsed.command}, {"error", toJson(diagnostic)}};
      parsed.toStdout = jsonText(document) + "\n" + parsed.toStdout;
    }
    const Status written = writeStandard(1, parsed.toStdout);
    if (!parsed.toStderr.empty()) writeStderr("dynrepl: " + parsed.toStderr + "\n");
    if (written.ok()) return parsed.exitCode;
    writeStderr("dynrepl: " + written.error().message + "\n");
    return exitCode(written.error().id);
  }
  const BatchRequest& request = *parsed.request;
  TextOptions text;
  text.color = wantsColor(colorChoice(request), 1);
  text.width = terminalWidth();
  text.fitted = ::isatty(1);
  BatchOutput output(request.has("json") || request.text("format") == "json", parsed.command, text);
  if (request.settingFault) return output.failure(*request.settingFault);
  if (request.verb->start != VerbStart::session) return dispatch({request, output});
  blockSignals();
  Session session(request.session);
  EventPrinter printer(request, output);
  if (request.verb->id != VerbId::script && request.verb->id != VerbId::lines)
    session.setListener([&printer](const Event& event) { printer(event); });
  int code = 0;
  {
    const Result<std::unique_ptr<Watchdog>> watchdog = Watchdog::start(
        limitsOf(request), {[&session] { session.interrupt(); }, [&output] { return output.claim(); },
                            [&output](const Diagnostic& fault) { return output.failure(fault); }});
    if (!watchdog.ok()) return output.failure(watchdog.error());
    code = dispatch({request, output, &session, watchdog->get()});
    if (request.has("verbose")) {
      if (const std::string why = whyNothingIsCached(request); !why.empty()) writeStderr(why + "\n");
      if (const std::string limits = dyn_usable_limits(); !limits.empty())
        writeStderr("not all of the machine is usable: " + limits + "\n");
    }
  }
  return code;
}

}  // namespace dyn
