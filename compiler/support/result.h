// Result<T>: a value or a Diagnostic. The only way a library of Dyn reports a failure; nothing throws or
// exits.
//
//   Result<int> half(int n) {
//     if (n % 2) return makeError(DiagnosticId::dimDomain, fmt("{} is odd", n));
//     return n / 2;
//   }
//   DYN_TRY(int h, half(n));         // returns the error to the caller, or binds h
//   DYN_CHECK(verify(module));       // the same for Result<void>
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include "compiler/support/diagnostic.h"

namespace dyn {

struct Error {
  Diagnostic diagnostic;
  Error&& note(std::string text) && {
    diagnostic.notes.push_back(std::move(text));
    return std::move(*this);
  }
  Error&& at(SourceLocation place) && {
    if (!diagnostic.place.known()) diagnostic.place = std::move(place);
    return std::move(*this);
  }
};

inline Error makeError(DiagnosticId id, std::string message, SourceLocation place = {}) {
  Error e;
  e.diagnostic.id = id;
  e.diagnostic.message = std::move(message);
  e.diagnostic.place = std::move(place);
  return e;
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    assert(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    assert(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    assert(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Diagnostic& error() const {
    assert(!ok());
    return std::get<1>(state_).diagnostic;
  }
  Error takeError() {
    assert(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}
  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Diagnostic& error() const {
    assert(failed_);
    return error_.diagnostic;
  }
  Error takeError() {
    assert(failed_);
    return std::move(error_);
  }

 private:
  Error error_;
  bool failed_ = false;
};

using Status = Result<void>;

#define DYN_CONCAT_(a, b) a##b
#define DYN_CONCAT(a, b) DYN_CONCAT_(a, b)
#define DYN_TRY_(tmp, declaration, expression) \
  auto tmp = (expression);                     \
  if (!tmp.ok()) return tmp.takeError();       \
  declaration = std::move(tmp).value()
#define DYN_TRY(declaration, ...) DYN_TRY_(DYN_CONCAT(dynTry, __LINE__), declaration, (__VA_ARGS__))
#define DYN_CHECK(...)                               \
  do {                                               \
    auto dynCheck = (__VA_ARGS__);                   \
    if (!dynCheck.ok()) return dynCheck.takeError(); \
  } while (0)

}  // namespace dyn
