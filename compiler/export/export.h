// Executables of their own: a runner and, at the next page of the same file, the package that it runs, mapped
// from there.
#pragma once

#include <string>
#include <vector>

#include "compiler/export/package.h"

namespace dyn {

struct RunnerFiles {
  // dynrun, built for the target: its object (dynrun.o), which is linked with the hand-written kernels that
  // the program calls, or, where a build has none, the program with all of them.
  std::string runner;
  std::string system;  // the folder with the C library of another processor; "": that of this process
  std::vector<std::string> besides;  // objects and archives of the user, with the model's custom kernels
};

// OUT is there as a whole, executable, or not at all.
Result<ExportedFile> writeExecutable(const CompiledModel& compiled, const RunnerFiles& files,
                                     const std::string& path, const PackageRequest& request = {});

}  // namespace dyn
