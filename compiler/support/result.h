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
#include <optional>
#include <string>
#include <utility>

#include "compiler/support/diagnostic.h"

namespace dyn {

template <typename T>
class Result;

// A failure on its way to a caller. It is one pointer: what succeeds neither moves nor frees a diagnostic.
class Error {
 public:
  Error() : Error(Diagnostic{}) {}
  explicit Error(Diagnostic diagnostic);
  Error(const Error& other);
  Error(Error&& other) noexcept : diagnostic_(std::exchange(other.diagnostic_, nullptr)) {}
  Error& operator=(Error other) noexcept {
    std::swap(diagnostic_, other.diagnostic_);
    return *this;
  }
  ~Error() {
    if (diagnostic_) destroy();
  }

  Diagnostic& diagnostic() & { return *diagnostic_; }
  const Diagnostic& diagnostic() const& { return *diagnostic_; }
  Diagnostic diagnostic() && { return std::move(*diagnostic_); }
  Error&& note(std::string text) &&;
  // Unless a place is known already.
  Error&& at(SourceLocation place) &&;

 private:
  template <typename T>
  friend class Result;
  explicit Error(Diagnostic* diagnostic) : diagnostic_(diagnostic) {}
  void destroy();

  Diagnostic* diagnostic_;  // null: moved from, or the error of a Result that is ok
};

Error makeError(DiagnosticId id, std::string message);
Error makeError(DiagnosticId id, std::string message, SourceLocation place);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)), error_(nullptr) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Diagnostic& error() const {
    assert(!ok());
    return error_.diagnostic();
  }
  Error takeError() {
    assert(!ok());
    return std::move(error_);
  }

 private:
  std::optional<T> value_;
  Error error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() : error_(nullptr) {}
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.diagnostic_; }
  explicit operator bool() const { return ok(); }
  const Diagnostic& error() const {
    assert(!ok());
    return error_.diagnostic();
  }
  Error takeError() {
    assert(!ok());
    return std::move(error_);
  }

 private:
  Error error_;
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
