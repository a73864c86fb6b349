// Ctrl-C while C code runs. Python's own handler only notes the signal: exceptions are raised between
// bytecodes.
#ifndef DYN_PYTHON_INTERRUPTION_H
#define DYN_PYTHON_INTERRUPTION_H

#include <csignal>
#include <functional>

#include "dynvm.h"

namespace dynpython {

// As long as it lives, on the main thread: SIGINT cancels the run of `context`, then goes to the former
// handler, to which it goes alone when none lives. On other threads, and where SIGINT has no handler, it
// does nothing.
class Interruption {
 public:
  explicit Interruption(dyn_context* context);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  bool installed_ = false;
};

// Calls `work` without the interpreter's lock, which the caller has. On the main thread a loop beside it
// looks for signals: when one raises, `cancel` is called until the work ends, and the exception goes on.
// `tick` is called with the lock, in that loop and at the end.
void workUnlocked(const std::function<void()>& work, const std::function<void()>& cancel,
                  const std::function<void()>& tick);

}  // namespace dynpython

#endif
