// status.h — the results of the driver's calls: the codes that are used here, with their names and what they
// say.
#pragma once

namespace simcuda {

#define SIMCUDA_STATUSES(X)                                                                           \
  X(kSuccess, 0, "CUDA_SUCCESS", "no error")                                                          \
  X(kInvalidValue, 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")                                 \
  X(kOutOfMemory, 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory")                                     \
  X(kNotInitialized, 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error")                         \
  X(kDeviceUnavailable, 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device is busy or not available")       \
  X(kInvalidDevice, 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal")                       \
  X(kInvalidContext, 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context")                     \
  X(kNoBinary, 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for the device")    \
  X(kUncorrectable, 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered")       \
  X(kInvalidPtx, 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed")                       \
  X(kInvalidHandle, 400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle")                      \
  X(kNotFound, 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found")                                 \
  X(kNotReady, 600, "CUDA_ERROR_NOT_READY", "device not ready")                                       \
  X(kIllegalAddress, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered")   \
  X(kOutOfResources, 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested")       \
  X(kTimeout, 702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated")            \
  X(kMisalignedAddress, 716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address")                   \
  X(kLaunchFailed, 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure")                     \
  X(kNotSupported, 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported")                        \
  X(kCaptureUnsupported, 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",                                \
    "not permitted while a stream is capturing")                                                      \
  X(kCaptureUnmatched, 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",                                    \
    "the capture was not begun on this stream")                                                       \
  X(kCaptureUnjoined, 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing streams were not joined") \
  X(kUnknown, 999, "CUDA_ERROR_UNKNOWN", "unknown error")

enum Status : int {
#define SIMCUDA_ENUM(id, code, name, text) id = code,
  SIMCUDA_STATUSES(SIMCUDA_ENUM)
#undef SIMCUDA_ENUM
};

}  // namespace simcuda
