#include "app/repl/signal_watch.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

namespace dyn {

SignalWatch::SignalWatch() {
  sigset_t watched;
  sigemptyset(&watched);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH})
    sigaddset(&watched, signal);
  pthread_sigmask(SIG_BLOCK, &watched, &before_);
  descriptor_ = ::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  // Without a descriptor the signals keep their defaults: Ctrl-C then ends the shell, which is better than
  // not being heard.
  if (descriptor_ < 0) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

SignalWatch::~SignalWatch() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int SignalWatch::take() {
  signalfd_siginfo info{};
  if (descriptor_ < 0 || ::read(descriptor_, &info, sizeof info) != sizeof info) return 0;
  return static_cast<int>(info.ssi_signo);
}

void SignalWatch::suspend() {
  struct sigaction standard {
  }, previous{};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &standard, &previous);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // here the process stops
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  ::sigaction(SIGTSTP, &previous, nullptr);
}

}  // namespace dyn
