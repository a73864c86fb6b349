#include "arrays.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "fault.h"
#include "values.h"

namespace dynpython {

namespace {

// References of the interpreter's own; they are never given back, as arrays may outlive the module.
PyObject* arrayType = nullptr;
PyObject* dtypeObjects[DYN_DTYPE_COUNT] = {};

int getBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Memory& memory = *nb::inst_ptr<Memory>(self);
  return PyBuffer_FillInfo(view, self, memory.begin, static_cast<Py_ssize_t>(memory.sizeBytes),
                           memory.writable ? 0 : 1, flags);
}

PyType_Slot memorySlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&getBuffer)}, {0, nullptr}};

nb::object sizesOf(const int64_t* sizes, size_t count, int64_t factor) {
  PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(count));
  if (!made) throw nb::python_error();
  for (size_t i = 0; i < count; ++i)
    PyTuple_SetItem(made, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i] * factor));
  return nb::steal(made);
}

}  // namespace

Memory::~Memory() {
  dyn_value_release(value);
  giveBack();
}

void setNumpy(nb::object type, nb::list dtypes) {
  arrayType = type.release().ptr();
  for (size_t i = 0; i < std::min<size_t>(dtypes.size(), DYN_DTYPE_COUNT); ++i)
    if (!dtypes[i].is_none()) dtypeObjects[i] = nb::object(dtypes[i]).release().ptr();
}

void bindMemory(nb::module_& module) { nb::class_<Memory>(module, "Memory", nb::type_slots(memorySlots)); }

bool isArray(nb::handle object) { return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == arrayType; }

bool hasNumpyType(int32_t dtype) { return dtype >= 0 && dtype < DYN_DTYPE_COUNT && dtypeObjects[dtype]; }

int32_t dtypeOf(const Py_buffer& view) {
  const char* format = view.format ? view.format : "B";
  const bool complex = *format == 'Z';
  if (complex) ++format;
  if (!format[0] || format[1]) return -1;
  const auto sized = [&](int32_t one, int32_t two, int32_t four, int32_t eight) {
    switch (view.itemsize) {
      case 1:
        return one;
      case 2:
        return two;
      case 4:
        return four;
      case 8:
        return eight;
      default:
        return -1;
    }
  };
  if (complex) return view.itemsize == 16 ? DYN_C128 : view.itemsize == 8 ? DYN_C64 : -1;
  if (*format == '?') return DYN_BOOL;
  if (std::strchr("bhilq", *format)) return sized(DYN_I8, DYN_I16, DYN_I32, DYN_I64);
  if (std::strchr("BHILQ", *format)) return sized(DYN_U8, DYN_U16, DYN_U32, DYN_U64);
  if (std::strchr("efd", *format)) return sized(-1, DYN_F16, DYN_F32, DYN_F64);
  return -1;
}

nb::object arrayOf(dyn_value* tensor, int32_t dtype, bool writable) {
  Held value(tensor);
  const auto rank = static_cast<size_t>(dyn_value_rank(tensor));
  const int64_t* shape = dyn_value_shape(tensor);
  const auto elementBytes = static_cast<int64_t>(dyn_dtype_size_bytes(dtype));
  auto* first = static_cast<char*>(const_cast<void*>(dyn_value_first(tensor)));
  int64_t before = 0, count = 1;  // bytes in front of the first element; elements
  nb::object strides = nb::none();
  for (size_t i = 0; i < rank; ++i) count *= shape[i];
  int64_t sizeBytes = count * elementBytes;
  if (count > 0 && !dyn_value_data(tensor)) {
    std::vector<int64_t> distances(std::max<size_t>(rank, 1));
    if (const dyn_status status = dyn_value_strides(tensor, distances.data())) throw runFault(status);
    int64_t after = 0;
    for (size_t i = 0; i < rank; ++i)
      (distances[i] < 0 ? before : after) +=
          (distances[i] < 0 ? -1 : 1) * distances[i] * (shape[i] - 1) * elementBytes;
    sizeBytes = before + after + elementBytes;
    strides = sizesOf(distances.data(), rank, elementBytes);
  }
  static char nothing = 0;
  void* begin = count > 0 ? first - before : &nothing;
  nb::object type = dtypeObjects[dtype] ? nb::borrow(dtypeObjects[dtype])
                                        : nb::borrow(dtypeObjects[elementBytes == 2 ? DYN_U16 : DYN_U8]);
  const nb::object memory =
      nb::cast(new Memory(value.take(), begin, static_cast<size_t>(sizeBytes), writable),
               nb::rv_policy::take_ownership);
  if (strides.is_none()) return nb::handle(arrayType)(sizesOf(shape, rank, 1), type, memory);
  return nb::handle(arrayType)(sizesOf(shape, rank, 1), type, memory, before, strides);
}

}  // namespace dynpython
