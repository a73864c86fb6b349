// Picks the runtime's own micro-kernels for the CPU it runs on.
#include "vm/core/builtin.h"

extern const DynGemmFamily dynGemmFamilyPortable, dynGemmFamilyAvx2, dynGemmFamilyAvx512;

namespace dyn::vm {

const DynGemmFamily* defaultGemmFamily() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return &dynGemmFamilyAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &dynGemmFamilyAvx2;
#endif
  return &dynGemmFamilyPortable;
}

}  // namespace dyn::vm
