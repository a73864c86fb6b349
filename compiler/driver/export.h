// Executables of their own: a runner and, at the next page of the same file, the package that it runs, mapped
// from there. No linker is needed for it.
#pragma once

#include <string>

#include "compiler/driver/package.h"

namespace dyn {

// `runner`: the program dynrun, built for the target. OUT is there as a whole, executable, or not at all.
Result<ExportedFile> writeExecutable(const CompiledModel& compiled, const std::string& runner,
                                     const std::string& path, HostFlow flow = HostFlow::native,
                                     std::optional<int64_t> ramBoundBytes = std::nullopt);

}  // namespace dyn
