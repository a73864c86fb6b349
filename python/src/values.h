// Python objects as values of a run, and back. All functions want the interpreter's lock.
//
// A value is written as: (array, dtype) a tensor over the array's memory; ([bytes, ...], DYN_STRING, shape) a
// tensor of strings; a list of values, a list; None, an absent optional. Results come back in the same forms.
// Their arrays lie over the runtime's memory and are read-only: outputs may share it with weights.
#ifndef DYN_PYTHON_VALUES_H
#define DYN_PYTHON_VALUES_H

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "dyn.h"
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

// An output that lies in the caller's memory (`lent`) is copied, and counted.
nb::object objectOf(Held value, const std::vector<Lent>& lent, std::atomic<int64_t>& copies);

// Gives back the memory of arrays whose last value is gone. Values are released on any thread, arrays only
// here.
void giveBack();

}  // namespace dynpython

#endif
