// Programs run as run_both.h does, for each of the machines that this host can stand for.
#pragma once

#include <string>
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

inline void expectSameOnMachines(const std::string& text, const std::vector<std::vector<HostTensor>>& inputs,
                                 double tolerance = 0) {
  for (const CompileOptions& options : machinesHere()) {
    SCOPED_TRACE(text + (options.target ? " for AVX2" : ""));
    expectSame(text, inputs, options, tolerance);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace dyn::test
