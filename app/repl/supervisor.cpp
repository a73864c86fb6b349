#include "app/repl/supervisor.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "compiler/support/standard_streams.h"

namespace dyn {

namespace {
constexpr size_t kKeptBytes = size_t{256} << 10;
constexpr int kInternalError = 70;
}  // namespace

// Lines end in a zero.
struct ShellRecord::Page {
  size_t keptBytes;
  size_t runningBytes;  // 0: none
  std::array<char, kKeptBytes> kept, running;
};

ShellRecord::ShellRecord() {
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) page_ = static_cast<Page*>(memory);
}

ShellRecord::~ShellRecord() {
  if (page_) ::munmap(page_, sizeof(Page));
}

void ShellRecord::begin(const std::string& line) {
  if (!page_) return;
  const size_t size = std::min(line.size(), kKeptBytes - 1);
  std::memcpy(page_->running.data(), line.data(), size);
  page_->running[size] = 0;
  page_->runningBytes = size + 1;
}

void ShellRecord::end(bool kept) {
  if (!page_) return;
  const size_t size = page_->runningBytes;
  const bool whole = size > 0 && size < kKeptBytes && page_->keptBytes + size <= kKeptBytes;
  if (kept && whole) {
    std::memcpy(page_->kept.data() + page_->keptBytes, page_->running.data(), size);
    page_->keptBytes += size;
  }
  page_->runningBytes = 0;
}

void ShellRecord::forget() {
  if (page_) page_->keptBytes = 0;
}

std::string ShellRecord::running() const {
  return page_ && page_->runningBytes > 0 ? std::string(page_->running.data()) : "";
}

std::vector<std::string> ShellRecord::kept() const {
  std::vector<std::string> lines;
  for (size_t at = 0; page_ && at < page_->keptBytes; at += lines.back().size() + 1)
    lines.emplace_back(page_->kept.data() + at);
  return lines;
}

namespace {

volatile pid_t shellProcess = 0;

// Keys reach the shell by themselves, as the terminal's end does the leader of its processes alone; what
// somebody sends to this process is passed on.
void passOn(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  if (shellProcess > 0 && (info->si_code <= 0 || signal == SIGHUP || signal == SIGTERM))
    ::kill(shellProcess, signal);
  errno = saved;
}

constexpr std::array kPassedOn = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};

void takeSignals() {
  struct sigaction action {};
  action.sa_sigaction = passOn;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  for (const int signal : kPassedOn) ::sigaction(signal, &action, nullptr);
}

bool isFault(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT;
}

// The status with which the shell ended. When it stops, this process stops too.
int waitForShell() {
  int status = 0;
  for (;;) {
    const pid_t found = ::waitpid(shellProcess, &status, WUNTRACED);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0 || !WIFSTOPPED(status)) return status;
    ::raise(SIGSTOP);
    ::kill(shellProcess, SIGCONT);
  }
}

void say(const std::string& text) { (void)writeStandard(2, text); }

}  // namespace

int superviseShell(const std::function<int(ShellRecord&, const std::vector<std::string>&)>& shell) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSoon = std::chrono::seconds(5);
  constexpr int kMostSoon = 3;  // faults one after the other: no command of the person does that
  ShellRecord record;
  termios terminal{};
  const bool isTerminal = ::tcgetattr(0, &terminal) == 0;
  std::vector<std::string> restored;
  for (int soon = 0; soon < kMostSoon;) {
    const auto start = Clock::now();
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return shell(record, restored);  // without a second chance
    if (child == 0) {
      for (const int signal : {SIGINT, SIGQUIT, SIGWINCH, SIGTERM, SIGHUP, SIGTSTP})
        ::signal(signal, SIG_DFL);
      ::prctl(PR_SET_PDEATHSIG, SIGHUP);
      if (::getppid() != self) ::_exit(kInternalError);
      ::_exit(shell(record, restored));
    }
    shellProcess = child;
    takeSignals();
    const int status = waitForShell();
    shellProcess = 0;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    const int signal = WTERMSIG(status);
    if (!isFault(signal)) return 128 + signal;
    if (isTerminal) ::tcsetattr(0, TCSADRAIN, &terminal);
    const std::string running = record.running();
    say("\nthe shell crashed (" + std::string(strsignal(signal)) + ")" +
        (running.empty() ? "" : " in: " + running) + "\n");
    // A fault while commands are done again: not a second time.
    restored = running.empty() || restored.empty() || soon == 0 ? record.kept() : std::vector<std::string>();
    record.forget();
    record.end(false);
    soon = Clock::now() - start < kSoon ? soon + 1 : 0;
  }
  say("it crashes at once: given up\n");
  return kInternalError;
}

}  // namespace dyn
