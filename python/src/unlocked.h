// The interpreter's lock given up for a while, also where the interpreter ends meanwhile.
#ifndef DYN_PYTHON_UNLOCKED_H
#define DYN_PYTHON_UNLOCKED_H

#include "python_objects.h"

namespace dynpython {

// Gives the lock up, and takes it back at its end. Python ends a thread that asks for the lock of an ending
// interpreter, by an exit through the frames of C++, which no destructor survives. Here such a thread sleeps
// until the process is gone.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// From atexit, with the lock: no thread comes back from an Unlocked after this.
void closeDoor();

}  // namespace dynpython

#endif
