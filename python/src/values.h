// Python objects as values of a run, and back. All functions want the interpreter's lock.
//
// A value is written as: (array, dtype) a tensor over the array's memory; ([bytes, ...], DYN_STRING, shape)
// a tensor of strings; a list of values, a list; (value,) an optional that is there, () an absent one.
// Results come back in the same forms, but an array whose dtype NumPy has comes alone, and so does an
// optional: its value, or None. Their arrays lie over the runtime's memory, and are read-only where something
// else refers to it, such as weights or another output.
#ifndef DYN_PYTHON_VALUES_H
#define DYN_PYTHON_VALUES_H

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dyn_ragged.h"
#include "dyn_results.h"
#include "python_objects.h"

namespace dynpython {

// A reference to a dyn_value.
class Held {
 public:
  Held() = default;
  explicit Held(dyn_value* value) : value_(value) {}
  Held(Held&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Held() { dyn_value_release(value_); }
  dyn_value* get() const { return value_; }
  dyn_value* take() { return std::exchange(value_, nullptr); }

 private:
  dyn_value* value_ = nullptr;
};

// Memory of the caller that inputs of a run lie in.
struct Lent {
  const char* begin;
  size_t sizeBytes;
};

// The value of `object`; `copies` counts the arrays that had to be copied: not dense and row-major, or not
// aligned.
Held valueOf(dyn_context* context, nb::handle object, std::atomic<int64_t>& copies, std::vector<Lent>& lent);

// Of an array of this dtype and rank; empty where it is another object. Not dense: copied as by valueOf,
// unless it is a growing tensor: then it is that tensor.
std::optional<Held> plainValueOf(dyn_context* context, nb::handle object, int32_t dtype, int32_t rank,
                                 std::atomic<int64_t>& copies, std::vector<Lent>& lent);

// Of (rows, dtype, [lengths]), sequences behind each other, which are copied; empty where it is another form.
std::optional<Held> raggedOf(dyn_context* context, nb::handle object);
// (rows, dtype, [lengths]) of a ragged value.
nb::object sequencesObject(Held value, const std::vector<Lent>& lent, std::atomic<int64_t>& copies);

// Does one of them lie in this memory?
bool overlaps(const void* begin, size_t sizeBytes, const std::vector<Lent>& lent);

// In the forms above; isOptional: what a port of the kind optional gave. An output that lies in the caller's
// memory (`lent`) is copied, and counted.
nb::object objectOf(Held value, bool isOptional, const std::vector<Lent>& lent, std::atomic<int64_t>& copies);

// As long as it lives, this thread has the interpreter's lock, and values that it releases give their
// arrays back at once.
class HasLock {
 public:
  HasLock();
  ~HasLock();
  HasLock(const HasLock&) = delete;
  HasLock& operator=(const HasLock&) = delete;

 private:
  bool before_;
};

// Gives back the arrays whose last value is gone. Values are released on any thread, arrays only with the
// lock.
void giveBack();

}  // namespace dynpython

#endif
