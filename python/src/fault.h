// What a call of the C API said when it failed, on its way to a Python exception (_errors.py makes it).
#ifndef DYN_PYTHON_FAULT_H
#define DYN_PYTHON_FAULT_H

#include <exception>
#include <string>
#include <vector>

#include "dynvm.h"

namespace dynpython {

// A diagnostic, its texts copied: those of the C API live until the thread's next call.
struct Said {
  int severity = 0;
  std::string id, message, place, file, node, notes, op;
  uint32_t line = 0, column = 0;
};

struct Fault : std::exception {
  Fault(dyn_status code, std::string text, std::vector<Said> all = {})
      : status(code), message(std::move(text)), said(std::move(all)) {}
  const char* what() const noexcept override { return message.c_str(); }
  dyn_status status;
  std::string message;
  std::vector<Said> said;
};

// Of a call of dynvm.h: it has a message, no diagnostics.
Fault runFault(dyn_status status);
// Faults become exceptions of this package from here on.
void registerFaults(const std::string& package);

}  // namespace dynpython

#endif
