#include "runtime.h"

#include "arrays.h"
#include "fault.h"
#include "program.h"
#include "unlocked.h"

namespace dynpython {

namespace {

// ((name, number, bytes of an element), ...), by number.
nb::tuple dtypes() {
  nb::list rows;
  for (int32_t i = 0; const char* name = dyn_dtype_text(i); ++i)
    rows.append(nb::make_tuple(name, i, dyn_dtype_size_bytes(i)));
  return nb::tuple(rows);
}

}  // namespace

void bindRuntime(nb::module_& module) {
  nb::set_leak_warnings(false);  // a thread that sleeps at the interpreter's end keeps what it holds
  const std::string name = nb::cast<std::string>(module.attr("__name__"));
  registerFaults(name.substr(0, name.rfind('.')));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&closeDoor));
  module.def("dtypes", &dtypes);
  module.def("usable_cores", &dyn_usable_cores);
  module.def("set_numpy", &setNumpy, nb::arg("array_type"), nb::arg("dtypes"), nb::arg("table"),
             nb::arg("sample"), nb::arg("finish"));
  nb::class_<Program>(module, "Program")
      .def("run", &Program::run, nb::arg("inputs"), nb::arg("targets"))
      .def("run_plain", &Program::runPlain, nb::arg("inputs"))
      .def("run_sequences", &Program::runSequences, nb::arg("inputs"), nb::arg("names"),
           nb::arg("lengths_input"))
      .def("growing", &Program::growing, nb::arg("array"), nb::arg("dtype"), nb::arg("axis"), nb::arg("room"))
      .def("cancel", &Program::cancel)
      .def_prop_ro("copies", &Program::copies);
}

}  // namespace dynpython
