#include "interruption.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "fault.h"
#include "unlocked.h"

namespace dynpython {

namespace {

// Of the main thread alone, and of the handler, which any thread may be in.
std::atomic<dyn_context*> runningContext{nullptr};
struct sigaction formerAction;

// A thread stays what it is; the one that forks is its child's main thread.
bool onMainThread() {
  thread_local const bool is = syscall(SYS_gettid) == getpid();
  return is;
}

void cancelRun(int signal, siginfo_t* info, void* user) {
  dyn_context_cancel(runningContext.load());  // sets an atomic bit; null: nothing
  if (formerAction.sa_flags & SA_SIGINFO)
    formerAction.sa_sigaction(signal, info, user);
  else
    formerAction.sa_handler(signal);
}

// The handler stays where it is between runs, as setting it takes as long as a small run. Python's own, set
// anew by signal.signal, replaces it; the next run notices.
bool handlerInstalled() {
  struct sigaction present {};
  if (sigaction(SIGINT, nullptr, &present) != 0) return false;
  if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == &cancelRun) return true;
  if (!(present.sa_flags & SA_SIGINFO) && (present.sa_handler == SIG_DFL || present.sa_handler == SIG_IGN))
    return false;
  formerAction = present;
  struct sigaction mine {};
  mine.sa_sigaction = &cancelRun;
  mine.sa_flags = SA_SIGINFO | (present.sa_flags & (SA_ONSTACK | SA_RESTART));
  mine.sa_mask = present.sa_mask;
  return sigaction(SIGINT, &mine, nullptr) == 0;
}

}  // namespace

Interruption::Interruption(dyn_context* context) {
  if (!onMainThread() || runningContext.load() || !handlerInstalled()) return;
  runningContext.store(context);
  installed_ = true;
}

Interruption::~Interruption() {
  if (installed_) runningContext.store(nullptr);
}

void workUnlocked(const std::function<void()>& work, const std::function<void()>& cancel,
                  const std::function<void()>& tick) {
  if (!onMainThread()) {
    {
      const Unlocked unlocked;
      work();
    }
    tick();
    return;
  }
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr thrown;
  const auto workAndTell = [&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    done = true;
    ended.notify_all();
  };
  std::thread worker;
  try {
    worker = std::thread(workAndTell);
  } catch (const std::system_error& error) {
    throw Fault(DYN_OUT_OF_MEMORY, "no thread can be started: " + error.code().message());
  }
  bool raised = false;
  std::exception_ptr refused;
  while (true) {
    bool now = false;
    {
      const Unlocked unlocked;
      std::unique_lock<std::mutex> lock(mutex);
      now = ended.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; });
    }
    if (now) break;
    if (!raised) raised = PyErr_CheckSignals() != 0;
    if (raised) cancel();
    if (!raised && !refused) try {
        tick();
      } catch (...) {
        refused = std::current_exception();  // said when the work has ended
      }
  }
  worker.join();
  if (raised) throw nb::python_error();
  if (thrown) std::rethrow_exception(thrown);
  if (refused) std::rethrow_exception(refused);
  tick();
}

}  // namespace dynpython
