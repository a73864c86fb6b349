// NumPy's arrays, without its headers: read where they lie, made by NumPy's C interface.
#ifndef DYN_PYTHON_ARRAYS_H
#define DYN_PYTHON_ARRAYS_H

#include "dynvm.h"
#include "python_objects.h"

namespace dynpython {

// An array as its C interface lays it out, the same in NumPy 1 and 2 (PyArrayObject_fields).
struct Array {
  PyObject head;
  char* data;
  int rank;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // bytes
  PyObject* base;       // null, or the owner of the memory
  PyObject* dtype;
  int flags;

  bool isDense() const { return (flags & 1) != 0 && (flags & 0x100) != 0; }  // in C order, and aligned
};

// From the package, once. table: NumPy's C interface (_ARRAY_API). sample: an array of float32 with the
// shape (2, 3), every second column of a dense one, by which the layout above is checked. finish: makes a
// result of the forms of values.h that are no arrays. Error DYN_UNSUPPORTED: another layout.
void setNumpy(nb::object arrayType, nb::list dtypes, nb::handle table, nb::handle sample, nb::object finish);

// Exactly numpy.ndarray, no class derived from it?
bool isArray(nb::handle object);
// numpy.ndarray, or a class derived from it. Error DYN_BAD_INPUT: anything else.
const Array& arrayAt(nb::handle object);
bool hasDtype(const Array& array, int32_t dtype);
size_t sizeBytesOf(const Array& array);

// Does setNumpy give a type for it?
bool hasNumpyType(int32_t dtype);
nb::object finished(nb::object form);

// An array over the memory of a tensor, which it takes over. Of a dtype without a type of NumPy's: of
// unsigned integers of the same size.
nb::object arrayOf(dyn_value* tensor, int32_t dtype, bool writable);
// The tensor that an array of arrayOf is all of, borrowed; null: it is none.
dyn_value* tensorBelow(const Array& array);

}  // namespace dynpython

#endif
