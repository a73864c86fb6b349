#include "compiler/export/runner_link.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cmath>
#include <cstdlib>

#include "compiler/support/atomic_write.h"

namespace dyn {

namespace {

std::string fileOf(const void* address) {
  Dl_info info = {};
  return ::dladdr(address, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

}  // namespace

std::vector<std::string> systemLibraries() {
  double (*const mathFunction)(double, double) = std::pow;
  std::vector<std::string> libraries;
  for (const void* function :
       {reinterpret_cast<const void*>(&std::free), reinterpret_cast<const void*>(mathFunction)}) {
    const std::string library = fileOf(function);
    if (library.find(".so") != std::string::npos) libraries.push_back(library);
  }
  return libraries;
}

Result<std::string> linkRunner(const vm::Program& program, MatrixKernels kernels, const std::string& object,
                               TemporaryFolder& folder) {
  const std::string rows = folder.file("rows.o"), runner = folder.file("runner");
  DYN_TRY(const std::string table, linkedRowsObject(program, kernels, elfMachineOfHost()));
  DYN_CHECK(writeFileAtomically(rows, {table}));
  const std::string loader = fileOf(reinterpret_cast<const void*>(::getauxval(AT_BASE)));
  std::vector<std::string> words = {"-pie",
                                    "--gc-sections",
                                    "--build-id=none",
                                    "--eh-frame-hdr",
                                    "--as-needed",
                                    "-z",
                                    "now",
                                    "-z",
                                    "relro",
                                    "-s",
                                    "-o",
                                    runner,
                                    object,
                                    rows};
  for (const std::string& library : systemLibraries()) words.push_back(library);
  if (!loader.empty()) words.insert(words.end(), {"--dynamic-linker", loader, loader});
  DYN_CHECK(runTool(kLinkers, words,
                    {runner, size_t{8} << 20, "could not link the executable",
                     "an executable needs the program " + std::string(kLinkers[0]) +
                         " (package lld-19), which was not found"}));
  return runner;
}

}  // namespace dyn
