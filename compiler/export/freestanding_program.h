// Programs for the freestanding runtime (vm/include/abi/dyn_freestanding.h): which can run there, their
// object files for any target, and their code in this process, to run or to run them dry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "vm/include/abi/dyn_freestanding.h"

namespace dyn {

// Error unsupportedFeature, which names what the runtime does not have.
Status checkFreestanding(const vm::Program& program);

// What a target's vectors and caches gain from elements at a multiple of so many bytes.
uint32_t freestandingAlignment(const Target& target);

// Everything but the runtime: kernels, host program, tables with the symbol kFreestandingProgramSymbol.
struct FreestandingObjects {
  std::vector<std::string> objects;
  int64_t weightsBytes = 0;
};
Result<FreestandingObjects> freestandingObjects(const CompiledModel& compiled, uint64_t ramBoundBytes);

// The sizes of a call with inputs of these shapes, as the program orders them.
std::vector<int64_t> freestandingSizesOf(const CompiledModel& compiled,
                                         const std::vector<std::vector<int64_t>>& shapes);

// What an image holds besides.
struct FreestandingImageInputs {
  std::vector<int64_t> sizes;  // as vm::callSizes orders them
  std::vector<std::string> elements;
  uint64_t memoryBytes = 0;
};
Result<std::string> freestandingImageObject(const FreestandingImageInputs& inputs, const Target& target);

// In this process. Of a program for another target only what dry runs need.
struct FreestandingLoaded;
Result<std::shared_ptr<const FreestandingLoaded>> loadFreestanding(
    std::shared_ptr<const CompiledModel> compiled);
const DynFreestandingProgram* freestandingProgramOf(const FreestandingLoaded& loaded);

}  // namespace dyn
