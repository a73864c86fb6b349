#include "vm/device/cuda/cublaslt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace dyn::vm {
namespace {

// Weak: a statically linked program has none, and then no library either.
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlerror

struct Loaded {
  CublasLt calls;
  std::string fault;  // empty: all is there
};

// A driver of the user's choice goes with the library beside it, and with no other.
std::vector<std::string> paths() {
  if (const char* given = getenv("DYN_CUBLASLT"); given && *given) return {given};
  const char* driver = getenv("DYN_CUDA_DRIVER");
  if (!driver || !*driver) return {"libcublasLt.so.13", "libcublasLt.so.12"};
  const std::string path = driver;
  const size_t folder = path.rfind('/');
  return {(folder == std::string::npos ? "" : path.substr(0, folder + 1)) + "libcublasLt.so.13"};
}

Loaded load() {
  Loaded loaded;
  if (!dlopen || !dlsym) {
    loaded.fault = "this program is linked without a loader of libraries";
    return loaded;
  }
  void* library = nullptr;
  std::string said;
  for (const std::string& path : paths()) {
    if ((library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))) break;
    const char* error = dlerror ? dlerror() : nullptr;
    if (said.empty()) said = error ? error : path;
  }
  if (!library) {
    loaded.fault = "there is no cuBLASLt here (" + said + ")";
    return loaded;
  }
  const auto find = [&](const char* symbol) {
    void* address = dlsym(library, symbol);
    if (!address && loaded.fault.empty())
      loaded.fault = std::string("the cuBLASLt that is here has no ") + symbol;
    return address;
  };
#define DYN_CUBLASLT_CALL(name, symbol, parameters) \
  loaded.calls.name = reinterpret_cast<decltype(loaded.calls.name)>(find(symbol));
#include "vm/device/cuda/cublaslt_calls.def"
#undef DYN_CUBLASLT_CALL
  return loaded;
}

const char* statusNameOf(int status) {
  switch (status) {
    case cublaslt::kNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case cublaslt::kAllocationFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case cublaslt::kInvalidValue:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case cublaslt::kArchitecture:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case cublaslt::kExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case cublaslt::kInternalError:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case cublaslt::kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "an error of cuBLASLt";
  }
}

}  // namespace

std::string cublasLtStatus(int status) {
  return std::string(statusNameOf(status)) + " (" + std::to_string(status) + ")";
}

const CublasLt* cublasLt(std::string& why) {
  // Never closed, as the driver is not.
  static const Loaded* const kLoaded = new Loaded(load());
  why = kLoaded->fault;
  return kLoaded->fault.empty() ? &kLoaded->calls : nullptr;
}

}  // namespace dyn::vm
