#include "vm/device/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace dyn::vm {
namespace {

// Weak: a statically linked program has none, and then no driver either.
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

struct LoadedDriver {
  CudaDriver calls;
  std::string fault;  // empty: all is there
};

LoadedDriver loadDriver() {
  LoadedDriver loaded;
  const char* given = getenv("DYN_CUDA_DRIVER");
  const std::string path = given && *given ? given : "libcuda.so.1";
  if (!dlopen || !dlsym) {
    loaded.fault = "this program is linked without a loader of libraries";
    return loaded;
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = dlerror ? dlerror() : nullptr;
    loaded.fault = "there is no CUDA driver here (" + std::string(error ? error : path) + ")";
    return loaded;
  }
  const auto find = [&](const char* symbol) {
    void* address = dlsym(library, symbol);
    if (!address && loaded.fault.empty()) loaded.fault = "the driver " + path + " has no " + symbol;
    return address;
  };
#define DYN_CUDA_CALL(name, symbol, parameters) \
  loaded.calls.name = reinterpret_cast<decltype(loaded.calls.name)>(find(symbol));
#include "vm/device/cuda/driver_calls.def"
#undef DYN_CUDA_CALL
  loaded.calls.declareBuffers =
      reinterpret_cast<decltype(loaded.calls.declareBuffers)>(dlsym(library, "dyn_simcuda_next_buffers"));
  return loaded;
}

}  // namespace

bool isKernelError(int error) {
  switch (error) {
    case kCudaIllegalAddress:
    case kCudaLaunchTimeout:
    case kCudaAssert:
    case kCudaStackError:
    case kCudaIllegalInstruction:
    case kCudaMisalignedAddress:
    case kCudaInvalidAddressSpace:
    case kCudaInvalidPc:
    case kCudaLaunchFailed:
      return true;
    default:
      return false;
  }
}

bool isCodeError(int error) {
  return error == kCudaInvalidImage || error == kCudaNoBinary || error == kCudaInvalidPtx ||
         error == kCudaUnsupportedPtx || error == kCudaInvalidValue;
}

bool isDeviceLost(int error) {
  return error == kCudaDeviceUnavailable || error == kCudaNoDevice || error == kCudaInvalidDevice ||
         error == kCudaUncorrectable || error == kCudaContextDestroyed;
}

const CudaDriver* cudaDriver(std::string& why) {
  // Never closed: drivers keep threads of their own.
  static const LoadedDriver* const kLoaded = new LoadedDriver(loadDriver());
  why = kLoaded->fault;
  return kLoaded->fault.empty() ? &kLoaded->calls : nullptr;
}

}  // namespace dyn::vm
