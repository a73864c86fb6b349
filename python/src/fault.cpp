#include "fault.h"

#include "python_objects.h"

namespace dynpython {

Fault runFault(dyn_status status) { return Fault(status, dyn_last_message()); }

nb::object textOf(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::list listOf(const std::vector<Said>& said) {
  nb::list list;
  for (const Said& one : said)
    list.append(nb::make_tuple(one.severity, textOf(one.id), textOf(one.message), textOf(one.place),
                               textOf(one.file), textOf(one.node), one.line, one.column, textOf(one.notes),
                               textOf(one.op)));
  return list;
}

namespace {

std::string errorsModule;  // written when the module is made

void raise(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Fault& fault) {
    try {
      const nb::object made =
          nb::module_::import_(errorsModule.c_str())
              .attr("error_of")(static_cast<int>(fault.status), dyn_status_text(fault.status),
                                textOf(fault.message), listOf(fault.said));
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    } catch (nb::python_error& inner) {
      inner.restore();
    }
  }
}

}  // namespace

void registerFaults(const std::string& package) {
  errorsModule = package + "._errors";
  nb::register_exception_translator(&raise);
}

}  // namespace dynpython
