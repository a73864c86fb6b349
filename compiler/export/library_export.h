// Libraries of one model, static and shared: the runtime with hidden names, the kernels, the package as
// read-only data, and beside them the header, a pkg-config file and a CMake configuration. It needs a linker
// and objcopy, and no compiler.
//
//   exportLibrary(compiled, {LibraryKind::archive, "lib/libbert.a", ...})
//     →  libbert.a, the header "bert" .h, bert.pc, bert-config.cmake
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace dyn {

enum class LibraryKind : uint8_t { archive, shared };

struct LibraryRequest {
  LibraryKind kind = LibraryKind::archive;
  std::string output;   // "lib/libbert.a" or "lib/bert": the model's name is bert
  std::string runtime;  // the file dynmodel.o, or dynfreestanding-ARCH.o, made for the target
  std::string system;   // the folder with the C library of another processor; "": that of this process
  HostCode flow = HostCode::native;
  std::string source;  // what the header says of the model's origin
  std::optional<int64_t> ramBoundBytes;
  std::vector<std::string> besides;  // objects and archives of the user: part of a shared library
  bool withoutHeap = false;          // over the freestanding runtime (vm/freestanding): `runtime` is that
};

struct ExportedLibrary {
  struct File {
    std::string path;
    int64_t bytes = 0;
  };
  std::vector<File> files;  // the library first
  int64_t weightsBytes = 0;
  std::vector<std::string> entryPoints;
};

// All files, or those that were there before. Errors: usageError for a name that is none, fileError,
// unsupportedFeature where a tool or dynmodel.o is missing, or the model takes no plain tensors.
Result<ExportedLibrary> exportLibrary(const CompiledModel& compiled, const LibraryRequest& request);

}  // namespace dyn
