// The extension dyn_runtime._dyn, over libdynvm alone: packages that a compiler made elsewhere. Its callers
// are in runtime/dyn_runtime/, which has what people read.
#include "dyn_load.h"

#include "fault.h"
#include "program.h"
#include "runtime.h"
#include "thread_pool.h"

using namespace dynpython;

namespace {

using Port = dyn_status (*)(const dyn_module*, int32_t, const char**, const char**, int32_t*, int32_t*);
using PortDim = dyn_status (*)(const dyn_module*, int32_t, int32_t, dyn_contract_dim*);

// [(name, kind, "", dtype, rank, [(value, text, low, high, multiple)])]; the type's text is the package's
// to write.
nb::list portsOf(const dyn_module* module, int32_t count, Port port, PortDim portDim) {
  nb::list ports;
  for (int32_t i = 0; i < count; ++i) {
    const char *name = nullptr, *kind = nullptr;
    int32_t dtype = -1, rank = -1;
    if (const dyn_status status = port(module, i, &name, &kind, &dtype, &rank)) throw runFault(status);
    nb::list dims;
    for (int32_t axis = 0; axis < rank; ++axis) {
      dyn_contract_dim dim{};
      if (const dyn_status status = portDim(module, i, axis, &dim)) throw runFault(status);
      dims.append(nb::make_tuple(dim.value, dim.text, dim.low, dim.high, dim.multiple));
    }
    ports.append(nb::make_tuple(name, kind, "", dtype, rank, dims));
  }
  return ports;
}

// (program, ports of inputs, ports of outputs). key: "" or an Ed25519 public key of 32 bytes, by which the
// package must be signed.
nb::tuple load(const std::string& path, int32_t threads, uint64_t memoryLimitBytes, bool nativeCode,
               const nb::bytes& key, const ThreadPool* pool) {
  dyn_load_options how{};
  how.no_native_code = !nativeCode;
  how.verify_key = key.size() == 0 ? nullptr : static_cast<const uint8_t*>(key.data());
  dyn_module* module = nullptr;
  if (const dyn_status status = dyn_module_load_file_with(path.c_str(), nullptr, &how, &module))
    throw runFault(status);
  dyn_options options{};
  options.thread_count = threads;
  options.memory_limit_bytes = memoryLimitBytes;
  options.thread_pool = pool ? pool->get() : nullptr;
  const nb::object program = nb::cast(new Program(module, options), nb::rv_policy::take_ownership);
  return nb::make_tuple(
      program, portsOf(module, dyn_module_input_count(module), &dyn_module_input, &dyn_module_input_dim),
      portsOf(module, dyn_module_output_count(module), &dyn_module_output, &dyn_module_output_dim));
}

}  // namespace

NB_MODULE(_dyn, module) {
  bindRuntime(module);
  module.def("load", &load, nb::arg("path"), nb::arg("threads"), nb::arg("memory_limit_bytes"),
             nb::arg("native_code"), nb::arg("key"), nb::arg("pool").none());
}
