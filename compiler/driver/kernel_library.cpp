#include "compiler/driver/kernel_library.h"

#include "vm/include/dyn_gpu.h"
#include "vm/shared/dyn_contraction.h"
#include "vm/shared/dyn_device_code.h"
#ifdef DYN_HAVE_ONEDNN
#include "vm/include/dyn_library.h"
#endif

namespace dyn {

Status libraryReady(std::string_view version) {
  if (version == kCublasLt) {
    const char* missing = dyn_cublaslt_fault();
    if (!missing) return {};
    return makeError(DiagnosticId::unsupportedFeature,
                     std::string("unavailable: version cublaslt: ") + missing);
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
