/* dyn_device.h: the interface of devices: memory, copies, code and launches. C, no C++ types. One row
 * (DynDevice) is one device; vm/device holds the table of rows, by name and number.
 *
 * Order. Work goes into streams. A stream does its work in order. Only events order work of different
 * streams: a stream that waits for an event continues after the work before the event's last record. Stream 0
 * always exists. Calls marked "queued" may return before their work is done. Everything that they point at
 * must stay unchanged until a `synchronise` of the stream, or a query of a later event; the arguments of a
 * launch are copied. On a device that computes synchronously, work is always done.
 *
 * Addresses. `allocate` returns an address of the device. The host may read it only if sharesHostMemory is
 * nonzero; otherwise the row refuses an address of the wrong space with DYN_INVALID_ARGUMENT, at the call or
 * at the next `synchronise`.
 *
 * Errors. Every function returns a dyn_status (dynvm.h). 0 is success and leaves `text` unchanged; `text` may
 * be null. The next `synchronise` of a stream returns the first error of its queued work; until then, later
 * work in that stream is dropped or has no effect. Nothing throws, aborts or prints. Threads: any, at the
 * same time; a stream belongs to one thread at a time.
 *
 * The comment of each function ends with its counterpart in the CUDA driver API. */
#ifndef DYN_DEVICE_H
#define DYN_DEVICE_H

#include "dyn_builtin.h"
#include "dyn_device_product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One line, zero-terminated. With DYN_KERNEL_FAULT also the fault that the kernel returned (dyn_kernel.h; 0:
it
 * was stopped) and the number of the launch since the stream was last synchronised, from 1 on (0: the launch
 * of this call, or unknown). */
typedef struct DynDeviceText {
  char text[240];
  int32_t fault;
  uint32_t launch;
} DynDeviceText;

/* The format of code for `loadCode`. */
typedef enum DynCodeFormat {
  /* DynHostCode: functions of this process. A kernel is the address of its DynKernelEntry, so
   * holders of the entries need no look-up. */
  DYN_CODE_HOST = 0,
  DYN_CODE_PTX = 1 /* the text of a module, or a binary that the driver's tools made of it */
} DynCodeFormat;

typedef struct DynHostCode {
  const DynKernelEntry* kernels; /* must not move until the code is unloaded */
  uint32_t kernelCount;
} DynHostCode;

typedef struct DynLaunch {
  uint64_t kernel; /* of findKernel */
  /* Device addresses in the order of the kernel's row: inputs, then outputs; null for tensors without
   * elements. Scalars have 64 bits each. Both are copied. On CUDA they form one packed struct, followed by
   * `units`, the address of a fault word and the number of the launch. A kernel with a fault writes the
   * minimum of (number << 32 | fault) there, atomically. */
  void* const* buffers;
  const int64_t* scalars;
  uint32_t bufferCount, scalarCount;
  /* Sizes of the buffers, for devices that check accesses; null: unknown. The last outputCount buffers are
   * written. */
  const uint64_t* bufferBytes;
  uint32_t outputCount;
  /* The launch geometry. Rows of host code split `units` into gridX tasks, at most context->threads, and
   * ignore the rest; other rows take it from the kernel's row and distribute the units over the grid. */
  uint32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
  uint32_t sharedBytes;
  int64_t units;    /* of the kernel's parallel extent, above 0 */
  int32_t mayFault; /* nonzero: the kernel may report a fault, which `synchronise` reads */
  int64_t steps;    /* estimated elementary steps of all units */
  /* For rows of host code: scratch memory, 64-byte aligned, with `scratchBytes` (a multiple of 64) for each
   * task; null if that is 0. */
  void* scratch;
  uint64_t scratchBytes;
  /* Threads and cancellation. Null: the calling thread, not cancellable. */
  const DynBuiltinContext* context;
  /* Not null: a library computes this product instead of the kernel (planProduct of DynDeviceExtras);
  `kernel`
   * and the geometry are ignored. Copied. */
  const DynDeviceProduct* product;
} DynLaunch;

