#include "app/batch/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/session/view_json.h"

namespace dyn {

namespace {

void writeAll(int descriptor, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    done += static_cast<size_t>(written);
  }
}

}  // namespace

void writeStdout(const std::string& text) { writeAll(1, text); }
void writeStderr(const std::string& text) { writeAll(2, text); }

bool wantsColor(ColorChoice choice, int descriptor) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  const char* no = std::getenv("NO_COLOR");
  if (no && *no) return false;
  const char* force = std::getenv("FORCE_COLOR");
  if (force && *force && std::string(force) != "0") return true;
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) && terminal && std::string(terminal) != "dumb";
}

void BatchOutput::print(nlohmann::ordered_json fields, const Diagnostic* error,
                        const std::string& text) const {
  if (!json_) {
    writeStdout(text);
  } else {
    nlohmann::ordered_json document = {{"schema", 1}, {"command", command_}};
    for (auto& [key, value] : fields.items()) document[key] = std::move(value);
    if (error) document["error"] = toJson(*error);
    writeStdout(jsonText(document) + "\n");
  }
  if (error) {
    TextOptions options = text_;
    options.color = wantsColor(text_.color ? ColorChoice::always : ColorChoice::automatic, 2) && text_.color;
    writeStderr(toText(*error, options));
  }
}

int BatchOutput::result(nlohmann::ordered_json fields, const std::string& text) {
  print(std::move(fields), nullptr, text);
  return 0;
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
