// A session for one test case: lines go in, an error comes out, as a text that a table can name.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "app/session/session.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::robustness {

inline constexpr uint64_t kMegabyte = uint64_t{1} << 20;

class Shell {
 public:
  explicit Shell(uint64_t memoryLimitBytes = 256 * kMegabyte)
      : session_(SessionOptions{.threadCount = 1, .memoryLimitBytes = memoryLimitBytes}) {}

  // Writes the model and loads it.
  std::shared_ptr<const Outcome> load(const std::string& name, const std::string& bytes) {
    folder_.write(name, bytes);
    return line(":load " + (folder_ / name));
  }
  std::shared_ptr<const Outcome> line(const std::string& text,
                                      std::chrono::milliseconds patience = kPatience) {
    Result<Command> command = parseCommand(text);
    if (!command.ok()) {
      auto outcome = std::make_shared<Outcome>();
      outcome->error = command.error();
      return outcome;
    }
    const Ticket ticket = session_.submit(*command);
    if (auto outcome = session_.waitFor(ticket, patience)) return outcome;
    session_.interrupt();
    return session_.wait(ticket);
  }
  Session& session() { return session_; }
  const test::TemporaryFolder& folder() const { return folder_; }

  static constexpr std::chrono::milliseconds kPatience{20'000};

 private:
  test::TemporaryFolder folder_;
  Session session_;
};

// "" when all went well, else "E0203 the message". An internal error begins with "DEFECT".
inline std::string said(const Outcome& outcome) {
  if (!outcome.error) return "";
  const std::string text = std::string(diagnosticRow(outcome.error->id).code) + " " + outcome.error->message;
  return exitCode(outcome.error->id) == 70 || outcome.error->message.empty() ? "DEFECT " + text : text;
}

}  // namespace dyn::robustness
