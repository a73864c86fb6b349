#include "compiler/driver/linker.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace dyn {

Status TemporaryFolder::make() {
  std::error_code noFolder;
  std::string pattern = (std::filesystem::temp_directory_path(noFolder) / "dyn-link-XXXXXX").string();
  if (noFolder || !::mkdtemp(pattern.data()))
    return makeError(DiagnosticId::fileError,
                     pattern + ": no temporary folder can be made: " +
                         (noFolder ? noFolder.message() : std::string(std::strerror(errno))));
  path = pattern;
  return {};
}

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

}  // namespace dyn
