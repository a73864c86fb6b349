#include "unlocked.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>

namespace dynpython {

namespace {

struct Door {
  std::mutex mutex;
  std::condition_variable changed;
  int passing = 0;  // threads that wait for the lock, or just got it
  bool closed = false;
};
Door& door() {
  static Door* const one = new Door;  // sleeping threads outlive what the process destroys
  return *one;
}

}  // namespace

Unlocked::~Unlocked() {
  Door& one = door();
  {
    std::unique_lock<std::mutex> lock(one.mutex);
    if (one.closed) {
      lock.unlock();
      while (true) pause();
    }
    ++one.passing;
  }
  PyEval_RestoreThread(state_);
  const std::lock_guard<std::mutex> lock(one.mutex);
  --one.passing;
  one.changed.notify_all();
}

void closeDoor() {
  Door& one = door();
  PyThreadState* state = PyEval_SaveThread();
  {
    std::unique_lock<std::mutex> lock(one.mutex);
    one.closed = true;
    one.changed.wait(lock, [&] { return one.passing == 0; });
  }
  PyEval_RestoreThread(state);
}

}  // namespace dynpython
