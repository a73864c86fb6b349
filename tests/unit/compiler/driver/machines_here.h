// The machines that this host can stand for in a test.
#pragma once

#include <vector>

#include "compiler/codegen/llvm/machine_catalog.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {

// This host's own vectors, and those of AVX2 where it has more.
inline std::vector<CompileOptions> machinesHere() {
  std::vector<CompileOptions> all(1);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    all.emplace_back();
    all.back().target = Target{.machine = *machinePreset("haswell")};
  }
#endif
  return all;
}

}  // namespace dyn::test
