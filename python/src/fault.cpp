#include "fault.h"

#include "python_objects.h"

namespace dynpython {

std::vector<Said> latestSaid() {
  std::vector<Said> all;
  for (int32_t i = 0; i < dyn_diagnostic_count(); ++i) {
    dyn_diagnostic one{};
    one.size = sizeof one;
    if (dyn_diagnostic_get(i, &one) != DYN_OK) break;
    all.push_back({one.severity, one.id, one.message, one.place, one.file, one.node, one.notes, one.op,
                   one.line, one.column});
  }
  return all;
}

Fault modelFault(dyn_status status) {
  std::vector<Said> said = latestSaid();
  std::string message = said.empty() ? dyn_status_text(status) : said.front().message;
  return Fault(status, std::move(message), std::move(said));
}

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

void registerFaults() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Fault& fault) {
      try {
        const nb::object made =
            nb::module_::import_("dyn._errors")
                .attr("error_of")(static_cast<int>(fault.status), dyn_status_text(fault.status),
                                  textOf(fault.message), listOf(fault.said));
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
      } catch (nb::python_error& inner) {
        inner.restore();
      }
    }
  });
}

}  // namespace dynpython
