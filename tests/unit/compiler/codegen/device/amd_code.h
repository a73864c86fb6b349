// For tests: loop kernels as code objects for AMD's GPUs, by the emitter that writes PTX: a thread for each
// element, or a block for each unit. Untested on hardware: no runtime here loads them, tests assemble them.
// Products in tiles and attention have no such form.
//
//   DYN_TRY(AmdKernel kernel, emitAmdKernel(loopKernel, "dyn_kernel_3", DeviceMapping::block));
//   kernel.object;     // an ELF of the machine amdgpu, with the kernel dyn_kernel_3
//   kernel.assembly;   // the same as text
//
// Arguments are those of PTX: buffers, scalars, units, the fault word's address, the launch's number.
#pragma once

#include <string>

#include "compiler/codegen/emit/device_mapping.h"
#include "compiler/loop/kernel.h"
#include "compiler/target/machine.h"

namespace dyn {

// gfx1030, in waves of 32 lanes.
const MachineDescription& amdMachine();

struct AmdKernel {
  std::string object, assembly;
};
// `mapping`: thread or block. Error unsupportedFeature: there is no such form of the kernel, or LLVM has no
// such target.
Result<AmdKernel> emitAmdKernel(const loop::Kernel& kernel, const std::string& symbol, DeviceMapping mapping);

}  // namespace dyn
