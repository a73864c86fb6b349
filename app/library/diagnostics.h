// Diagnostics of the C API: what the calling thread's latest call said, and its status.
//
//   return reporting([&]() -> Status { ... });   // exceptions end here, too
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "app/library/include/dyn.h"
#include "compiler/support/result.h"

namespace dyn::library {

dyn_status statusOf(DiagnosticId id);

// Of this thread; a call of the API that can fail begins by forgetting them.
void forgetDiagnostics();
void noteDiagnostics(const std::vector<Diagnostic>& diagnostics);
// Notes it in front of the others.
dyn_status failed(const Diagnostic& error);
dyn_status failed(const std::exception& thrown);

inline Error badArgument(std::string message) {
  return makeError(DiagnosticId::usageError, std::move(message));
}

// The status of a piece of work, with its error noted.
template <typename Work>
dyn_status reporting(const Work& work) {
  forgetDiagnostics();
  try {
    const Status done = work();
    return done.ok() ? DYN_OK : failed(done.error());
  } catch (const std::exception& thrown) {
    return failed(thrown);
  }
}

// A struct of the caller, which may be of an older version: as much as it has room for.
template <typename T>
Status give(const T& value, T* target) {
  if (!target) return badArgument("the result is a null pointer");
  const size_t size = target->size;
  if (size < sizeof(size_t) || size > 4096)
    return badArgument("the result's member `size` is " + std::to_string(size) + ": set it to its sizeof");
  T whole = value;
  whole.size = size;
  std::memcpy(static_cast<void*>(target), &whole, std::min(size, sizeof whole));
  return {};
}

// The other way: such a struct with the members that its version has, and 0 in all others. `least`: the
// size of its first version; `type`: its name.
template <typename T>
Result<T> taken(const T& given, size_t least, const std::string& type) {
  if (given.size < least || given.size > 4096)
    return badArgument("the member `size` of " + type + " is " + std::to_string(given.size) +
                       ": set it to sizeof(" + type + ")");
  T whole{};
  std::memcpy(static_cast<void*>(&whole), &given, std::min(given.size, sizeof whole));
  return whole;
}

}  // namespace dyn::library
