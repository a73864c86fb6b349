#include "compiler/export/linker.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "compiler/export/program_folder.h"
#include "compiler/support/atomic_write.h"

extern char** environ;

namespace dyn {

namespace {

// The folders that there are. The process may end on another thread than that which uses them.
struct Folders {
  std::mutex mutex;
  std::set<std::string> paths;
  bool closed = false;
};
Folders& folders() {
  static Folders* const all = new Folders;  // it outlives all that is static
  return *all;
}

// A linker that is not waited for may still write into it.
void removeFolder(const std::string& path) {
  constexpr int kAttempts = 20;
  std::error_code fault;
  for (int i = 0; i < kAttempts; ++i) {
    std::filesystem::remove_all(path, fault);
    if (!fault) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  removeFolder(path_);
  const std::lock_guard<std::mutex> lock(folders().mutex);
  folders().paths.erase(path_);
}

void TemporaryFolder::removeAll() {
  const std::lock_guard<std::mutex> lock(folders().mutex);
  folders().closed = true;
  for (const std::string& path : folders().paths) removeFolder(path);
}

Status TemporaryFolder::make() {
  const std::lock_guard<std::mutex> lock(folders().mutex);
  if (folders().closed) return makeError(DiagnosticId::cancelled, "interrupted");
  std::error_code noFolder;
  std::string pattern = (std::filesystem::temp_directory_path(noFolder) / "dyn-link-XXXXXX").string();
  if (noFolder || !::mkdtemp(pattern.data()))
    return makeError(DiagnosticId::fileError,
                     pattern + ": no temporary folder can be made: " +
                         (noFolder ? noFolder.message() : std::string(std::strerror(errno))));
  path_ = pattern;
  folders().paths.insert(path_);
  return {};
}

namespace {

// A package that may be unpacked anywhere has tools of its own, in lib/dyn/bin beside bin and lib.
std::string foundBesideDyn(const char* program) {
  const std::string tool = (programFolder().parent_path() / "lib/dyn/bin" / program).string();
  return ::access(tool.c_str(), X_OK) == 0 ? tool : program;
}

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

}  // namespace

Status runTool(std::span<const char* const> programs, const std::vector<std::string>& words,
               const ToolWork& work) {
  for (const char* program : programs) {
    std::vector<std::string> command = {foundBesideDyn(program)};
    command.insert(command.end(), words.begin(), words.end());
    const int status = runProgram(command);
    if (status == 0) return {};
    if (status < 0) continue;
    // It does not say why in words that could be trusted: is there room for what it writes?
    DYN_CHECK(writeFileAtomically(work.output, {std::string(work.roomBytes, '\0')}));
    return makeError(DiagnosticId::internalError, std::string(program) + " " + work.cannot);
  }
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: " + work.isMissing);
}

}  // namespace dyn
