#include "app/batch/output.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/session/views/view_json.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

using WallClock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::milliseconds(30);

Json headOf(const std::string& command) { return {{"schema", 1}, {"command", command}}; }

}  // namespace

// There is no one left to tell when this fails.
void writeStderr(const std::string& text) { (void)writeStandard(2, text); }

void BatchOutput::write(const std::string& text) {
  if (written_.ok()) written_ = writeStandard(1, text);
}

bool wantsColor(ColorChoice choice, int descriptor) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  const char* no = std::getenv("NO_COLOR");
  if (no && *no) return false;
  const char* force = std::getenv("FORCE_COLOR");
  if (force && *force && std::string(force) != "0") return true;
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) && terminal && std::string(terminal) != "dumb";
}

void BatchOutput::openList(const std::string& name, Json fields) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!json_ || ended_) return;
  Json head = headOf(command_);
  for (auto& [key, value] : fields.items()) head[key] = std::move(value);
  std::string text = jsonText(head);
  text.pop_back();  // the bracket that closes it
  write(text + "," + jsonText(Json(name)) + ":[");
  listIsOpen_ = true;
}

void BatchOutput::add(const Json& item, const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ended_) return;
  write(json_ ? (listIsEmpty_ ? "" : ",") + jsonText(item) : text);
  listIsEmpty_ = false;
}

bool BatchOutput::writable() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return written_.ok();
}

void BatchOutput::print(Json fields, const Diagnostic* error, const std::string& text) {
  {
    // Who holds the lock for long writes to someone who does not read: there is no use in writing more.
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    for (const auto begin = WallClock::now(); !lock.owns_lock() && WallClock::now() - begin < kPatience;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      (void)lock.try_lock();
    }
    if (lock.owns_lock()) {
      ended_ = true;
      Json document = listIsOpen_ ? Json::object() : headOf(command_);
      for (auto& [key, value] : fields.items()) document[key] = std::move(value);
      if (error) document["error"] = toJson(*error);
      if (!json_)
        write(text);
      else if (!listIsOpen_)
        write(jsonText(document) + "\n");
      else
        write("]" + (document.empty() ? "}" : "," + jsonText(document).substr(1)) + "\n");
    }
  }
  if (error) showError(*error);
}

void BatchOutput::showError(const Diagnostic& diagnostic) const {
  TextOptions options = text_;
  options.color = wantsColor(text_.color ? ColorChoice::always : ColorChoice::automatic, 2) && text_.color;
  writeStderr(toText(diagnostic, options));
}

int BatchOutput::result(Json fields, const std::string& text) {
  print(std::move(fields), nullptr, text);
  if (written_.ok()) return 0;
  showError(written_.error());
  return exitCode(written_.error().id);
}

int BatchOutput::failure(const Diagnostic& diagnostic) { return failure(diagnostic, Json::object(), ""); }

int BatchOutput::failure(const Diagnostic& diagnostic, Json fields, const std::string& text) {
  print(std::move(fields), &diagnostic, text);
  return exitCode(diagnostic.id);
}

void BatchOutput::warnings(const std::vector<Diagnostic>& warnings) const {
  for (const Diagnostic& warning : warnings) {
    Diagnostic shown = warning;
    if (shown.severity == Severity::error) shown.severity = Severity::warning;
    writeStderr(toText(shown, text_));
  }
}

}  // namespace dyn
