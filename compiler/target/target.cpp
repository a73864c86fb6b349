#include "compiler/target/target.h"

#include <algorithm>
#include <iterator>

namespace dyn {
namespace {

constexpr std::string_view kFirstLine = "dyn-target 1", kMachineFirstLine = "dyn-machine 1";
constexpr std::string_view kMachinePrefix = "machine.";

struct Capability {
  std::string_view key;
  bool Target::*member;
};
constexpr Capability kCapabilities[] = {{"heap", &Target::hasHeap},
                                        {"threads", &Target::hasThreads},
                                        {"files", &Target::hasFiles},
                                        {"builtins", &Target::hasBuiltins}};

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

// One line that is not the machine's; what is wrong with it, or "".
std::string readLine(std::string_view line, Target& target) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return "expected 'key = value'";
  const std::string_view key = trim(line.substr(0, equals)), value = trim(line.substr(equals + 1));
  const std::string bad = "bad value '" + std::string(value) + "' of '" + std::string(key) + "'";
  if (key == "device") {
    const DeviceRow* row = findDevice(value);
    if (!row || row->isSimulated()) return bad;
    target.device = row->kind;
    return "";
  }
  if (key == "objectFormat") {
    target.objectFormat = value;
    return value == "elf" ? "" : bad;
  }
  if (key == "levels") {
    for (std::string_view rest = value; !rest.empty();) {
      const size_t end = std::min(rest.find(','), rest.size());
      target.levels.emplace_back(trim(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return target.levels.empty() ? bad : "";
  }
  for (const Capability& row : kCapabilities) {
    if (row.key != key) continue;
    target.*row.member = value == "yes";
    return value == "yes" || value == "no" ? "" : bad;
  }
  return "unknown key '" + std::string(key) + "'";
}

}  // namespace

std::string printTarget(const Target& target) {
  std::string text(kFirstLine);
  text +=
      "\ndevice = " + std::string(toString(target.device)) + "\nobjectFormat = " + target.objectFormat + "\n";
  for (const Capability& row : kCapabilities)
    text += std::string(row.key) + " = " + (target.*row.member ? "yes" : "no") + "\n";
  for (size_t i = 0; i < target.levels.size(); ++i)
    text += (i ? ", " : "levels = ") + target.levels[i] + (i + 1 == target.levels.size() ? "\n" : "");
  std::string machine = printMachine(target.machine);
  machine.erase(0, machine.find('\n') + 1);
  for (std::string_view rest = machine; !rest.empty();) {
    const size_t end = rest.find('\n') + 1;
    text += std::string(kMachinePrefix) + std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return text;
}

Result<Target> parseTarget(std::string_view text, std::string_view fileName) {
  Target target;
  if (trim(text.substr(0, text.find('\n'))) == kMachineFirstLine) {
    DYN_TRY(target.machine, parseMachine(text, fileName));
    return target;
  }
  SourceLocation place;
  place.file = fileName;
  // The machine's lines, each where it stands in the file.
  std::string machine(kMachineFirstLine);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++place.line;
    if (place.line == 1) {
      if (line != kFirstLine) break;
      continue;
    }
    machine += '\n';
    if (line.empty() || line.front() == '#') continue;
    if (line.substr(0, kMachinePrefix.size()) == kMachinePrefix) {
      machine += line.substr(kMachinePrefix.size());
      continue;
    }
    const std::string fault = readLine(line, target);
    if (!fault.empty()) return makeError(DiagnosticId::fileFormat, fault, place);
  }
  if (place.line < 2)
    return makeError(DiagnosticId::fileFormat, "a target starts with '" + std::string(kFirstLine) + "'",
                     {.file = place.file, .line = 1});
  DYN_TRY(target.machine, parseMachine(machine, fileName));
  return target;
}

}  // namespace dyn
