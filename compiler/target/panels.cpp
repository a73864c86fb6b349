#include "compiler/target/panels.h"

namespace dyn {

PanelLayout panelsOf(const Target& target) {
  const MachineDescription& machine = target.machine;
  const bool x86 = machine.triple.rfind("x86_64", 0) == 0;
  return panelLayoutOf({.avx2 = x86 && machine.vectorBits >= 256 && machine.fma,
                        .avx512 = x86 && machine.avx512,
                        .avx512Bf16 = x86 && machine.avx512Bf16,
                        .avx512Vnni = x86 && machine.avx512Vnni});
}

}  // namespace dyn
