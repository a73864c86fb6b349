// Linkers and the like: other programs, run on files of a temporary folder.
#pragma once

#include <unistd.h>

#include <span>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

// In the order in which they are looked for.
inline constexpr const char* kLinkers[] = {"ld.lld-19", "ld.lld", "ld"};
// Of these only GNU's leaves unused sections out of an object and keeps how exceptions pass the others.
inline constexpr const char* kObjectLinkers[] = {"ld.bfd"};
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

// What is made by a tool, for its errors.
struct ToolWork {
  std::string output;     // the file that it writes
  size_t roomBytes;       // about as much as that takes
  std::string cannot;     // "could not link the kernels"
  std::string isMissing;  // why there must be such a program
};

// Runs the first of the programs that is there. Errors: fileError (no room), internalError,
// unsupportedFeature.
Status runTool(std::span<const char* const> programs, const std::vector<std::string>& words,
               const ToolWork& work);

}  // namespace dyn
