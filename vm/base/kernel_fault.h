// What a fault of a generated kernel (dyn_kernel.h) is called.
#pragma once

#include <cstdint>

#include "vm/include/abi/dyn_kernel.h"

namespace dyn::vm {

inline const char* kernelFaultText(int32_t fault) {
  switch (DYN_FAULT_CODE(fault)) {
    case DYN_KERNEL_INDEX_OUT_OF_RANGE:
      return "index out of range";
    case DYN_KERNEL_DIVISION_BY_ZERO:
      return "division by zero";
    case DYN_KERNEL_BAD_VALUE:
      return "bad value";
    default:
      return "fault";
  }
}

}  // namespace dyn::vm
