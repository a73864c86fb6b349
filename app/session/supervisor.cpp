#include "app/session/supervisor.h"

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

#include "app/session/command.h"
#include "compiler/support/standard_streams.h"

namespace dyn {

namespace {
constexpr size_t kKeptBytes = size_t{256} << 10;
constexpr int kInternalError = 70;
}  // namespace

// Lines end in a zero.
struct CommandRecord::Page {
  size_t keptBytes;
  size_t runningBytes;  // 0: none
  std::array<char, kKeptBytes> kept, running;
};

CommandRecord::CommandRecord() {
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) page_ = static_cast<Page*>(memory);
}

CommandRecord::~CommandRecord() {
  if (page_) ::munmap(page_, sizeof(Page));
}

void CommandRecord::begin(const std::string& line) {
  if (!page_) return;
  const size_t size = std::min(line.size(), kKeptBytes - 1);
  std::memcpy(page_->running.data(), line.data(), size);
  page_->running[size] = 0;
  page_->runningBytes = size + 1;
}

void CommandRecord::end(bool kept) {
  if (!page_) return;
  const size_t size = page_->runningBytes;
  const bool whole = size > 0 && size < kKeptBytes && page_->keptBytes + size <= kKeptBytes;
  if (kept && whole) {
    std::memcpy(page_->kept.data() + page_->keptBytes, page_->running.data(), size);
    page_->keptBytes += size;
  }
  page_->runningBytes = 0;
}

void CommandRecord::forget() {
  if (page_) page_->keptBytes = 0;
}

std::string CommandRecord::running() const {
  return page_ && page_->runningBytes > 0 ? std::string(page_->running.data()) : "";
}

std::vector<std::string> CommandRecord::kept() const {
  std::vector<std::string> lines;
  for (size_t at = 0; page_ && at < page_->keptBytes; at += lines.back().size() + 1)
    lines.emplace_back(page_->kept.data() + at);
  return lines;
}

namespace {

volatile pid_t watchedProcess = 0;

// Keys reach the other process by themselves, as the terminal's end does the leader of its processes alone;
// what somebody sends to this process is passed on.
void passOn(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  if (watchedProcess > 0 && (info->si_code <= 0 || signal == SIGHUP || signal == SIGTERM))
    ::kill(watchedProcess, signal);
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

// The status with which it ended. When it stops, this process stops too.
int waitForProcess() {
  int status = 0;
  for (;;) {
    const pid_t found = ::waitpid(watchedProcess, &status, WUNTRACED);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0 || !WIFSTOPPED(status)) return status;
    ::raise(SIGSTOP);
    ::kill(watchedProcess, SIGCONT);
  }
}

void say(const std::string& text) { (void)writeStandard(2, text); }

}  // namespace

bool changesSession(const Command& command) {
  if (command.id == CommandId::run) return command.has("bind");
  return command.id == CommandId::undo || command.id == CommandId::source ||
         commandSpec(command.id).undoable == Undoable::yes;
}

int supervise(const std::string& what, const std::function<int(CommandRecord&, const Restart&)>& work) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSoon = std::chrono::seconds(5);
  constexpr int kMostSoon = 3;  // faults one after the other: no command of the person does that
  CommandRecord record;
  termios terminal{};
  const bool isTerminal = ::tcgetattr(0, &terminal) == 0;
  Restart restart;
  for (int soon = 0; soon < kMostSoon;) {
    const auto start = Clock::now();
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return work(record, restart);  // without a second chance
    if (child == 0) {
      for (const int signal : {SIGINT, SIGQUIT, SIGWINCH, SIGTERM, SIGHUP, SIGTSTP})
        ::signal(signal, SIG_DFL);
      ::prctl(PR_SET_PDEATHSIG, SIGHUP);
      if (::getppid() != self) ::_exit(kInternalError);
      ::_exit(work(record, restart));
    }
    watchedProcess = child;
    takeSignals();
    const int status = waitForProcess();
    watchedProcess = 0;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    const int signal = WTERMSIG(status);
    if (!isFault(signal)) return 128 + signal;
    if (isTerminal) ::tcsetattr(0, TCSADRAIN, &terminal);
    const std::string running = record.running();
    restart.running = running;
    restart.crash = std::string(strsignal(signal)) + (running.empty() ? "" : " in: " + running);
    say("\nthe " + what + " crashed (" + strsignal(signal) + ")" +
        (running.empty() ? "" : " in: " + running) + "\n");
    // A fault while commands are done again: not a second time.
    const bool again = running.empty() || restart.commands.empty() || soon == 0;
    restart.commands = again ? record.kept() : std::vector<std::string>();
    record.forget();
    record.end(false);
    soon = Clock::now() - start < kSoon ? soon + 1 : 0;
  }
  say("it crashes at once: given up\n");
  return kInternalError;
}

}  // namespace dyn
