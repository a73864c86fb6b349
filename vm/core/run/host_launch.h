// The launch of a kernel on the host, but for its scratch memory: of the interpreter, and of calls that
// waited.
#pragma once

#include "vm/core/module/module.h"
#include "vm/device/cpu_device.h"
#include "vm/include/abi/dyn_builtin.h"

namespace dyn::vm {

// On the threads of `context`. A task needs `scratchBytes` of its own, 64-byte aligned.
inline DynLaunch hostLaunch(const Module& module, size_t index, void* const* buffers, const int64_t* scalars,
                            int64_t units, int64_t steps, const DynBuiltinContext* context) {
  const KernelRow& kernel = module.program().kernels[index];
  DynLaunch launch{};
  launch.kernel = reinterpret_cast<uintptr_t>(&module.kernelEntries()[index]);
  launch.buffers = buffers;
  launch.scalars = scalars;
  launch.bufferCount = kernel.bufferCount;
  launch.scalarCount = kernel.scalarCount;
  launch.units = units;
  launch.steps = steps;
  launch.context = context;
  launch.gridX = static_cast<uint32_t>(hostTasks(units, steps, context->threads));
  launch.scratchBytes = (kernel.scratchBytes + 63) / 64 * 64;
  return launch;
}

}  // namespace dyn::vm
