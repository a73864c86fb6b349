// Machine code that is in this process already, as text: what a hand-written kernel of the runtime was
// compiled to.
//
// Functions begin and end where the unwind tables say, so nothing but the code itself is needed; names are
// those of the symbols where the file has them. A function is followed by those that it calls, or whose
// address it takes, in the same file: the bodies of parallel loops are among them.
//
//   DYN_TRY(std::vector<std::string> texts, textsOfRunningCode(machine, {code}, 4000));
//
//   # dyn::vm::kernels::gemm(dyn::vm::FlatCall&), 1234 bytes
//           pushq   %rbp
//   .L1c:
//           vmovups (%rdi), %ymm0
//           jne     .L1c
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "compiler/target/machine.h"

namespace dyn {

// A text for each, of no more than so many instructions; what is left out is said. Error unsupportedFeature
// for a machine of another architecture than this process runs on.
Result<std::vector<std::string>> textsOfRunningCode(const MachineDescription& machine,
                                                    const std::vector<const void*>& codes,
                                                    size_t mostInstructions);

}  // namespace dyn
