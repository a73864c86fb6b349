// What the freestanding runtime is given of a program (vm/include/abi/dyn_freestanding.h), as data of an
// object file for any machine: the tables, the constants, and references to kernels and to the host program's
// native code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/object/engine.h"
#include "vm/include/abi/dyn_freestanding.h"
#include "vm/isa/program.h"

namespace dyn {

struct FreestandingTableSettings {
  uint32_t instructionsPerPiece = 1000;  // as in FlowSettings
  uint32_t alignment = 64;               // of elements
  uint64_t ramBoundBytes = 0;
  // Of code that runs in this process. The table is where the code finds the runtime's functions; constants
  // are named by their addresses instead of held.
  const DynFlowTable* table = nullptr;
  const DynFreestandingBuiltinFunction* builtins = nullptr;  // and with it: dyn_freestanding_builtins
  bool kernels = true;  // false: of a dry run on another machine, which runs none
};

inline constexpr const char* kFreestandingProgramSymbol = "dyn_freestanding_program";

// The program has no @init, no globals and no builtins but the runtime's (checkFreestanding). `constants[i]`
// are the bytes of program.constants[i]; all must live until the job is done.
KernelJob freestandingTableJob(const vm::Program& program, const std::vector<const void*>& constants,
                               const MachineDescription& machine, const FreestandingTableSettings& settings);

// What an image runs its model on (vm/freestanding/image.h).
struct FreestandingImageData {
  std::vector<int64_t> sizes;       // of the call, in the program's order
  std::vector<std::string> inputs;  // their elements
  uint64_t memoryBytes = 0;
};
inline constexpr const char* kFreestandingImageSymbol = "dyn_freestanding_image";
KernelJob freestandingImageJob(const FreestandingImageData& image, const MachineDescription& machine);

}  // namespace dyn
