#include "vm/device/cuda/cuda_device.h"

#include <mutex>
#include <new>

#include "vm/base/device_text.h"
#include "vm/device/cuda/cuda_gpu.h"

namespace dyn::vm {
namespace {

using Fault = CudaGpu::Fault;

int32_t answer(const Fault& fault, DynDeviceText* text) {
  if (fault.status == DYN_OK) return DYN_OK;
  if (text) {
    text->fault = fault.fault;
    text->launch = fault.launch;
  }
  return deviceFailure(text, fault.status, fault.text.c_str());
}

// Every function of the row: alone, with the context, with nothing thrown, and its fault told.
template <typename Body>
int32_t cudaGuarded(const DynDevice* device, DynDeviceText* text, Body&& body) {
  try {
    auto& cuda = *static_cast<CudaGpu*>(device->state);
    std::unique_lock lock(cuda.mutex());
    Fault fault = cuda.ready();
    if (fault.status == DYN_OK) fault = body(cuda, lock);
    return answer(fault, text);
  } catch (const std::bad_alloc&) {
    return deviceFailure(text, DYN_OUT_OF_MEMORY, "the system gives no memory");
  }
}

using Lock = std::unique_lock<std::mutex>;

int32_t open(const DynDevice* device, DynDeviceText* text) {
  try {
    auto& cuda = *static_cast<CudaGpu*>(device->state);
    const std::lock_guard lock(cuda.mutex());
    return answer(cuda.open(), text);
  } catch (const std::bad_alloc&) {
    return deviceFailure(text, DYN_OUT_OF_MEMORY, "the system gives no memory");
  }
}

template <CudaGpu::Way kWay>
int32_t copy(const DynDevice* device, uint32_t stream, void* target, const void* source, uint64_t bytes,
             DynDeviceText* text) {
  if (bytes == 0) return DYN_OK;
  return cudaGuarded(device, text,
                     [&](CudaGpu& cuda, Lock&) { return cuda.copy(kWay, stream, target, source, bytes); });
}

constexpr DynDeviceFunctions kFunctions = {
    .open = open,
    .allocate =
        [](const DynDevice* d, uint32_t stream, uint64_t bytes, void** memory, DynDeviceText* t) {
          *memory = nullptr;
          if (bytes == 0) return static_cast<int32_t>(DYN_OK);
          return cudaGuarded(d, t,
                             [&](CudaGpu& cuda, Lock&) { return cuda.allocate(stream, bytes, *memory); });
        },
    .deallocate =
        [](const DynDevice* d, uint32_t stream, void* memory, DynDeviceText* t) {
          if (!memory) return static_cast<int32_t>(DYN_OK);
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.deallocate(stream, memory); });
        },
    .memoryInfo =
        [](const DynDevice* d, uint64_t* freeBytes, uint64_t* totalBytes, DynDeviceText* t) {
          return cudaGuarded(d, t,
                             [&](CudaGpu& cuda, Lock&) { return cuda.memoryInfo(*freeBytes, *totalBytes); });
        },
    .copyTo = copy<CudaGpu::Way::to>,
    .copyFrom = copy<CudaGpu::Way::from>,
    .copyWithin = copy<CudaGpu::Way::within>,
    .fill =
        [](const DynDevice* d, uint32_t stream, void* target, uint8_t value, uint64_t bytes,
           DynDeviceText* t) {
          if (bytes == 0) return static_cast<int32_t>(DYN_OK);
          return cudaGuarded(d, t,
                             [&](CudaGpu& cuda, Lock&) { return cuda.fill(stream, target, value, bytes); });
        },
    .loadCode =
        [](const DynDevice* d, const void* code, uint64_t bytes, uint64_t* module, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.loadCode(code, bytes, *module); });
        },
    .unloadCode =
        [](const DynDevice* d, uint64_t module, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.unloadCode(module); });
        },
    .findKernel =
        [](const DynDevice* d, uint64_t module, const char* name, uint64_t* kernel, DynDeviceText* t) {
          return cudaGuarded(d, t,
                             [&](CudaGpu& cuda, Lock&) { return cuda.findKernel(module, name, *kernel); });
        },
    .launch =
        [](const DynDevice* d, uint32_t stream, const DynLaunch* launch, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.launch(stream, *launch); });
        },
    .createStream =
        [](const DynDevice* d, uint32_t* stream, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.createStream(*stream); });
        },
    .destroyStream =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.destroyStream(stream); });
        },
    .synchronise =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock& lock) { return cuda.synchronise(stream, lock); });
        },
    .createEvent =
        [](const DynDevice* d, uint32_t* event, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.createEvent(*event); });
        },
    .destroyEvent =
        [](const DynDevice* d, uint32_t event, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.destroyEvent(event); });
        },
    .recordEvent =
        [](const DynDevice* d, uint32_t stream, uint32_t event, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.record(stream, event); });
        },
    .waitEvent =
        [](const DynDevice* d, uint32_t stream, uint32_t event, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.wait(stream, event); });
        },
    .queryEvent =
        [](const DynDevice* d, uint32_t event, int32_t* done, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.query(event, *done); });
        },
};

