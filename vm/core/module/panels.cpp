#include "vm/core/module/panels.h"

namespace dyn::vm {

PanelLayout machinePanels() {
  PanelInstructions has;
#if defined(__x86_64__)
  __builtin_cpu_init();
  has.avx512 = __builtin_cpu_supports("avx512f") != 0;
  has.avx2 = has.avx512 || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  has.avx512Bf16 = has.avx512 && __builtin_cpu_supports("avx512bf16") != 0;
  has.avx512Vnni = has.avx512 && __builtin_cpu_supports("avx512vnni") != 0;
#elif defined(__aarch64__)
  has.neon = true;
#endif
  return panelLayoutOf(has);
}

}  // namespace dyn::vm
