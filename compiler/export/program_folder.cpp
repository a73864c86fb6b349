#include "compiler/export/program_folder.h"

#include <dlfcn.h>

#include <system_error>

namespace dyn {

std::filesystem::path programFolder() {
  std::error_code ignored;
  Dl_info own{};
  if (::dladdr(reinterpret_cast<const void*>(&programFolder), &own) != 0 && own.dli_fname) {
    const std::filesystem::path file = std::filesystem::canonical(own.dli_fname, ignored);
    if (file.filename().string().starts_with("libdyn.so")) return file.parent_path().parent_path() / "bin";
  }
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

}  // namespace dyn
