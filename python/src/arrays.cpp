#include "arrays.h"

#include <algorithm>

#include "fault.h"
#include "values.h"

namespace dynpython {

namespace {

// References of the interpreter's own; they are never given back, as arrays may outlive the module.
PyObject* arrayType = nullptr;
PyObject* dtypeObjects[DYN_DTYPE_COUNT] = {};
PyObject* finishFunction = nullptr;

// Rows of NumPy's table of functions; their numbers belong to its binary interface.
constexpr size_t kArrayTypeRow = 2, kNewFromDescrRow = 94, kSetBaseObjectRow = 282;
// PyArray_NewFromDescr(type, dtype, rank, shape, strides, data, flags, object): takes the reference of dtype.
PyObject* (*newFromDtype)(PyObject*, PyObject*, int, const Py_ssize_t*, const Py_ssize_t*, void*, int,
                          PyObject*) = nullptr;
// PyArray_SetBaseObject(array, base): takes the reference of base.
int (*setBase)(PyObject*, PyObject*) = nullptr;
constexpr int kWritable = 0x400;
constexpr int kMostAxes = 32;

constexpr const char* kValue = "dyn value";  // the name of capsules that hold a dyn_value

void dropValue(PyObject* capsule) {
  const HasLock hasLock;
  dyn_value_release(static_cast<dyn_value*>(PyCapsule_GetPointer(capsule, kValue)));
  giveBack();
}

bool isAsExpected(const Array& sample, const void* const* table) {
  return table[kArrayTypeRow] == arrayType && sample.rank == 2 && sample.shape[0] == 2 &&
         sample.shape[1] == 3 && sample.strides[0] == 24 && sample.strides[1] == 8 &&
         sample.dtype == dtypeObjects[DYN_F32] && sample.base && sample.data == arrayAt(sample.base).data &&
         !sample.isDense() && arrayAt(sample.base).isDense() && (sample.flags & kWritable) != 0;
}

}  // namespace

void setNumpy(nb::object type, nb::list dtypes, nb::handle table, nb::handle sample, nb::object finish) {
  arrayType = type.release().ptr();
  finishFunction = finish.release().ptr();
  for (size_t i = 0; i < std::min<size_t>(dtypes.size(), DYN_DTYPE_COUNT); ++i)
    if (!dtypes[i].is_none()) dtypeObjects[i] = nb::object(dtypes[i]).release().ptr();
  auto* const rows = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
  if (!rows) throw nb::python_error();
  if (!isAsExpected(arrayAt(sample), rows))
    throw Fault(DYN_UNSUPPORTED, "unsupported: this version of NumPy lays arrays out in another way");
  newFromDtype = reinterpret_cast<decltype(newFromDtype)>(rows[kNewFromDescrRow]);
  setBase = reinterpret_cast<decltype(setBase)>(rows[kSetBaseObjectRow]);
}

bool isArray(nb::handle object) { return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == arrayType; }

const Array& arrayAt(nb::handle object) {
  if (!isArray(object) && !PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(arrayType)))
    throw Fault(DYN_BAD_INPUT, "an object is no numpy.ndarray");
  return *reinterpret_cast<const Array*>(object.ptr());
}

bool hasDtype(const Array& array, int32_t dtype) {
  if (array.dtype == dtypeObjects[dtype]) return true;
  const int equal =
      PyObject_RichCompareBool(array.dtype, dtypeObjects[dtype], Py_EQ);  // int64 as long or long long
  if (equal < 0) throw nb::python_error();
  return equal != 0;
}

size_t sizeBytesOf(const Array& array) {
  return nb::cast<size_t>(nb::handle(reinterpret_cast<const PyObject*>(&array)).attr("nbytes"));
}

bool hasNumpyType(int32_t dtype) { return dtype >= 0 && dtype < DYN_DTYPE_COUNT && dtypeObjects[dtype]; }

nb::object finished(nb::object form) { return isArray(form) ? form : nb::handle(finishFunction)(form); }

nb::object arrayOf(dyn_value* tensor, int32_t dtype, bool writable) {
  Held value(tensor);
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  const int32_t rank = dyn_value_rank(tensor);
  const auto* shape = reinterpret_cast<const Py_ssize_t*>(dyn_value_shape(tensor));
  const auto elementBytes = static_cast<int64_t>(dyn_dtype_size_bytes(dtype));
  int64_t strides[kMostAxes];
  bool isDense = true;
  void* first = const_cast<void*>(dyn_value_data(tensor));
  if (!first && std::count(shape, shape + rank, 0) == 0) {
    isDense = false;
    if (rank > kMostAxes) throw Fault(DYN_UNSUPPORTED, "unsupported: a strided result of more than 32 axes");
    if (const dyn_status status = dyn_value_strides(tensor, strides)) throw runFault(status);
    for (int32_t i = 0; i < rank; ++i) strides[i] *= elementBytes;
    first = const_cast<void*>(dyn_value_first(tensor));
  }
  static char nothing = 0;
  PyObject* type =
      dtypeObjects[dtype] ? dtypeObjects[dtype] : dtypeObjects[elementBytes == 2 ? DYN_U16 : DYN_U8];
  Py_INCREF(type);
  const nb::object array = nb::steal(newFromDtype(
      arrayType, type, rank, shape, isDense ? nullptr : reinterpret_cast<const Py_ssize_t*>(strides),
      first ? first : &nothing, writable ? kWritable : 0, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  PyObject* owner = PyCapsule_New(tensor, kValue, &dropValue);
  if (!owner) throw nb::python_error();
  value.take();
  if (setBase(array.ptr(), owner) != 0) throw nb::python_error();
  return array;
}

dyn_value* tensorBelow(const Array& array) {
  PyObject* owner = array.base;
  if (owner && isArray(owner)) owner = arrayAt(owner).base;  // seen with a type that NumPy has not by itself
  if (!owner || !PyCapsule_IsValid(owner, kValue)) return nullptr;
  auto* const value = static_cast<dyn_value*>(PyCapsule_GetPointer(owner, kValue));
  const auto elementBytes = static_cast<int64_t>(dyn_dtype_size_bytes(dyn_value_dtype(value)));
  int64_t strides[kMostAxes];
  if (dyn_value_rank(value) != array.rank || array.rank > kMostAxes ||
      dyn_value_strides(value, strides) != DYN_OK)
    return nullptr;
  const int64_t* shape = dyn_value_shape(value);
  if (!std::equal(shape, shape + array.rank, array.shape)) return nullptr;
  if (std::count(shape, shape + array.rank, 0) > 0) return value;
  if (dyn_value_first(value) != array.data) return nullptr;
  for (int i = 0; i < array.rank; ++i)
    if (shape[i] != 1 && strides[i] * elementBytes != array.strides[i]) return nullptr;
  return value;
}

}  // namespace dynpython
