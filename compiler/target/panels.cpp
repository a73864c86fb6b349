#include "compiler/target/panels.h"

namespace dyn {

namespace {

bool isX86(const Target& target) { return target.machine.triple.rfind("x86_64", 0) == 0; }

}  // namespace

bool namesOneLayout(const Target& target) {
  return !isX86(target) || (target.levels.empty() && target.machine.cpu.rfind("x86-64", 0) != 0);
}

PanelLayout panelsOf(const Target& target) {
  const MachineDescription& machine = target.machine;
  const bool x86 = isX86(target);
  return panelLayoutOf({.avx2 = x86 && machine.vectorBits >= 256 && machine.fma,
                        .avx512 = x86 && machine.avx512,
                        .avx512Bf16 = x86 && machine.avx512Bf16,
                        .avx512Vnni = x86 && machine.avx512Vnni,
                        .neon = machine.triple.rfind("aarch64", 0) == 0});
}

}  // namespace dyn
