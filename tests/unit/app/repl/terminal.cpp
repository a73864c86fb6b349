#include "tests/unit/app/repl/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "tests/support/paths.h"

namespace dyn {

std::string shellProgram() { return dyn::test::buildFolder() + "/bin/dynrepl"; }

namespace {

// What an interactive shell does for one job.
[[noreturn]] void leadJob() {
  ::signal(SIGTTOU, SIG_IGN);
  const pid_t job = ::fork();
  if (job == 0) {
    ::setpgid(0, 0);
    ::tcsetpgrp(0, ::getpid());
    ::signal(SIGTTOU, SIG_DFL);
    ::execl(shellProgram().c_str(), "dynrepl", nullptr);
    ::_exit(127);
  }
  ::setpgid(job, job);
  for (;;) {
    int status = 0;
    ::waitpid(job, &status, WUNTRACED);
    ::tcsetpgrp(0, ::getpgrp());
    if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
    if (WIFSIGNALED(status)) ::_exit(128 + WTERMSIG(status));
    if (::write(1, "[stopped]\n", 10) < 0) ::_exit(126);
    char line[80];
    if (::read(0, line, sizeof line) <= 0) ::_exit(126);
    ::tcsetpgrp(0, job);
    ::kill(-job, SIGCONT);
  }
}

}  // namespace

Terminal::Terminal(Leader leader, const Texts& files, const Texts& environment, const std::string& argument) {
  for (const auto& [name, text] : files) folder_.write(name, text);
  process_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
  if (process_ == 0) {
    ::setenv("TERM", "dumb", 1);
    ::setenv("HOME", folder_.path().c_str(), 1);
    ::unsetenv("XDG_STATE_HOME");
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("XDG_CONFIG_HOME");
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (::chdir(folder_.path().c_str()) != 0) ::_exit(126);
    if (leader == Leader::job) leadJob();
    ::execl(shellProgram().c_str(), "dynrepl", argument.empty() ? nullptr : argument.c_str(), nullptr);
    ::_exit(127);
  }
  // Held open, so that the terminal's mode can be looked at when the program has gone.
  other_ = ::open(::ptsname(terminal_), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

Terminal::~Terminal() {
  hangUp();
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
}

void Terminal::type(const std::string& keys) {
  ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool Terminal::expect(const std::string& text, int milliseconds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (std::chrono::steady_clock::now() < limit) {
    const size_t at = seen_.find(text);
    if (at != std::string::npos) {
      seen_.erase(0, at + text.size());
      return true;
    }
    pollfd wait{terminal_, POLLIN, 0};
    if (::poll(&wait, 1, 20) <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(terminal_, buffer, sizeof buffer);
    if (count <= 0) break;
    seen_.append(buffer, static_cast<size_t>(count));
  }
  return seen_.find(text) != std::string::npos;
}

pid_t Terminal::shell() const {
  const std::string id = std::to_string(process_);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  pid_t child = 0;
  children >> child;
  return child;
}

void Terminal::signal(int number) { ASSERT_EQ(::kill(process_, number), 0); }

void Terminal::hangUp() {
  for (int* end : {&other_, &terminal_}) {
    if (*end >= 0) ::close(*end);
    *end = -1;
  }
}

bool Terminal::becomes(Mode mode) const {
  for (int i = 0; i < 6000; ++i) {
    termios now{};
    if (::tcgetattr(terminal_, &now) != 0) return false;
    if ((now.c_lflag & (ICANON | ECHO)) == (mode == Mode::raw ? 0u : (ICANON | ECHO))) return true;
    ::usleep(10'000);
  }
  return false;
}

int Terminal::wait() {
  int status = 0;
  for (int i = 0; i < 6000; ++i) {
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
    }
    ::usleep(10'000);
  }
  return -1;
}

}  // namespace dyn
