// The custom kernel that the example of custom_call names: a copy of its argument. Who includes this has it.
#pragma once

#include <cstring>

#include "vm/include/abi/dyn_custom_kernel.h"
#include "vm/include/dyn_custom_kernels.h"

namespace dyn::test {

inline int32_t copyExample(const DynBuiltinCall* call) {
  const DynTensorView &x = call->arguments[0], &y = call->results[0];
  if (x.dtype != y.dtype || x.elements != y.elements)
    return dyn_custom_fault(call, DYN_BAD_INPUT, "the result is not like the argument");
  std::memcpy(y.data, x.data, static_cast<size_t>(x.elements) * dyn_dtype_size_bytes(x.dtype));
  return DYN_OK;
}

inline const bool kHasExampleKernel = [] {
  static const DynCustomKernel kernels[] = {{"example_copy", {nullptr, copyExample}}};
  return dyn_custom_kernels_add(kernels, 1) == DYN_OK;
}();

}  // namespace dyn::test
