// The rows "cuda": a GPU of the CUDA driver each, by its index; the first is that of the table. The
// driver's library is opened when the device is. Kernels come
// as the text of a PTX module; each takes its buffers, its scalars, the number of units, the address of the
// fault word and the number of the launch, 64 bits each. Memory is kept in a pool. A fault that the driver
// calls sticky (an illegal address, say) ends the device for this process.
#pragma once

#include "vm/include/abi/dyn_device.h"

namespace dyn::vm {

inline constexpr int kMostCudaDevices = 64;
// Made when it is first asked for. Null: no driver has so many.
const DynDevice* cudaDevice(int index);

}  // namespace dyn::vm
