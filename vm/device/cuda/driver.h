// The CUDA driver, found when it is first asked for: libcuda.so.1, or the library that the environment's
// DYN_CUDA_DRIVER names. Nothing of CUDA is needed to build, and where there is no driver the program goes on
// without.
//
//   std::string why;
//   if (const CudaDriver* cuda = cudaDriver(why)) cuda->init(0);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dyn::vm {

// What the driver's header declares as pointers to structures that nobody sees, and as a number.
using CudaContext = struct CudaContextImpl*;
using CudaModule = struct CudaModuleImpl*;
using CudaFunction = struct CudaFunctionImpl*;
using CudaStream = struct CudaStreamImpl*;
using CudaEvent = struct CudaEventImpl*;
using CudaAddress = unsigned long long;

// Of CUresult; the rest is told by name.
enum CudaError : int {
  kCudaSuccess = 0,
  kCudaInvalidValue = 1,
  kCudaOutOfMemory = 2,
  kCudaNoDevice = 100,
  kCudaNotFound = 500,
  kCudaNotReady = 600,
  kCudaIllegalAddress = 700,
  kCudaMisalignedAddress = 716,
  kCudaLaunchFailed = 719,
};
inline constexpr unsigned kCudaStreamNonBlocking = 1, kCudaEventDisableTiming = 2;
// Of a device: its compute capability is major * 10 + minor.
inline constexpr int kCudaCapabilityMajor = 75, kCudaCapabilityMinor = 76;
// What the last arguments of a launch are made of.
inline void* const kCudaLaunchEnd = nullptr;
inline void* const kCudaLaunchBufferPointer = reinterpret_cast<void*>(uintptr_t{1});
inline void* const kCudaLaunchBufferSize = reinterpret_cast<void*>(uintptr_t{2});

struct CudaDriver {
#define DYN_CUDA_CALL(name, symbol, parameters) int(*name) parameters = nullptr;
#include "vm/device/cuda/driver_calls.def"
#undef DYN_CUDA_CALL
};

// Null and `why`, one line, where it can not be used. The answer stays the same for the process.
const CudaDriver* cudaDriver(std::string& why);

}  // namespace dyn::vm
