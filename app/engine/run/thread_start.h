// The beginning of a thread, as a Status: the system may have none to give (EAGAIN: ulimit -u, a limit of a
// container).
//
//   DYN_CHECK(startThread(thread_, [this] { work(); }));
#pragma once

#include <functional>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "compiler/support/result.h"

namespace dyn {

// Precondition: `thread` runs nothing. After an error it still runs nothing. Error: runtimeError.
inline Status startThread(std::thread& thread, std::function<void()> work) {
  std::string why;
  try {
    thread = std::thread(std::move(work));
    return {};
  } catch (const std::system_error& error) {
    why = error.code().message();
  } catch (const std::bad_alloc&) {
    why = "the system gave no more memory";
  }
  return makeError(DiagnosticId::runtimeError, "no thread can be started: " + why)
      .note("the limit is that of `ulimit -u`, or of the container (pids.max)");
}

}  // namespace dyn
