// Targets by name: this host, presets, and files.
#pragma once

#include <string>
#include <vector>

#include "compiler/target/target.h"

namespace dyn {

// This machine; asked of the system once. Without LLVM: a target without a name for its processor, for which
// no code can be made.
Result<Target> hostTarget();
// Names that chooseTarget() knows besides "host".
std::vector<std::string> targetNames();
// "host" or "", one of targetNames(), or the path of a file (anything with a '/' or a '.', printTarget()'s or
// printMachine()'s text). Errors: usageError for an unknown name, fileError, fileFormat.
Result<Target> chooseTarget(const std::string& nameOrFile);
// A target like this one, but without heap, threads, files and hand-written kernels.
Target freestandingTarget(Target target);
// May the target's code run in this process?
bool runsHere(const Target& target);
// Programs of this system run there, if the processor has what their code needs.
bool sameSystem(const Target& target);

}  // namespace dyn
