#include "compiler/driver/package.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "compiler/driver/native_code.h"
#include "compiler/driver/packed_weights.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"
#include "vm/isa/package.h"

extern char** environ;

namespace dyn {

namespace {

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
};

// Exit status of a program, or -1 when it is not there.
int runProgram(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int fault = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (fault != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return 1;
  return WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

Result<MappedFile> linkObjects(const std::vector<std::string>& objects, TemporaryFolder& folder) {
  std::error_code noFolder;
  std::string pattern = (std::filesystem::temp_directory_path(noFolder) / "dyn-link-XXXXXX").string();
  if (noFolder || !::mkdtemp(pattern.data()))
    return makeError(DiagnosticId::fileError,
                     pattern + ": no temporary folder can be made: " +
                         (noFolder ? noFolder.message() : std::string(std::strerror(errno))));
  folder.path = pattern;
  const std::string output = folder.file("kernels.so");
  std::vector<std::string> inputs;
  for (size_t i = 0; i < objects.size(); ++i) {
    inputs.push_back(folder.file(std::to_string(i) + ".o"));
    DYN_CHECK(writeFileAtomically(inputs.back(), {objects[i]}));
  }
  // The names of all objects may be more than a command line takes.
  std::string list;
  for (const std::string& input : inputs) list += input + "\n";
  const std::string response = folder.file("objects.txt");
  DYN_CHECK(writeFileAtomically(response, {list}));
  for (const char* linker : {"ld.lld-19", "ld.lld", "ld"}) {
    const int status = runProgram({linker, "-shared", "--build-id=none", "-o", output, "@" + response});
    if (status == 0) return MappedFile::open(output);
    if (status > 0) {
      // It does not say why in words that could be trusted: is there room for what it writes?
      size_t bytes = 1 << 16;
      for (const std::string& object : objects) bytes += 2 * object.size();
      DYN_CHECK(writeFileAtomically(output, {std::string(bytes, '\0')}));
      return makeError(DiagnosticId::internalError, std::string(linker) + " could not link the kernels");
    }
  }
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: a package needs the linker ld.lld (package lld-19), which was not found");
}

}  // namespace

Result<PackagePieces> makePackage(const CompiledModel& compiled, HostFlow flow) {
  DYN_TRY(LoadableProgram packed, packedForPackage(compiled));
  vm::layOutConstants(packed.program);
  std::vector<const void*> constants;
  for (const HostTensor& tensor : packed.constants) constants.push_back(tensor.bytes());
  struct Owner {
    vm::PackageBytes package;
    std::optional<MappedFile> linked;
  };
  auto owner = std::make_shared<Owner>();
  std::vector<vm::ObjectSection> sections;
  DYN_TRY(std::vector<std::string> objects, packageObjects(compiled));
  if (flow == HostFlow::native) {
    DYN_TRY(std::vector<std::string> functions, flowObjects(compiled, packed.program));
    std::move(functions.begin(), functions.end(), std::back_inserter(objects));
  }
  if (!objects.empty()) {
    TemporaryFolder folder;
    DYN_TRY(owner->linked, linkObjects(objects, folder));
    sections.push_back({packageTarget(compiled), owner->linked->bytes()});
  }
  const vm::Status status = vm::makePackage(packed.program, constants, sections, owner->package);
  if (!status.ok()) return makeError(DiagnosticId::internalError, status.message);
  PackagePieces made;
  made.pieces = owner->package.pieces;
  for (std::string_view piece : made.pieces) made.size.fileBytes += static_cast<int64_t>(piece.size());
  made.size.weightsBytes = static_cast<int64_t>(owner->package.constants.size());
  made.owner = std::move(owner);
  return made;
}

Result<ExportedFile> writePackageFile(const CompiledModel& compiled, const std::string& path, HostFlow flow) {
  DYN_TRY(const PackagePieces package, makePackage(compiled, flow));
  DYN_CHECK(writeFileAtomically(path, package.pieces));
  return package.size;
}

}  // namespace dyn
