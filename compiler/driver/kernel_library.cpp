#include "compiler/driver/kernel_library.h"

#include "vm/include/dyn_gpu.h"
#include "vm/shared/dyn_contraction.h"
#ifdef DYN_HAVE_ONEDNN
#include "vm/include/dyn_library.h"
#endif

namespace dyn {
namespace {

struct DeviceLibrary {
  std::string_view version;
  const char* (*fault)();  // null: the device has no library
};
constexpr DeviceLibrary kDeviceLibraries[] = {
#define DYN_DEVICE(id, name, number, level, language, generator, library, libraryFault, help) \
  {library, libraryFault},
#include "compiler/target/devices.def"
};

}  // namespace

Status libraryReady(std::string_view version) {
  for (const DeviceLibrary& library : kDeviceLibraries) {
    if (!library.fault || version != library.version) continue;
    const char* missing = library.fault();
    if (!missing) return {};
    return makeError(DiagnosticId::unsupportedFeature,
                     "unavailable: version " + std::string(version) + ": " + missing);
  }
  if (version != contraction::kOneDnn) return {};
#ifdef DYN_HAVE_ONEDNN
  const char* fault = dyn_onednn_fault();
  if (!fault) return {};
  return makeError(DiagnosticId::unsupportedFeature,
                   std::string("unsupported: version onednn: oneDNN cannot be used: ") + fault);
#else
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: version onednn: Dyn was built without oneDNN");
#endif
}

decltype(dyn_host::resolve_builtin) libraryBuiltins() {
#ifdef DYN_HAVE_ONEDNN
  return dyn_onednn_builtin;
#else
  return nullptr;
#endif
}

}  // namespace dyn