constexpr DynDeviceExtras kExtras = {
    .allocatePinned =
        [](const DynDevice* d, uint64_t bytes, void** memory, DynDeviceText* t) {
          *memory = nullptr;
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.allocatePinned(bytes, *memory); });
        },
    .freePinned =
        [](const DynDevice* d, void* memory, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.freePinned(memory); });
        },
    .createStreamBeside =
        [](const DynDevice* d, uint32_t other, uint32_t* stream, DynDeviceText* t) {
          return cudaGuarded(d, t,
                             [&](CudaGpu& cuda, Lock&) { return cuda.createStreamBeside(other, *stream); });
        },
    .noteFaults =
        [](const DynDevice* d, uint32_t beside, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.noteFaults(beside); });
        },
    .createTimedEvent =
        [](const DynDevice* d, uint32_t* event, DynDeviceText* t) {
          return cudaGuarded(
              d, t, [&](CudaGpu& cuda, Lock&) { return cuda.createEvent(*event, CudaGpu::Timing::on); });
        },
    .elapsedNs =
        [](const DynDevice* d, uint32_t from, uint32_t to, int64_t* ns, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.elapsed(from, to, *ns); });
        },
    .beginGraph =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.beginGraph(stream); });
        },
    .endGraph =
        [](const DynDevice* d, uint32_t stream, uint64_t* graph, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.endGraph(stream, *graph); });
        },
    .launchGraph =
        [](const DynDevice* d, uint32_t stream, uint64_t graph, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.launchGraph(stream, graph); });
        },
    .destroyGraph =
        [](const DynDevice* d, uint64_t graph, DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) { return cuda.destroyGraph(graph); });
        },
    .planProduct =
        [](const DynDevice* d, void* const* buffers, uint64_t mostBytes, DynDeviceProduct* product,
           DynDeviceText* t) {
          return cudaGuarded(d, t, [&](CudaGpu& cuda, Lock&) {
            return product ? cuda.planProduct(*product, buffers, mostBytes) : cuda.openLibrary();
          });
        },
};

}  // namespace

const DynDevice* cudaDevice(int index) {
  if (index < 0 || index >= kMostCudaDevices) return nullptr;
  // Never destroyed: contexts may outlive whatever ends with the process.
  static std::mutex making;
  static const DynDevice* rows[kMostCudaDevices] = {};
  const std::lock_guard lock(making);
  const DynDevice*& row = rows[index];
  if (!row)
    row = new DynDevice{"cuda",  "a GPU by the CUDA driver", &kFunctions, new CudaGpu(index), DYN_CODE_PTX, 0,
                        &kExtras};
  return row;
}

}  // namespace dyn::vm
