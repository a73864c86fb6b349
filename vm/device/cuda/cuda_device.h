// The row "cuda": the first GPU of the CUDA driver, whose library is opened when the device is. Kernels come
// as the text of a PTX module; each takes its buffers, its scalars, the number of units, the address of the
// fault word and the number of the launch, 64 bits each. Memory is kept in a pool. A fault that the driver
// calls sticky (an illegal address, say) ends the device for this process.
#pragma once

#include "vm/include/dyn_device.h"

namespace dyn::vm {

const DynDevice& cudaDevice();

}  // namespace dyn::vm
