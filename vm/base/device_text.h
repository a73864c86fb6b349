// What the rows of host memory share: their messages, and whether two ranges of bytes meet.
#pragma once

#include <cstdint>
#include <cstdio>

#include "vm/base/kernel_fault.h"
#include "vm/include/abi/dyn_device.h"
#include "vm/include/dynvm.h"

namespace dyn::vm {

inline int32_t deviceFailure(DynDeviceText* text, dyn_status status, const char* message) {
  if (text) snprintf(text->text, sizeof text->text, "%s", message);
  return status;
}

inline bool overlap(const void* a, const void* b, uint64_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
  return (first < second ? second - first : first - second) < bytes;
}

inline int32_t kernelFailure(DynDeviceText* text, const char* kernel, int32_t fault) {
  if (text) {
    snprintf(text->text, sizeof text->text, "kernel %.150s: %s", kernel, kernelFaultText(fault));
    text->fault = fault;
  }
  return DYN_KERNEL_FAULT;
}

}  // namespace dyn::vm
