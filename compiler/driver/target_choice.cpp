#include "compiler/driver/target_choice.h"

#include <algorithm>

#include "compiler/support/mapped_file.h"
#include "compiler/support/suggestion.h"

#ifdef DYN_HAVE_LLVM
#include "compiler/codegen/llvm/machine_catalog.h"
#endif

namespace dyn {

namespace {

#ifdef DYN_HAVE_LLVM
Result<Target> detectTarget() {
  Target target;
  DYN_TRY(target.machine, detectHost());
  return target;
}
Result<MachineDescription> presetOf(const std::string& name) { return machinePreset(name); }
#else
Result<Target> detectTarget() {
  Target target;
  target.machine.name = "host";
  return target;
}
Result<MachineDescription> presetOf(const std::string&) {
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: this build has no code generation (LLVM was not found when it was built)");
}
#endif

// Processors of boards run images, without anything below them.
bool hasSystem(const MachineDescription& machine) {
  return machine.triple.find("-none-") == std::string::npos;
}

// One program with code for several processors, by what it prints as; the first is the least.
struct Multiple {
  std::string name;
  std::vector<std::string> levels;
};
const std::vector<Multiple>& multiples() {
  static const std::vector<Multiple> kMultiples = {
      {"aarch64-multi", {"aarch64", "armv8.2", "armv8.6"}},
      {"x86-64-multi", {"x86-64-v1", "x86-64-v3", "x86-64-v4"}},
  };
  return kMultiples;
}

std::vector<std::string> levelsOf(const std::string& name) {
  for (const Multiple& multiple : multiples())
    if (multiple.name == name) return multiple.levels;
  return {name};
}

}  // namespace

Result<Target> hostTarget() {
  static const Result<Target> kHost = detectTarget();
  return kHost;
}

#ifdef DYN_HAVE_LLVM
std::vector<std::string> targetNames() {
  std::vector<std::string> names = machinePresetNames();
  for (const Multiple& multiple : multiples())
    names.insert(std::lower_bound(names.begin(), names.end(), multiple.name), multiple.name);
  return names;
}
bool sameSystem(const Target& target) {
  const Result<Target> host = hostTarget();
  const auto systemOf = [](const MachineDescription& machine) {
    return machine.triple.substr(0, machine.triple.find('-')) + (hasSystem(machine) ? " system" : "");
  };
  return host.ok() && systemOf(host->machine) == systemOf(target.machine);
}

bool runsHere(const Target& target) {
  const Result<Target> host = hostTarget();
  return (host.ok() && *host == target) || runsOnThisHost(target.machine);
}
#else
std::vector<std::string> targetNames() { return {}; }
bool sameSystem(const Target& target) { return runsHere(target); }
bool runsHere(const Target& target) { return target.machine.triple.empty(); }
#endif

Target freestandingTarget(Target target) {
  target.hasHeap = target.hasThreads = target.hasFiles = target.hasBuiltins = false;
  target.machine.coreCount = 1;
  return target;
}

Result<Target> chooseTarget(const std::string& nameOrFile) {
  if (nameOrFile.empty() || nameOrFile == "host") return hostTarget();
  const std::vector<std::string> names = targetNames();
  const bool isName = std::find(names.begin(), names.end(), nameOrFile) != names.end();
  if (!isName && nameOrFile.find_first_of("/.") != std::string::npos) {
    DYN_TRY(MappedFile file, MappedFile::open(nameOrFile));
    return parseTarget(file.bytes(), nameOrFile);
  }
  for (const std::string& name : names) {
    if (name != nameOrFile) continue;
    Target target;
    const std::vector<std::string> levels = levelsOf(name);
    DYN_TRY(target.machine, presetOf(levels[0]));
    target.machine.name = name;
    target.levels.assign(levels.begin() + 1, levels.end());
    return hasSystem(target.machine) ? target : freestandingTarget(target);
  }
  std::string known = "there are host";
  for (const std::string& name : names) known += ", " + name;
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = suggestion(nameOrFile, views);
  return makeError(DiagnosticId::usageError, "there is no target '" + nameOrFile + "'")
      .note(near.empty() ? known + ", and files (./board.target)" : "did you mean " + near + "?");
}

}  // namespace dyn
