// Programs for the runtime in fixed memory (vm/include/abi/dyn_freestanding.h): which can run there, their
// object files for any target, and their code in this process, to run or to rehearse them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "vm/include/abi/dyn_freestanding.h"

namespace dyn {

// A target like this one, but without heap, threads, files and hand-written kernels.
Target fixedTarget(Target target);

// Error unsupportedFeature, which names what the runtime does not have.
Status checkFixed(const vm::Program& program);

// What a target's vectors and caches gain from elements at a multiple of so many bytes.
uint32_t fixedAlignment(const Target& target);

// Everything but the runtime: kernels, host program, tables with the symbol kFixedProgramSymbol.
struct FixedObjects {
  std::vector<std::string> objects;
  int64_t weightsBytes = 0;
};
Result<FixedObjects> fixedObjects(const CompiledModel& compiled, uint64_t ramBoundBytes);

// The sizes of a call with inputs of these shapes, as the program orders them.
std::vector<int64_t> fixedSizesOf(const CompiledModel& compiled,
                                  const std::vector<std::vector<int64_t>>& shapes);

// What an image holds besides.
struct FixedImageInputs {
  std::vector<int64_t> sizes;  // as vm::callSizes orders them
  std::vector<std::string> elements;
  uint64_t memoryBytes = 0;
};
Result<std::string> fixedImageObject(const FixedImageInputs& inputs, const Target& target);

// In this process. Of a program for another target only what rehearsals need.
struct FixedLoaded;
Result<std::shared_ptr<const FixedLoaded>> loadFixed(std::shared_ptr<const CompiledModel> compiled);
const DynFixedProgram* fixedProgramOf(const FixedLoaded& loaded);

}  // namespace dyn
