#include "vm/base/status.h"

#include "vm/include/dyn_gpu.h"

namespace dyn::vm {

const char* statusText(dyn_status code) {
  if (code == DYN_UNAVAILABLE) return "unavailable";
  if (code == DYN_DEVICE_ERROR) return "device error";
  switch (code) {
    case DYN_OK:
      return "ok";
    case DYN_INVALID_ARGUMENT:
      return "invalid argument";
    case DYN_BAD_PROGRAM:
      return "bad program";
    case DYN_BAD_INPUT:
      return "bad input";
    case DYN_CHECK_FAILED:
      return "check failed";
    case DYN_ARITHMETIC:
      return "arithmetic fault";
    case DYN_OUT_OF_RANGE:
      return "out of range";
    case DYN_OUT_OF_MEMORY:
      return "out of memory";
    case DYN_MEMORY_LIMIT:
      return "memory limit";
    case DYN_CANCELLED:
      return "cancelled";
    case DYN_DEPTH_LIMIT:
      return "depth limit";
    case DYN_KERNEL_FAULT:
      return "kernel fault";
    case DYN_UNSUPPORTED:
      return "unsupported";
    case DYN_IO_ERROR:
      return "input/output error";
    case DYN_INTERNAL:
      return "internal error";
  }
  return "unknown status";
}

std::string Status::toString() const {
  if (ok()) return "ok";
  std::string text = statusText(code);
  if (!message.empty()) text += ": " + message;
  if (!place.empty()) text += " (at " + place + ")";
  return text;
}

}  // namespace dyn::vm
