// The extension dyn._dyn. Its callers are in dyn/, which has what people read.
#include "arrays.h"
#include "fault.h"
#include "model.h"
#include "program.h"
#include "python_objects.h"
#include "unlocked.h"

namespace {

using namespace dynpython;

// ((name, number, bytes of an element), ...), by number.
nb::tuple dtypes() {
  nb::list rows;
  for (int32_t i = 0; const char* name = dyn_dtype_text(i); ++i)
    rows.append(nb::make_tuple(name, i, dyn_dtype_size_bytes(i)));
  return nb::tuple(rows);
}

}  // namespace

NB_MODULE(_dyn, module) {
  nb::set_leak_warnings(false);  // a thread that sleeps at the interpreter's end keeps what it holds
  registerFaults();
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&closeDoor));
  module.def("abi_version", &dyn_library_abi_version);
  module.def("dtypes", &dtypes);
  module.def("usable_cores", &dyn_usable_cores);
  module.def("set_numpy", &setNumpy, nb::arg("array_type"), nb::arg("dtypes"));
  bindMemory(module);
  nb::class_<Program>(module, "Program")
      .def("run", &Program::run, nb::arg("inputs"), nb::arg("targets"))
      .def("run_plain", &Program::runPlain, nb::arg("inputs"))
      .def("run_sequences", &Program::runSequences, nb::arg("inputs"), nb::arg("names"),
           nb::arg("lengths_input"))
      .def("cancel", &Program::cancel)
      .def_prop_ro("copies", &Program::copies);
  nb::class_<Model>(module, "Model")
      .def(nb::init<const std::optional<std::string>&, const std::optional<nb::bytes>&, const std::string&,
                    const Options&, nb::object>(),
           nb::arg("path").none(), nb::arg("bytes").none(), nb::arg("name"), nb::arg("options"),
           nb::arg("listener").none())
      .def_prop_ro("warnings", &Model::warnings)
      .def("ports", &Model::ports, nb::arg("input"))
      .def("compile", &Model::compile, nb::arg("threads"), nb::arg("memory_limit_bytes"),
           nb::rv_policy::take_ownership)
      .def("command", &Model::command, nb::arg("line"), nb::arg("as_text"))
      .def("cancel", &Model::cancel)
      .def("export", &Model::exportTo, nb::arg("kind"), nb::arg("path"), nb::arg("options"))
      .def("save", &Model::save, nb::arg("path"), nb::arg("options"))
      .def("predict", &Model::predict, nb::arg("dims"));
}
