// The extension dyn._dyn. Its callers are in dyn/, which has what people read.
#include "model.h"
#include "program.h"
#include "runtime.h"

using namespace dynpython;

NB_MODULE(_dyn, module) {
  bindRuntime(module);
  module.def("abi_version", &dyn_library_abi_version);
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
