// Loop kernels as PTX: the text that a CUDA driver takes, and that tests read and run.
//
//   DYN_TRY(DeviceKernel kernel, emitDeviceKernel(loopKernel, "dyn_kernel_3"));
//   kernel.ptx;                    // functions dyn_kernel_3 and, where it pays, dyn_kernel_3_block
//   joinPtx({kernel.ptx, other});  // one module of several
//
// Parameters of a function, 64 bits each: the buffers' addresses, the scalars, the number of units, the
// address of the fault word, the number of the launch (vm/include/dyn_device.h).
#pragma once

#include <span>
#include <string>

#include "compiler/codegen/llvm/kernel_module.h"
#include "compiler/loop/kernel.h"

namespace dyn {

struct DeviceKernel {
  std::string ptx;
  bool thread = false, block = false;  // the forms it has (device_mapping.h)
  bool mayFault = false;
  // Of products: "group/depth", how many rows read the same columns ("all") and how long the sum is, each a
  // number or "#2" for a scalar of the kernel. Then there is a function dyn_kernel_3_tile. Else "".
  std::string tile;
};

// The least GPU that code is generated for; every later one takes it, too.
const MachineDescription& deviceMachine();

// Errors: unsupportedFeature and unsupportedDtype for what has no code there, or where LLVM has no such
// target.
Result<DeviceKernel> emitDeviceKernel(const loop::Kernel& kernel, const std::string& symbol);

std::string joinPtx(std::span<const std::string> modules);

}  // namespace dyn
