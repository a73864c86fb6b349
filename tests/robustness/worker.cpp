#include "tests/robustness/worker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace dyn::robustness {
namespace {

constexpr int kExceptionExit = 71, kLeakExit = 72;

struct Slot {
  std::atomic<bool> finished;
  int64_t cpuNs, grownBytes;
  char text[kMaximumText + 1];
};

int64_t readClock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A line "VmHWM:  1234 kB" of /proc/self/status, in bytes.
int64_t statusBytes(const char* name) {
  FILE* file = std::fopen("/proc/self/status", "re");
  if (!file) return 0;
  char line[256];
  long long kilobytes = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::strncmp(line, name, std::strlen(name)) == 0)
      std::sscanf(line + std::strlen(name), ": %lld", &kilobytes);
  std::fclose(file);
  return kilobytes * 1024;
}

void resetHighWater() {
  const int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (::write(file, "5", 1) != 1) std::perror("clear_refs");
  ::close(file);
}

[[noreturn]] void work(size_t begin, size_t end, Slot* slots, std::atomic<size_t>& current,
                       const std::function<std::string(size_t)>& body) {
  for (size_t i = begin; i < end; ++i) {
    current = i;
    resetHighWater();
    const int64_t before = kMeasures ? statusBytes("VmRSS") : 0, start = readClock(CLOCK_PROCESS_CPUTIME_ID);
    std::string text;
    try {
      text = body(i);
    } catch (const std::exception& escaped) {
      std::fprintf(stderr, "case %zu: an exception escaped: %s\n", i, escaped.what());
      ::_exit(kExceptionExit);
    }
    slots[i].cpuNs = readClock(CLOCK_PROCESS_CPUTIME_ID) - start;
    slots[i].grownBytes = kMeasures ? std::max<int64_t>(0, statusBytes("VmHWM") - before) : 0;
    std::memcpy(slots[i].text, text.data(), std::min(text.size(), kMaximumText));
    slots[i].finished = true;
  }
  current = end;
#if defined(__SANITIZE_ADDRESS__)
  if (__lsan_do_recoverable_leak_check()) ::_exit(kLeakExit);
#endif
  ::_exit(0);
}

// The status of the worker; it is killed when one case takes longer than the limit.
int waitFor(pid_t worker, const std::atomic<size_t>& current, double limitSeconds) {
  size_t seen = SIZE_MAX;
  int64_t since = 0;
  for (;;) {
    int status = 0;
    if (::waitpid(worker, &status, WNOHANG) == worker) return status;
    const int64_t now = readClock(CLOCK_MONOTONIC);
    if (current != seen) {
      seen = current;
      since = now;
    } else if (static_cast<double>(now - since) > limitSeconds * 1e9) {
      ::kill(worker, SIGKILL);
      ::waitpid(worker, &status, 0);
      return status;
    }
    ::usleep(2000);
  }
}

}  // namespace

std::string CaseOutcome::fault() const {
  if (finished) return "";
  if (signal == SIGKILL) return "no end: killed";
  if (signal != 0) return "signal " + std::to_string(signal);
  if (exitCode == kExceptionExit) return "an exception escaped";
  return "the worker ended with " + std::to_string(exitCode);
}

std::vector<CaseOutcome> runApart(size_t count, const std::function<std::string(size_t)>& body,
                                  double limitSeconds) {
  std::vector<CaseOutcome> outcomes(count);
  const size_t bytes = sizeof(std::atomic<size_t>) + 64 + (count + 1) * sizeof(Slot);
  void* shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return outcomes;
  auto& current = *static_cast<std::atomic<size_t>*>(shared);
  auto* slots = reinterpret_cast<Slot*>(static_cast<char*>(shared) + 64);
  for (size_t begin = 0; begin < count;) {
    current = begin;
    std::fflush(nullptr);
    const pid_t worker = ::fork();
    if (worker < 0) break;
    if (worker == 0) work(begin, count, slots, current, body);
    const int status = waitFor(worker, current, limitSeconds);
    const size_t last = current;
    // A leak shows when all are done, and is laid at the last one's door.
    const size_t blamed = std::min(last, count - 1);
    if (WIFSIGNALED(status)) outcomes[blamed].signal = WTERMSIG(status);
    if (WIFEXITED(status)) outcomes[blamed].exitCode = WEXITSTATUS(status);
    if (last == count && WIFEXITED(status) && WEXITSTATUS(status) != 0) slots[blamed].finished = false;
    begin = last + 1;
  }
  for (size_t i = 0; i < count; ++i) {
    outcomes[i].finished = slots[i].finished;
    outcomes[i].cpuNs = slots[i].cpuNs;
    outcomes[i].grownBytes = slots[i].grownBytes;
    outcomes[i].text = slots[i].text;
  }
  ::munmap(shared, bytes);
  return outcomes;
}

}  // namespace dyn::robustness
