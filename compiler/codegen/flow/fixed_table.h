// What the runtime in fixed memory is given of a program (vm/include/dyn_fixed.h), as data of an object file
// for any machine: the tables, the constants, and references to kernels and to the host program's native code.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/codegen/object/engine.h"
#include "vm/include/dyn_fixed.h"
#include "vm/isa/program.h"

namespace dyn {

struct FixedTableSettings {
  uint32_t instructionsPerPiece = 1000;  // as in FlowSettings
  uint32_t alignment = 64;               // of elements
  uint64_t ramBoundBytes = 0;
  // Of code that runs in this process. The table is where the code finds the runtime's functions; constants
  // are named by their addresses instead of held.
  const DynFlowTable* table = nullptr;
  bool kernels = true;  // false: of a rehearsal on another machine, which runs none
};

inline constexpr const char* kFixedProgramSymbol = "dyn_fixed_program";

// The program has no @init, no globals and no builtins (checkFixed). `constants[i]` are the bytes of
// program.constants[i]; all must live until the job is done.
KernelJob fixedTableJob(const vm::Program& program, const std::vector<const void*>& constants,
                        const MachineDescription& machine, const FixedTableSettings& settings);

}  // namespace dyn
