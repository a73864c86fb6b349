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
using CudaGraph = struct CudaGraphImpl*;
using CudaGraphExec = struct CudaGraphExecImpl*;
using CudaAddress = unsigned long long;

// Of CUresult; the rest is told by name.
enum CudaError : int {
  kCudaSuccess = 0,
  kCudaInvalidValue = 1,
  kCudaOutOfMemory = 2,
  kCudaDeviceUnavailable = 46,
  kCudaNoDevice = 100,
  kCudaInvalidDevice = 101,
  kCudaInvalidImage = 200,
  kCudaNoBinary = 209,
  kCudaUncorrectable = 214,
  kCudaInvalidPtx = 218,
  kCudaUnsupportedPtx = 222,
  kCudaNotFound = 500,
  kCudaNotReady = 600,
  kCudaIllegalAddress = 700,
  kCudaLaunchTimeout = 702,
  kCudaContextDestroyed = 709,
  kCudaAssert = 710,
  kCudaStackError = 714,
  kCudaIllegalInstruction = 715,
  kCudaMisalignedAddress = 716,
  kCudaInvalidAddressSpace = 717,
  kCudaInvalidPc = 718,
  kCudaLaunchFailed = 719,
};
// A kernel did what it may not: nothing more can be done in its context.
bool isKernelError(int error);
// The code of a module is no code, or none for this chip.
bool isCodeError(int error);
// The device is not there any more.
bool isDeviceLost(int error);
inline constexpr unsigned kCudaStreamNonBlocking = 1, kCudaEventDefault = 0, kCudaEventDisableTiming = 2;
inline constexpr int kCudaCaptureThreadLocal = 1;
// Of a device: its compute capability is major * 10 + minor.
inline constexpr int kCudaCapabilityMajor = 75, kCudaCapabilityMinor = 76;
// What the last arguments of a launch are made of.
inline void* const kCudaLaunchEnd = nullptr;
inline void* const kCudaLaunchBufferPointer = reinterpret_cast<void*>(uintptr_t{1});
inline void* const kCudaLaunchBufferSize = reinterpret_cast<void*>(uintptr_t{2});

// A simulated driver may ask which memory the next launch of this thread is given, to find accesses beyond.
struct CudaDeclaredBuffer {
  uint64_t begin, end;
  uint32_t use;  // 0: it is read, 1: written, 2: both
};

struct CudaDriver {
  int (*declareBuffers)(const CudaDeclaredBuffer* buffers, size_t count) = nullptr;  // null: unused
#define DYN_CUDA_CALL(name, symbol, parameters) int(*name) parameters = nullptr;
#include "vm/device/cuda/driver_calls.def"
#undef DYN_CUDA_CALL
};

// Null and `why`, one line, where it cannot be used. The answer stays the same for the process.
const CudaDriver* cudaDriver(std::string& why);

}  // namespace dyn::vm
