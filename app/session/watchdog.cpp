#include "app/session/watchdog.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "app/engine/run/thread_start.h"
#include "compiler/export/linker.h"
#include "compiler/support/atomic_write.h"

namespace dyn {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::milliseconds(60);

uint64_t residentBytes() {
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  unsigned long long pages = 0, resident = 0;
  const int read = std::fscanf(file, "%llu %llu", &pages, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

Error withNote(Error error, const std::string& note) {
  return note.empty() ? std::move(error) : std::move(error).note(note);
}

sigset_t watchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void blockSignals() {
  const sigset_t set = watchedSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Result<std::unique_ptr<Watchdog>> Watchdog::start(WatchdogLimits limits, WatchedCommand command) {
  std::unique_ptr<Watchdog> made(new Watchdog(std::move(limits), std::move(command)));
  DYN_CHECK(startThread(made->thread_, [watchdog = made.get()] { watchdog->watch(); }));
  return made;
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  stop_ = true;
  ::pthread_kill(thread_.native_handle(), SIGTERM);  // it waits for signals, and is not to be waited for
  thread_.join();
}

std::shared_ptr<const Diagnostic> Watchdog::reason() const { return std::atomic_load(&reason_); }

void Watchdog::watch() {
  const sigset_t set = watchedSignals();
  const auto start = Clock::now();
  const auto limit = std::chrono::duration<double>(limits_.timeSeconds);
  // What the process takes before it does anything (its own code) is not the command's.
  const uint64_t before = residentBytes();
  while (!stop_) {
    timespec wait{0, 5'000'000};
    const int signal = sigtimedwait(&set, nullptr, &wait);
    if (stop_) return;
    if (signal > 0)
      return end(makeError(DiagnosticId::cancelled, signal == SIGINT ? "interrupted" : "ended by a signal")
                     .diagnostic());
    if (limits_.timeSeconds > 0 && Clock::now() - start >= limit) {
      char text[80];
      std::snprintf(text, sizeof text, "the time limit of %g seconds was reached", limits_.timeSeconds);
      return end(withNote(makeError(DiagnosticId::timeLimit, text), limits_.timeNote).diagnostic());
    }
    if (limits_.memoryBytes > 0 && residentBytes() > before + limits_.memoryBytes)
      return end(withNote(makeError(DiagnosticId::memoryLimit, "the command takes more than the " +
                                                                   std::to_string(limits_.memoryBytes) +
                                                                   " bytes of --mem-limit"),
                          limits_.memoryNote)
                     .diagnostic());
  }
}

void Watchdog::end(Diagnostic diagnostic) {
  std::atomic_store(&reason_, std::make_shared<const Diagnostic>(diagnostic));
  const auto asked = Clock::now();
  while (!stop_ && Clock::now() - asked < kPatience) {
    command_.interrupt();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (stop_ || !command_.claim()) return;  // the command's own thread prints
  endWrites();
  TemporaryFolder::removeAll();
  const int code = command_.print(diagnostic);
  ::_exit(code);
}

}  // namespace dyn
