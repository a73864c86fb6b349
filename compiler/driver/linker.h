// Linkers and the like: other programs, run on files of a temporary folder.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

// In the order in which they are looked for.
inline constexpr const char* kLinkers[] = {"ld.lld-19", "ld.lld", "ld"};
inline constexpr const char* kObjectCopiers[] = {"llvm-objcopy-19", "llvm-objcopy", "objcopy"};

// Removes what it was given, whatever happens.
struct TemporaryFolder {
  std::string path;
  std::vector<std::string> files;
  ~TemporaryFolder() {
    for (const std::string& file : files) ::unlink(file.c_str());
    if (!path.empty()) ::rmdir(path.c_str());
  }
  std::string file(const std::string& name) {
    files.push_back(path + "/" + name);
    return files.back();
  }
  Status make();  // error fileError
};

// Exit status of a program, or -1 when it is not there.
int runProgram(const std::vector<std::string>& words);

}  // namespace dyn
