#include "unlocked.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace dynpython {

namespace {

std::atomic<int> passing{0};  // threads that wait for the lock, or just got it
std::atomic<bool> closed{false};

}  // namespace

Unlocked::~Unlocked() {
  passing.fetch_add(1);
  if (closed.load()) {
    passing.fetch_sub(1);
    while (true) pause();
  }
  PyEval_RestoreThread(state_);
  passing.fetch_sub(1);
}

void closeDoor() {
  PyThreadState* state = PyEval_SaveThread();
  closed.store(true);
  while (passing.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

}  // namespace dynpython
