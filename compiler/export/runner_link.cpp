#include "compiler/export/runner_link.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "vm/include/abi/dyn_custom_kernel.h"

namespace dyn {

namespace {

std::string fileOf(const void* address) {
  Dl_info info = {};
  return ::dladdr(address, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

}  // namespace

SystemFiles systemOfProcess() {
  double (*const mathFunction)(double, double) = std::pow;
  SystemFiles system;
  for (const void* function :
       {reinterpret_cast<const void*>(&std::free), reinterpret_cast<const void*>(mathFunction)}) {
    const std::string library = fileOf(function);
    if (library.find(".so") != std::string::npos) system.libraries.push_back(library);
  }
  system.loader = system.loaderPath = fileOf(reinterpret_cast<const void*>(::getauxval(AT_BASE)));
  return system;
}

SystemFiles systemIn(const std::string& folder) {
  SystemFiles system;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("ld-linux-")) {
      system.libraries.push_back(entry.path().string());
      continue;
    }
    system.loader = entry.path().string();
    system.loaderPath = "/lib/" + name;
  }
  std::sort(system.libraries.begin(), system.libraries.end());
  return system;
}

Result<std::string> linkRunner(const vm::Program& program, MatrixKernels kernels, const std::string& object,
                               const std::vector<std::string>& besides, const SystemFiles& system,
                               TemporaryFolder& folder) {
  const std::string rows = folder.file("rows.o"), runner = folder.file("runner");
  DYN_TRY(const MappedFile linked, MappedFile::open(object));
  DYN_TRY(const ElfMachine machine, elfMachineOf(linked.bytes()));
  DYN_TRY(const std::string table, linkedRowsObject(program, kernels, machine));
  DYN_CHECK(writeFileAtomically(rows, {table}));
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
  if (!besides.empty()) words.insert(words.end(), {"-u", DYN_CUSTOM_KERNELS_SYMBOL});
  words.insert(words.end(), besides.begin(), besides.end());
  words.insert(words.end(), system.libraries.begin(), system.libraries.end());
  if (!system.loader.empty())
    words.insert(words.end(), {"--dynamic-linker", system.loaderPath, system.loader});
  DYN_CHECK(runTool(kLinkers, words,
                    {runner, size_t{8} << 20, "could not link the executable",
                     "an executable needs the program " + std::string(kLinkers[0]) +
                         " (package lld-19), which was not found"}));
  return runner;
}

}  // namespace dyn
