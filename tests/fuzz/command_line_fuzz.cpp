// libFuzzer: any bytes as a script of shell commands. Nothing is executed. A line that is a command is
// written back to a line that is the same command.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/session/command.h"
#include "tests/fuzz/replay/fuzz_target.h"

namespace {

using namespace dyn;

bool tryLine(const std::string& line) {
  (void)isOpenEnded(line);
  const Result<Command> command = parseCommand(line);
  if (!command.ok()) return false;
  (void)checkCommand(*command);
  for (const auto& [name, values] : command->arguments) {
    (void)command->integer(name, 0);
    (void)command->number(name, 0);
    for (const std::string& value : values) (void)parseBytes(value);
  }
  const Result<Command> again = parseCommand(toLine(*command));
  if (!again.ok() || !(*again == *command)) std::abort();
  return true;
}

}  // namespace

bool dyn::fuzz::tryInput(const uint8_t* data, size_t size) {
  if (size > 1 << 14) return false;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool accepted = tryLine(std::string(text));
  const Result<std::vector<ScriptLine>> lines = splitScript(text, "fuzz.dyns");
  if (lines.ok())
    for (const ScriptLine& line : *lines) accepted |= tryLine(line.text);
  return accepted;
}