typedef struct DynDevice DynDevice;

/* At most 20. `device` is the row itself. */
typedef struct DynDeviceFunctions {
  /* Opens the device; called before all other functions, any number of times. DYN_UNAVAILABLE: it cannot be
   * used; `text` has the reason. dlopen of the driver, cuInit, cuDevicePrimaryCtxRetain, cuCtxSetCurrent */
  int32_t (*open)(const DynDevice* device, DynDeviceText* text);

  /* Memory, 64-byte aligned, for later work of the stream; `bytes` 0 gives null. DYN_OUT_OF_MEMORY.
   * cuMemAllocAsync */
  int32_t (*allocate)(const DynDevice* device, uint32_t stream, uint64_t bytes, void** memory,
                      DynDeviceText* text);
  /* Queued: the memory is freed in stream order. Null is allowed. cuMemFreeAsync */
  int32_t (*deallocate)(const DynDevice* device, uint32_t stream, void* memory, DynDeviceText* text);
  /* Free and total memory of the device. cuMemGetInfo */
  int32_t (*memoryInfo)(const DynDevice* device, uint64_t* freeBytes, uint64_t* totalBytes,
                        DynDeviceText* text);

  /* Queued copies, of any number of bytes at any address. Source and target do not overlap
   * (DYN_INVALID_ARGUMENT). From the host: cuMemcpyHtoDAsync */
  int32_t (*copyTo)(const DynDevice* device, uint32_t stream, void* target, const void* source,
                    uint64_t bytes, DynDeviceText* text);
  /* To the host. cuMemcpyDtoHAsync */
  int32_t (*copyFrom)(const DynDevice* device, uint32_t stream, void* target, const void* source,
                      uint64_t bytes, DynDeviceText* text);
  /* cuMemcpyDtoDAsync */
  int32_t (*copyWithin)(const DynDevice* device, uint32_t stream, void* target, const void* source,
                        uint64_t bytes, DynDeviceText* text);
  /* Queued: each byte becomes `value`. cuMemsetD8Async */
  int32_t (*fill)(const DynDevice* device, uint32_t stream, void* target, uint8_t value, uint64_t bytes,
                  DynDeviceText* text);

  /* Loads code in the row's format, for all streams; `code` is read during the call. DYN_BAD_PROGRAM: the
  code
   * is damaged. cuModuleLoadData */
  int32_t (*loadCode)(const DynDevice* device, const void* code, uint64_t bytes, uint64_t* module,
                      DynDeviceText* text);
  /* Only after all launches of the code have finished. cuModuleUnload */
  int32_t (*unloadCode)(const DynDevice* device, uint64_t module, DynDeviceText* text);
  /* DYN_OUT_OF_RANGE: the module has no kernel of that name. cuModuleGetFunction */
  int32_t (*findKernel)(const DynDevice* device, uint64_t module, const char* name, uint64_t* kernel,
                        DynDeviceText* text);
  /* Queued. A fault of a kernel ends the launch: DYN_KERNEL_FAULT, here or at the next `synchronise`.
   * cuLaunchKernelEx with CU_LAUNCH_PARAM_BUFFER_POINTER; the fault is a word of memory, read by
   * `synchronise` */
  int32_t (*launch)(const DynDevice* device, uint32_t stream, const DynLaunch* launch, DynDeviceText* text);

  /* destroyStream finishes the queued work first. cuStreamCreate(CU_STREAM_NON_BLOCKING), cuStreamDestroy */
  int32_t (*createStream)(const DynDevice* device, uint32_t* stream, DynDeviceText* text);
  int32_t (*destroyStream)(const DynDevice* device, uint32_t stream, DynDeviceText* text);
  /* Returns when all work of the stream is done. cuStreamSynchronize */
  int32_t (*synchronise)(const DynDevice* device, uint32_t stream, DynDeviceText* text);

  /* An event counts as done until it is recorded. cuEventCreate(CU_EVENT_DISABLE_TIMING), cuEventDestroy */
  int32_t (*createEvent)(const DynDevice* device, uint32_t* event, DynDeviceText* text);
  int32_t (*destroyEvent)(const DynDevice* device, uint32_t event, DynDeviceText* text);
  /* Queued. cuEventRecord */
  int32_t (*recordEvent)(const DynDevice* device, uint32_t stream, uint32_t event, DynDeviceText* text);
  /* Queued: the stream waits for the event as it was recorded last, the host does not. cuStreamWaitEvent */
  int32_t (*waitEvent)(const DynDevice* device, uint32_t stream, uint32_t event, DynDeviceText* text);
  /* done: 1 or 0, without waiting. cuEventQuery */
  int32_t (*queryEvent)(const DynDevice* device, uint32_t event, int32_t* done, DynDeviceText* text);
} DynDeviceFunctions;

