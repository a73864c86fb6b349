// script FILE and -e 'CMD; CMD': commands of the shell in batch.
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/batch/verbs.h"
#include "app/session/script_reader.h"
#include "app/session/views/shell_views.h"
#include "app/session/views/view_json.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

constexpr uint64_t kMaxScriptBytes = uint64_t{64} << 20;

// "a; b" → lines; a `;` in brackets or quotes belongs to its command.
std::string splitSemicolons(const std::string& text) {
  std::string lines;
  int depth = 0;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '(' || c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ')' || c == ']' || c == '}')) --depth;
    lines += c == ';' && !quoted && depth <= 0 ? '\n' : c;
  }
  return lines;
}

}  // namespace

int verb_lines(const BatchContext& context) { return verb_script(context); }

int verb_script(const BatchContext& context) {
  const BatchRequest& request = context.request;
  const bool inlined = request.verb->id == VerbId::lines, quiet = request.has("quiet");
  const bool keepGoing = request.has("keep-going"), json = context.output.json();
  std::string text, name = inlined ? "-e" : request.text("file");
  if (inlined) {
    for (const std::string& line : request.all("e")) text += splitSemicolons(line) + "\n";
  } else {
    Result<MappedFile> file =
        name == "-" ? MappedFile::fromStream(0, "<stdin>", kMaxScriptBytes) : MappedFile::open(name);
    if (!file.ok()) return context.fail(file.error());
    text = std::string(file->bytes());
    if (name == "-") name = "<stdin>";
  }
  ScriptReader reader(text, name);
  if (const Status readable = reader.check(); !readable.ok()) return context.fail(readable.error());
  TextOptions options = context.output.textOptions();
  context.output.openList("results", Json::object());
  std::mutex mutex;  // events come from the session's thread
  auto show = [&](const Outcome& outcome) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (const SettingTable* settings = outcome.as<SettingTable>()) applySettings(*settings, options);
    if (!json) return context.output.add({}, toText(outcome.view, options));
    Json item = {{"line", toLine(outcome.command)}};
    Json view = toJson(outcome.view);
    for (auto& [key, value] : view.items()) item[key] = std::move(value);
    if (outcome.error) item["error"] = toJson(*outcome.error);
    context.output.add(item, "");
  };
  context.session->setListener([&](const Event& event) {
    if (event.kind == EventKind::log && !quiet) writeStderr(event.text + "\n");
    // What a :source inside the script runs.
    if (event.kind == EventKind::finished && event.outcome && event.outcome->ticket == 0) {
      show(*event.outcome);
      if (event.outcome->error) writeStderr(toText(*event.outcome->error, options));
    }
  });
  std::optional<Diagnostic> failed;
  while (const std::optional<ScriptLine> next = reader.next()) {
    const ScriptLine& line = *next;
    Result<Command> command = parseCommand(line.text);
    std::shared_ptr<const Outcome> outcome;
    std::optional<Diagnostic> error;
    if (!command.ok()) {
      error = command.takeError().at(line.place).diagnostic();
      auto made = std::make_shared<Outcome>();
      made->command = Command::of(CommandId::eval).add("rest", line.text);
      made->error = error;
      outcome = made;
    } else {
      if (command->id == CommandId::quit) break;
      command->place = line.place;
      outcome = context.execute(*command);
      error = outcome->error;
      if (error && error->place.file == "<prompt>") {
        error->place.file = line.place.file;
        error->place.line += line.place.line - 1;
      } else if (error && error->place.file != line.place.file && !line.place.file.empty()) {
        error->notes.push_back("in " + line.place.toString());
      }
    }
    show(*outcome);
    if (!context.output.writable()) break;
    if (!error) continue;
    const FaultKind kind = diagnosticRow(error->id).kind;
    const bool ended = kind == FaultKind::cancelled || kind == FaultKind::timeout;
    if (!keepGoing || ended) {
      failed = error;
      break;
    }
    writeStderr(toText(*error, options));
    if (!failed) failed = error;
  }
  context.session->setListener({});
  if (!context.output.claim()) ::pause();
  if (!failed) return context.output.result(Json::object(), "");
  if (keepGoing && !json) return exitCode(failed->id);  // it was shown where it happened
  return context.output.failure(*failed, Json::object(), "");
}

}  // namespace dyn
