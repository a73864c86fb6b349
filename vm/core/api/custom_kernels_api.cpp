// The C API of kernels that the host adds.
#include <dlfcn.h>

#include "vm/base/custom_kernels.h"
#include "vm/core/api/c_api.h"
#include "vm/include/dyn_custom_kernels.h"

// What is linked without the dynamic loader has no libraries to load.
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

using namespace dyn::vm;
using namespace dyn::vm::api;

namespace {

Status loadCustomKernels(const char* path) {
  if (!path || !*path) return invalid("path is empty");
  const std::string name = path;
  if (!dlopen || !dlsym || !dlerror)
    return failure(DYN_UNSUPPORTED, "unsupported: " + name + ": this program was linked without dlopen");
  // A name without a folder would be looked for in the system's folders.
  const std::string place = name.find('/') == std::string::npos ? "./" + name : name;
  void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = dlerror();
    return failure(DYN_IO_ERROR, name + ": " + (why ? why : "it cannot be loaded"));
  }
  const auto function = reinterpret_cast<DynCustomKernelsFunction>(dlsym(library, DYN_CUSTOM_KERNELS_SYMBOL));
  const DynCustomKernels* const all = function ? function() : nullptr;
  if (!all)
    return failure(DYN_IO_ERROR, name + ": no kernels are in it: it does not export " +
                                     DYN_CUSTOM_KERNELS_SYMBOL + "() (DYN_CUSTOM_KERNELS)");
  std::span<const DynCustomKernel> kernels;
  Status status = kernelsOf(*all, kernels);
  if (status.ok()) status = addCustomKernels(kernels);
  const char* const kind = status.code == DYN_UNSUPPORTED ? "unsupported: " : "";
  if (!status.ok()) status.message = kind + name + ": " + status.message;
  return status;
}

}  // namespace

dyn_status dyn_custom_kernels_load(const char* path) {
  return guarded([&] { return loadCustomKernels(path); });
}

dyn_status dyn_custom_kernels_add(const DynCustomKernel* kernels, int32_t count) {
  return guarded([&]() -> Status {
    if (count < 0) return invalid("count is negative");
    if (count > 0 && !kernels) return invalid("kernels is null");
    return addCustomKernels({kernels, static_cast<size_t>(count)});
  });
}

const DynBuiltinKernel* dyn_custom_kernel_find(const char* name) {
  return name ? findCustomKernel(name) : nullptr;
}
