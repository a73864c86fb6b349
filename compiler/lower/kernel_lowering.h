// Kernels of groups of operations, and the code that launches them.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/kernel/group_kernel.h"
#include "compiler/lower/function_lowering.h"
#include "vm/shared/dyn_epilogue_form.h"

namespace dyn {

// A builtin counts on the units; a device has forms of its own, and its operands in its memory.
enum class KernelUse : uint8_t { launched, byBuiltin, onDevice };

// The group of operations that kernels are built of.
struct KernelGroup {
  const Function& body;
  const std::unordered_map<ValueId, ValueId>& outer;  // its parameters → values of the function
  std::span<const ValueId> given;                     // of its values: they lie in the first destination
  std::span<const int32_t> destinations;              // the object of each result
  std::string description;
  KernelUse use = KernelUse::launched;
};

// A kernel with the registers it is called with: launched by itself, or handed to a builtin as its
// epilogue.
struct KernelCall {
  int32_t kernel = 0;
  std::vector<int32_t> buffers, scalars;
  EpilogueForm form;                    // of an epilogue
  int32_t checks = -1;                  // PlaceRow::checks
  int32_t units = 0, steps = 0;         // for a launch
  std::vector<KernelVersion> versions;  // of a kernel that is launched, with the same buffers
  struct Split {
    SplitKernels kernels;
    int32_t parts = 0;  // the object that holds them
    std::vector<int32_t> partsBuffers, wholeBuffers;
  };
  std::optional<Split> split;  // goes before the versions
};

// The kernel of these results of the group, all of one shape. `columns`: the symbols of an epilogue's columns
// (ProgramBuilder::epilogueColumns); whoever calls the kernel gives them.
Result<KernelCall> makeKernel(FunctionLowering& c, const KernelGroup& group,
                              const std::vector<size_t>& results,
                              std::optional<std::pair<Dim, Dim>> columns = std::nullopt);
// Builds the kernels of the group and launches them.
Status launchGroup(FunctionLowering& c, const KernelGroup& group);

// The registers of one launch: what its guards compare, and what the kernel is called with.
struct KernelLaunch {
  std::vector<std::pair<int32_t, int32_t>> compared;
  int32_t units = 0, steps = 0;
  std::vector<int32_t> scalars;
};
Result<KernelLaunch> prepareLaunch(FunctionLowering& c, const loop::Kernel& kernel,
                                   const std::vector<VersionGuard>& guards);
void emitLaunch(FunctionLowering& c, int32_t kernel, const KernelLaunch& ready,
                const std::vector<int32_t>& buffers);

}  // namespace dyn
