#include "compiler/driver/target_choice.h"

#include "compiler/driver/fixed_program.h"
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

}  // namespace

Result<Target> hostTarget() {
  static const Result<Target> kHost = detectTarget();
  return kHost;
}

#ifdef DYN_HAVE_LLVM
std::vector<std::string> targetNames() { return machinePresetNames(); }

bool runsHere(const Target& target) {
  const Result<Target> host = hostTarget();
  return (host.ok() && *host == target) || runsOnThisHost(target.machine);
}
#else
std::vector<std::string> targetNames() { return {}; }
bool runsHere(const Target& target) { return target.machine.triple.empty(); }
#endif

Result<Target> chooseTarget(const std::string& nameOrFile) {
  if (nameOrFile.empty() || nameOrFile == "host") return hostTarget();
  if (nameOrFile.find_first_of("/.") != std::string::npos) {
    DYN_TRY(MappedFile file, MappedFile::open(nameOrFile));
    return parseTarget(file.bytes(), nameOrFile);
  }
  const std::vector<std::string> names = targetNames();
  for (const std::string& name : names) {
    if (name != nameOrFile) continue;
    Target target;
    DYN_TRY(target.machine, presetOf(name));
    return hasSystem(target.machine) ? target : fixedTarget(target);
  }
  std::string known = "there are host";
  for (const std::string& name : names) known += ", " + name;
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = suggestion(nameOrFile, views);
  return makeError(DiagnosticId::usageError, "there is no target '" + nameOrFile + "'")
      .note(near.empty() ? known + ", and files (./board.target)" : "did you mean " + near + "?");
}

}  // namespace dyn
