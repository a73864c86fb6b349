// Watchdog: ends a batch command in time: Ctrl-C and SIGTERM, --time-limit, --mem-limit.
//
// The session is asked first; what does not end within kPatience (a kernel that is being compiled) is left,
// its result is printed by the watchdog and the process ends. Files of the command that are half written are
// removed.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "app/batch/output.h"

namespace dyn {

// Blocks the signals the watchdog waits for, in this thread and those it starts: call before any thread is
// there.
void blockSignals();

class Watchdog {
 public:
  Watchdog(const BatchRequest& request, Session& session, BatchOutput& output);
  ~Watchdog();
  // Why the command was ended, if it was: takes the place of `cancelled`.
  std::shared_ptr<const Diagnostic> reason() const;

 private:
  void watch();
  void end(Diagnostic diagnostic);
  void removeHalfFiles() const;

  const BatchRequest& request_;
  Session& session_;
  BatchOutput& output_;
  std::shared_ptr<const Diagnostic> reason_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace dyn
