// Kernels that the host has added (dyn_custom_kernels.h), by name, for the whole process.
#pragma once

#include <span>
#include <string_view>

#include "vm/base/status.h"
#include "vm/include/abi/dyn_custom_kernel.h"

namespace dyn::vm {

// Null: there is none of that name. What is found lives as long as the process. Threads: any.
const DynBuiltinKernel* findCustomKernel(std::string_view name);

// The kernels of a library, of whose list nothing is believed: DYN_UNSUPPORTED, it is of another version;
// DYN_IO_ERROR, it is no list.
Status kernelsOf(const DynCustomKernels& library, std::span<const DynCustomKernel>& kernels);

// Later kernels take the place of earlier ones of their names. They are borrowed for ever.
Status addCustomKernels(std::span<const DynCustomKernel> kernels);

}  // namespace dyn::vm
