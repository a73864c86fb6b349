// SignalWatch: the signals a shell answers itself, as a descriptor to poll beside the keyboard.
//
// While one lives, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH are blocked in this thread
// and in those it starts, and are taken by take(). So none gets lost between a check and a read that blocks,
// and none ends the process while the terminal is in raw mode. Make it before any other thread is there.
#pragma once

#include <signal.h>

namespace dyn {

class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int descriptor() const { return descriptor_; }  // readable when a signal waits
  int take();                                     // the next signal that waits; 0: none
  // Stops the process as SIGTSTP does by default; returns when it goes on.
  void suspend();

  // SIGTERM, SIGHUP, SIGQUIT: the process is to end.
  static bool ends(int signal) { return signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT; }

 private:
  int descriptor_ = -1;
  sigset_t before_{};
};

}  // namespace dyn
