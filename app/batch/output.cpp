#include "app/batch/output.h"

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/session/view_json.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

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

void BatchOutput::print(nlohmann::ordered_json fields, const Diagnostic* error, const std::string& text) {
  if (!json_) {
    write(text);
  } else {
    nlohmann::ordered_json document = {{"schema", 1}, {"command", command_}};
    for (auto& [key, value] : fields.items()) document[key] = std::move(value);
    if (error) document["error"] = toJson(*error);
    write(jsonText(document) + "\n");
  }
  if (error) showError(*error);
}

void BatchOutput::showError(const Diagnostic& diagnostic) const {
  TextOptions options = text_;
  options.color = wantsColor(text_.color ? ColorChoice::always : ColorChoice::automatic, 2) && text_.color;
  writeStderr(toText(diagnostic, options));
}

int BatchOutput::result(nlohmann::ordered_json fields, const std::string& text) {
  print(std::move(fields), nullptr, text);
  if (written_.ok()) return 0;
  showError(written_.error());
  return exitCode(written_.error().id);
}

int BatchOutput::failure(const Diagnostic& diagnostic) {
  return failure(diagnostic, nlohmann::ordered_json::object(), "");
}

int BatchOutput::failure(const Diagnostic& diagnostic, nlohmann::ordered_json fields,
                         const std::string& text) {
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
