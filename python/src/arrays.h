// NumPy's arrays, without its headers: read by the buffer protocol, made by the constructor of numpy.ndarray.
#ifndef DYN_PYTHON_ARRAYS_H
#define DYN_PYTHON_ARRAYS_H

#include "dyn.h"
#include "python_objects.h"

namespace dynpython {

// Memory of a value as an object with a buffer; it keeps the value.
struct Memory {
  dyn_value* value;
  void* begin;
  size_t sizeBytes;
  bool writable;
  Memory(dyn_value* kept, void* first, size_t bytes, bool mayWrite)
      : value(kept), begin(first), sizeBytes(bytes), writable(mayWrite) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
};

// From the package, once: numpy.ndarray, and NumPy's type of an element by number, None where it has none.
void setNumpy(nb::object arrayType, nb::list dtypes);
void bindMemory(nb::module_& module);

// Exactly numpy.ndarray, no class derived from it?
bool isArray(nb::handle object);

// The number of what a buffer's elements are, by its format; -1: none of those that NumPy has by itself.
int32_t dtypeOf(const Py_buffer& view);

// Does setNumpy give a type for it?
bool hasNumpyType(int32_t dtype);

// An array over the memory of a tensor, which it takes over. Of a dtype without a type of NumPy's: of
// unsigned integers of the same size.
nb::object arrayOf(dyn_value* tensor, int32_t dtype, bool writable);

}  // namespace dynpython

#endif
