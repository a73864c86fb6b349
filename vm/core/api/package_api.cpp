// Packages in the C API. Apart from the rest of it: a program that has its model in memory needs no files and
// no dynamic linker.
#include <cstring>

#include "vm/core/api/c_api.h"
#include "vm/core/load/package_loader.h"
#include "vm/include/dyn_gpu.h"
#include "vm/include/dyn_load.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

extern "C" dyn_status dyn_module_load_file(const char* path, const dyn_host* host, dyn_module** module) {
  return dyn_module_load_file_on(path, host, nullptr, module);
}

extern "C" dyn_status dyn_module_load_file_on(const char* path, const dyn_host* host, const char* device,
                                              dyn_module** module) {
  dyn_load_options options = {};
  options.device = device;
  return dyn_module_load_file_with(path, host, &options, module);
}

extern "C" dyn_status dyn_module_load_file_with(const char* path, const dyn_host* host,
                                                const dyn_load_options* options, dyn_module** module) {
  return guarded([&]() -> Status {
    if (!path || !module) return invalid("path or module is null");
    *module = nullptr;
    PackageOptions how;
    if (options) {
      how.device = options->device;
      how.code = options->no_native_code ? NativeCode::leftOut : NativeCode::taken;
      if (options->verify_key) memcpy(how.key.emplace().data(), options->verify_key, sizeof(VerifyKey));
    }
    const dyn_host given = host ? *host : dyn_host{};
    HostOwner owner(given);
    auto made = std::make_unique<dyn_module>();
    const std::string name = path;
    owner.taken();
    if (Status status = loadPackage(name, given, how, made->module); !status.ok()) return status;
    *module = made.release();
    return okStatus();
  });
}

extern "C" dyn_status dyn_package_check(const char* path) {
  return guarded([&]() -> Status { return path ? checkPackage(path) : invalid("the path is null"); });
}
