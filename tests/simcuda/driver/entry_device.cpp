// Entry points: initialisation, devices, contexts, names of errors.
#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

namespace {

// Numbers of CUdevice_attribute, and what a device of this kind answers; what is in no row is 0.
struct Attribute {
  int number, value;
};
constexpr Attribute kAttributes[] = {
    {1, 1024},         // threads of a block
    {2, 1024},         // block x, y, z
    {3, 1024},         //
    {4, 64},           //
    {5, 2147483647},   // grid x, y, z
    {6, 65535},        //
    {7, 65535},        //
    {8, 49152},        // shared memory of a block
    {9, 65536},        // constant memory
    {10, 32},          // lanes of a warp
    {11, 2147483647},  // pitch
    {12, 65536},       // registers of a block
    {13, 1410000},     // clock, kHz
    {14, 512},         // texture alignment
    {15, 1},           // copies beside kernels
    {16, 108},         // multiprocessors
    {17, 0},           // a limit of run time
    {18, 0},           // integrated
    {19, 1},           // maps host memory
    {31, 1},           // several kernels at once
    {36, 1215000},     // memory clock, kHz
    {37, 5120},        // bus width, bits
    {38, 41943040},    // second-level cache
    {39, 2048},        // threads of a multiprocessor
    {40, 3},           // copy engines
    {41, 1},           // one address space with the host
    {78, 1},           // priorities of streams
    {81, 167936},      // shared memory of a multiprocessor
    {82, 65536},       // registers of a multiprocessor
    {97, 166912},      // shared memory of a block that asks for more
    {106, 32},         // blocks of a multiprocessor
    {111, 1024},       // shared memory that the system keeps of each block
    {115, 1},          // cuMemAllocAsync
};

}  // namespace

SIMCUDA_ENTRY cuInit(unsigned flags) {
  return enter("cuInit", Needs::Nothing, [&](Driver& d) {
    if (flags != 0) return d.fail(kInvalidValue, "cuInit: flags must be 0");
    d.initialized = true;
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuDriverGetVersion(int* version) {
  return enter("cuDriverGetVersion", Needs::Nothing, [&](Driver&) {
    *version = 12080;
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuDeviceGetCount(int* count) {
  return enter("cuDeviceGetCount", Needs::Initialized, [&](Driver& d) {
    *count = static_cast<int>(d.devices.size());
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuDeviceGet(int* device, int ordinal) {
  return enter("cuDeviceGet", Needs::Initialized, [&](Driver& d) {
    if (ordinal < 0 || ordinal >= static_cast<int>(d.devices.size()))
      return d.fail(kInvalidDevice, "cuDeviceGet: there is no such device");
    *device = ordinal;
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuDeviceGetName(char* name, int size, int device) {
  return enter("cuDeviceGetName", Needs::Initialized, [&](Driver& d) {
    if (device < 0 || device >= static_cast<int>(d.devices.size())) return kInvalidDevice;
    std::snprintf(name, static_cast<size_t>(size), "simcuda (simulated, sm_%d)", d.options.arch);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuDeviceGetAttribute(int* value, int attribute, int device) {
  return enter("cuDeviceGetAttribute", Needs::Initialized, [&](Driver& d) {
    if (device < 0 || device >= static_cast<int>(d.devices.size())) return kInvalidDevice;
    *value = 0;
    if (attribute == 75) *value = d.options.arch / 10;
    if (attribute == 76) *value = d.options.arch % 10;
    for (const Attribute& a : kAttributes) {
      if (a.number == attribute) *value = a.value;
    }
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return enter("cuDeviceTotalMem_v2", Needs::Initialized, [&](Driver& d) {
    if (device < 0 || device >= static_cast<int>(d.devices.size())) return kInvalidDevice;
    *bytes = d.memory->capacity();
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuDevicePrimaryCtxRetain(void** context, int device) {
  return enter("cuDevicePrimaryCtxRetain", Needs::Initialized, [&](Driver& d) {
    if (device < 0 || device >= static_cast<int>(d.devices.size())) return kInvalidDevice;
    d.devices[device].retained++;
    if (d.devices.size() > 1) d.trace("retain context of device " + std::to_string(device));
    *context = &d.devices[device];
    return kSuccess;
  });
}

// The last one takes the context down: its faults are forgotten.
SIMCUDA_ENTRY cuDevicePrimaryCtxRelease_v2(int device) {
  return enter("cuDevicePrimaryCtxRelease_v2", Needs::Initialized, [&](Driver& d) {
    if (device < 0 || device >= static_cast<int>(d.devices.size())) return kInvalidDevice;
    if (d.devices[device].retained == 0)
      return d.fail(kInvalidContext, "cuDevicePrimaryCtxRelease: it is not retained");
    if (--d.devices[device].retained == 0) {
      if (d.devices[device].sticky == kSuccess) d.queue.waitAll();
      d.devices[device].sticky = kSuccess;
    }
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuCtxSetCurrent(void* context) {
  return enter("cuCtxSetCurrent", Needs::Initialized, [&](Driver& d) {
    if (!context) {
      currentDevice = -1;
      return kSuccess;
    }
    for (const Device& device : d.devices) {
      if (context != &device) continue;
      if (device.retained == 0) return d.fail(kInvalidContext, "cuCtxSetCurrent: it was released");
      currentDevice = device.index;
      return kSuccess;
    }
    return d.fail(kInvalidContext, "cuCtxSetCurrent: that is not a context");
  });
}

SIMCUDA_ENTRY cuCtxGetCurrent(void** context) {
  return enter("cuCtxGetCurrent", Needs::Initialized, [&](Driver& d) {
    *context = d.current();
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuCtxSynchronize() {
  return enter("cuCtxSynchronize", Needs::Context, [&](Driver& d) {
    d.trace("synchronize context");
    d.queue.waitAll();
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuGetErrorName(int status, const char** name) {
  *name = nullptr;
#define SIMCUDA_NAME(id, code, errorName, text) \
  if (status == code) *name = errorName;
  SIMCUDA_STATUSES(SIMCUDA_NAME)
#undef SIMCUDA_NAME
  return *name ? kSuccess : kInvalidValue;
}

SIMCUDA_ENTRY cuGetErrorString(int status, const char** string) {
  *string = nullptr;
#define SIMCUDA_TEXT(id, code, errorName, text) \
  if (status == code) *string = text;
  SIMCUDA_STATUSES(SIMCUDA_TEXT)
#undef SIMCUDA_TEXT
  return *string ? kSuccess : kInvalidValue;
}
