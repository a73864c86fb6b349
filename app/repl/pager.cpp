#include "app/repl/pager.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "app/repl/signal_watch.h"

extern char** environ;

namespace dyn {

namespace {

bool isInstalled(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (std::string rest = path ? path : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (::access((rest.substr(0, end) + "/" + program).c_str(), X_OK) == 0) return true;
    rest.erase(0, end + 1);
  }
  return false;
}

// With the signals as a program expects them; -1: it could not be started.
pid_t start(const std::string& command, int input) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, standard;
  sigemptyset(&none);
  sigemptyset(&standard);
  sigaddset(&standard, SIGPIPE);
  sigaddset(&standard, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  // Colours pass, a text of one page leaves at once, and stays on the screen.
  std::vector<char*> environment;
  std::string less = "LESS=FRX";
  for (char** variable = environ; *variable; ++variable) environment.push_back(*variable);
  if (!std::getenv("LESS")) environment.push_back(less.data());
  environment.push_back(nullptr);
  std::string shell = "sh", flag = "-c", line = command;
  char* arguments[] = {shell.data(), flag.data(), line.data(), nullptr};
  pid_t child = -1;
  if (::posix_spawn(&child, "/bin/sh", &files, &attributes, arguments, environment.data()) != 0) child = -1;
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return child;
}

// A file of no name with the text, to be read from its beginning; -1: there is no room. Not a pipe: who
// writes into one waits for a pager that is stopped.
int fileOf(const std::string& text) {
  const int file = ::memfd_create("dynrepl", MFD_CLOEXEC);
  if (file < 0) return file;
  for (size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(file, text.data() + at, text.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      ::close(file);
      return -1;
    }
    at += static_cast<size_t>(wrote);
  }
  ::lseek(file, 0, SEEK_SET);
  return file;
}

}  // namespace

std::string pagerCommand() {
  for (const char* name : {"DYN_PAGER", "PAGER"})
    if (const char* value = std::getenv(name)) return std::string(value) == "cat" ? "" : value;
  return isInstalled("less") ? "less" : "";
}

Paged showByPager(const std::string& command, const std::string& text, SignalWatch& signals) {
  const int file = fileOf(text);
  if (file < 0) return Paged::notStarted;
  const pid_t child = start(command, file);
  ::close(file);
  if (child < 0) return Paged::notStarted;
  int status = 0;
  while (::waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) {
    signals.suspend();
    ::kill(child, SIGCONT);
  }
  bool ended = false;
  while (const int signal = signals.take()) ended |= SignalWatch::ends(signal);
  constexpr int kNotFound = 127;  // as shells say it
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound) return Paged::notStarted;
  return ended ? Paged::ended : Paged::shown;
}

}  // namespace dyn