/* Optional functions; null where a device does not have one. */
typedef struct DynDeviceExtras {
  /* Pinned host memory: queued copies to and from it are asynchronous; copies of other memory may be staged
   * or block. cuMemHostAlloc, cuMemFreeHost */
  int32_t (*allocatePinned)(const DynDevice* device, uint64_t bytes, void** memory, DynDeviceText* text);
  int32_t (*freePinned)(const DynDevice* device, void* memory, DynDeviceText* text);
  /* A second stream for copies that run in parallel with `other`. */
  int32_t (*createStreamBeside)(const DynDevice* device, uint32_t other, uint32_t* stream,
                                DynDeviceText* text);
  /* Queued into the other stream: the next `synchronise` of `beside` reports the faults of its kernels so
   * far. `beside` must wait for a later event of that stream. The count of launches continues. */
  int32_t (*noteFaults)(const DynDevice* device, uint32_t beside, DynDeviceText* text);
  /* An event with a time stamp, and the time between two such events. cuEventElapsedTime */
  int32_t (*createTimedEvent)(const DynDevice* device, uint32_t* event, DynDeviceText* text);
  int32_t (*elapsedNs)(const DynDevice* device, uint32_t from, uint32_t to, int64_t* ns, DynDeviceText* text);
  /* Launches between `beginGraph` and `endGraph` are recorded instead of run. The resulting graph can be
   * launched any number of times with the same arguments; each of its launches is counted.
   * cuStreamBeginCapture, cuStreamEndCapture and cuGraphInstantiate, cuGraphLaunch, cuGraphExecDestroy */
  int32_t (*beginGraph)(const DynDevice* device, uint32_t stream, DynDeviceText* text);
  int32_t (*endGraph)(const DynDevice* device, uint32_t stream, uint64_t* graph, DynDeviceText* text);
  int32_t (*launchGraph)(const DynDevice* device, uint32_t stream, uint64_t graph, DynDeviceText* text);
  int32_t (*destroyGraph)(const DynDevice* device, uint64_t graph, DynDeviceText* text);
  /* Plans a product of the library for these buffers; sets workspaceBytes, at most `mostBytes`. `product`
   * null only asks whether the library is available. DYN_UNAVAILABLE: it is not; `text` has the reason.
   * DYN_UNSUPPORTED: it cannot compute this product. cublasLtMatmulAlgoGetHeuristic; `launch` of the product
   * is cublasLtMatmul */
  int32_t (*planProduct)(const DynDevice* device, void* const* buffers, uint64_t mostBytes,
                         DynDeviceProduct* product, DynDeviceText* text);
} DynDeviceExtras;

/* A row. It and everything it points at live as long as the process. */
struct DynDevice {
  const char* name;    /* "cpu" */
  const char* meaning; /* one line of documentation */
  const DynDeviceFunctions* functions;
  void* state;                   /* private to the row */
  int32_t codeFormat;            /* DynCodeFormat */
  int32_t sharesHostMemory;      /* 1: device addresses are host addresses, and every call is synchronous */
  const DynDeviceExtras* extras; /* null: no optional functions */
};

#ifdef __cplusplus
}
#endif
#endif
