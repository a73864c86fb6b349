// Watchdog: ends a command in time: Ctrl-C and SIGTERM, --time-limit, --mem-limit. Batch commands and
// exported executables have it.
//
// The command is asked first; what does not end within kPatience (a kernel that is being compiled) is left,
// its result is printed by the watchdog and the process ends. Files of the command that are half written are
// removed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

// Blocks the signals the watchdog waits for, in this thread and those it starts: call before any thread is
// there.
void blockSignals();

struct WatchdogLimits {
  double timeSeconds = 0;  // 0: none
  uint64_t memoryBytes = 0;
  std::string timeNote = {}, memoryNote = {};  // said where that limit ends the command; empty: nothing
};

// What is watched. All are called by the watchdog's thread.
struct WatchedCommand {
  std::function<void()> interrupt;  // again and again until the command ends
  std::function<bool()> claim;      // true for the one who may print the result and end the process
  std::function<int(const Diagnostic&)> print;  // the result; returns the exit code
};

class Watchdog {
 public:
  // Error: no thread can be started.
  static Result<std::unique_ptr<Watchdog>> start(WatchdogLimits limits, WatchedCommand command);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  // Why the command was ended, if it was: takes the place of `cancelled`.
  std::shared_ptr<const Diagnostic> reason() const;

 private:
  Watchdog(WatchdogLimits limits, WatchedCommand command)
      : limits_(std::move(limits)), command_(std::move(command)) {}
  void watch();
  void end(Diagnostic diagnostic);

  const WatchdogLimits limits_;
  const WatchedCommand command_;
  std::shared_ptr<const Diagnostic> reason_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace dyn
