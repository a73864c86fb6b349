// Linkers and the like: other programs, run on files of a temporary folder.
#pragma once

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
// GNU's know one processor: those for 64-bit ARM, by the names that they have on every machine.
inline constexpr const char* kArmObjectLinkers[] = {
    "aarch64-linux-gnu-ld.bfd",
#if defined(__aarch64__)
    "ld.bfd",
#endif
};
inline constexpr const char* kArmObjectCopiers[] = {
    "llvm-objcopy-19",
    "llvm-objcopy",
    "aarch64-linux-gnu-objcopy",
#if defined(__aarch64__)
    "objcopy",
#endif
};

// Removed with all that is in it, whatever happens.
class TemporaryFolder {
 public:
  TemporaryFolder() = default;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  Status make();  // error fileError
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Those of this process, for who ends it without unwinding. They are not made anew.
  static void removeAll();

 private:
  std::string path_;
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
