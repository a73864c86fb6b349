#include "runtime.h"

#include "arrays.h"
#include "context.h"
#include "fault.h"
#include "program.h"
#include "thread_pool.h"
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
  nb::class_<ThreadPool>(module, "ThreadPool")
      .def(nb::init<int32_t>(), nb::arg("threads"))
      .def_prop_ro("threads", &ThreadPool::threads);
  nb::class_<Program>(module, "Program")
      .def("run", &Program::run, nb::arg("inputs"), nb::arg("targets"))
      .def("run_plain", &Program::runPlain, nb::arg("inputs"))
      .def("run_sequences", &Program::runSequences, nb::arg("inputs"), nb::arg("names"),
           nb::arg("lengths_input"))
      .def("growing", &Program::growing, nb::arg("array"), nb::arg("dtype"), nb::arg("axis"), nb::arg("room"))
      .def("cancel", &Program::cancel)
      .def_prop_ro("copies", &Program::copies);
  nb::class_<Value>(module, "Value");
  nb::class_<Context>(module, "Context")
      .def(nb::init<Program&, bool, bool>(), nb::arg("program"), nb::arg("interpret"), nb::arg("dry_run"),
           nb::keep_alive<1, 2>())
      .def("set", &Context::set, nb::arg("index"), nb::arg("form"))
      .def("set_value", &Context::setValue, nb::arg("index"), nb::arg("value"))
      .def("set_forest", &Context::setForest, nb::arg("name"), nb::arg("constructors"), nb::arg("starts"),
           nb::arg("children"), nb::arg("fields"))
      .def("hand_on", &Context::handOn, nb::arg("output"), nb::arg("input"))
      .def("run", &Context::run)
      .def("cancel", &Context::cancel)
      .def("output", &Context::output, nb::arg("index"))
      .def_prop_ro("result_count", &Context::resultCount)
      .def("value", &Context::value, nb::arg("form"), nb::rv_policy::take_ownership)
      .def("compound", &Context::compound, nb::arg("is_list"), nb::arg("tag"), nb::arg("items"),
           nb::rv_policy::take_ownership)
      .def("statistics", &Context::statistics)
      .def("profile", &Context::profile, nb::arg("enabled"))
      .def("profile_text", &Context::profileText, nb::arg("format"))
      .def("simulate_threads", &Context::simulateThreads, nb::arg("enabled"));
}

}  // namespace dynpython
