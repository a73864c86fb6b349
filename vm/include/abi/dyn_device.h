/* The interface of devices: memory, copies, code and launches of whatever computes. C, no C++ types. One row
 * (DynDevice) is one device; the table of rows is vm/device's, and who uses it asks by name or number.
 *
 * Order. Work is put into streams. What stands in one stream is done in that order; between streams there is
 * no order but that of events: a stream that waits for an event goes on when the work is done that stood
 * before the event's last record. Stream 0 is there without being made. The calls marked "queued" may return
 * before their work is done, so that all they point at (not the arguments of a launch, which are copied) must
 * stay as it is until a `synchronise` of that stream, or a query of an event recorded behind. A device that
 * computes at once is one whose work is always done.
 *
 * Addresses. What `allocate` gives is an address of the device. Only where sharesHostMemory is not 0 may the
 * host read it; elsewhere the row refuses an address of the wrong space with DYN_INVALID_ARGUMENT, at the
 * call or at the next `synchronise`.
 *
 * Errors. Every function returns a dyn_status (dynvm.h), 0 when all is well, and then leaves `text` alone;
 * `text` may be null. The first error of queued work is told by the next `synchronise` of its stream; the
 * work behind it in that stream is dropped, or done in vain, until then. Nothing throws, aborts or prints.
 * Threads: any, at the same time; a stream belongs to one at a time.
 *
 * Behind each function stands what it is on the CUDA driver, which the table was drawn for, too. */
#ifndef DYN_DEVICE_H
#define DYN_DEVICE_H

#include "dyn_builtin.h"
#include "dyn_device_product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One line, zero-terminated; and, with DYN_KERNEL_FAULT, what the kernel returned (dyn_kernel.h; 0: it was
 * stopped) and which launch it was of those put into the stream since it was last synchronised, from 1 on (0:
 * the one that was just called, or not known). */
typedef struct DynDeviceText {
  char text[240];
  int32_t fault;
  uint32_t launch;
} DynDeviceText;

/* What `loadCode` of a row takes. */
typedef enum DynCodeFormat {
  /* DynHostCode: functions of this process. A kernel is the address of its DynKernelEntry, so that who has
   * the entries of loaded code need not look them up. */
  DYN_CODE_HOST = 0,
  DYN_CODE_PTX = 1 /* the text of a module, or what the driver's tools make of it */
} DynCodeFormat;

typedef struct DynHostCode {
  const DynKernelEntry* kernels; /* stay where they are until the code is unloaded */
  uint32_t kernelCount;
} DynHostCode;

typedef struct DynLaunch {
  uint64_t kernel; /* of findKernel */
  /* Addresses of the device in the order of the kernel's row: inputs, then outputs. Null for tensors without
   * elements. Where scalars follow they are 64 bits each. Both are copied, on CUDA into one packed struct,
   * with `units`, the address of a fault word and the number of the launch behind them: a kernel that finds a
   * fault puts the least of (number << 32 | fault) there, atomically. */
  void* const* buffers;
  const int64_t* scalars;
  uint32_t bufferCount, scalarCount;
  /* Bytes of each buffer, null: not known; the last outputCount are written. For devices that check. */
  const uint64_t* bufferBytes;
  uint32_t outputCount;
  /* The geometry. Rows of host code split `units` into gridX tasks, at most context->threads of them, and
   * need no more; others have theirs from the kernel's row, and walk the units by the grid. */
  uint32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
  uint32_t sharedBytes;
  int64_t units;    /* of the kernel's parallel extent, above 0 */
  int32_t mayFault; /* for rows that look for faults at `synchronise`: this kernel may find one */
  int64_t steps;    /* elementary steps of all units, as estimated: how long the launch will take */
  /* For rows of host code: memory of the device, 64-byte aligned, of `scratchBytes` (a multiple of 64) for
   * each task. Null when that is 0. */
  void* scratch;
  uint64_t scratchBytes;
  const DynBuiltinContext*
      context; /* whose threads may serve, and who may cancel; null: this thread, nobody */
  /* Not null: a library is to do what the kernel does (planProduct of DynDeviceExtras), and `kernel` and the
   * geometry say nothing. It is copied. */
  const DynDeviceProduct* product;
} DynLaunch;

typedef struct DynDevice DynDevice;

/* At most 20. `device` is the row itself. */
typedef struct DynDeviceFunctions {
  /* Is the device there? Called before anything else, as often as one likes. DYN_UNAVAILABLE: no, and why.
   * dlopen of the driver, cuInit, cuDevicePrimaryCtxRetain, cuCtxSetCurrent */
  int32_t (*open)(const DynDevice* device, DynDeviceText* text);

  /* Memory, 64-byte aligned, for work that is put into the stream from now on. DYN_OUT_OF_MEMORY. `bytes` 0:
   * null. cuMemAllocAsync */
  int32_t (*allocate)(const DynDevice* device, uint32_t stream, uint64_t bytes, void** memory,
                      DynDeviceText* text);
  /* Queued: free when the stream has come there. Null is well. cuMemFreeAsync */
  int32_t (*deallocate)(const DynDevice* device, uint32_t stream, void* memory, DynDeviceText* text);
  /* Bytes free now and of the whole device. cuMemGetInfo */
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

  /* Code in the row's format, for all streams; `code` is read during the call. DYN_BAD_PROGRAM: it is
   * damaged.
   * cuModuleLoadData */
  int32_t (*loadCode)(const DynDevice* device, const void* code, uint64_t bytes, uint64_t* module,
                      DynDeviceText* text);
  /* When all launches of it are done. cuModuleUnload */
  int32_t (*unloadCode)(const DynDevice* device, uint64_t module, DynDeviceText* text);
  /* DYN_OUT_OF_RANGE: the module has none of that name. cuModuleGetFunction */
  int32_t (*findKernel)(const DynDevice* device, uint64_t module, const char* name, uint64_t* kernel,
                        DynDeviceText* text);
  /* Queued. A kernel that finds a fault ends the launch: DYN_KERNEL_FAULT, here or at the next `synchronise`.
   * cuLaunchKernelEx with CU_LAUNCH_PARAM_BUFFER_POINTER; the fault is a word of memory, read by
   * `synchronise` */
  int32_t (*launch)(const DynDevice* device, uint32_t stream, const DynLaunch* launch, DynDeviceText* text);

  /* cuStreamCreate(CU_STREAM_NON_BLOCKING), cuStreamDestroy: what stands in it is done first */
  int32_t (*createStream)(const DynDevice* device, uint32_t* stream, DynDeviceText* text);
  int32_t (*destroyStream)(const DynDevice* device, uint32_t stream, DynDeviceText* text);
  /* Returns when all that stands in the stream is done. cuStreamSynchronize */
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

/* What some devices have beyond that. A null function: this one has not. */
typedef struct DynDeviceExtras {
  /* Memory of the host between which and the device queued copies go on by themselves: others may be staged
   * or waited for by the call. cuMemHostAlloc, cuMemFreeHost */
  int32_t (*allocatePinned)(const DynDevice* device, uint64_t bytes, void** memory, DynDeviceText* text);
  int32_t (*freePinned)(const DynDevice* device, void* memory, DynDeviceText* text);
  /* A stream for copies beside `other`. */
  int32_t (*createStreamBeside)(const DynDevice* device, uint32_t other, uint32_t* stream,
                                DynDeviceText* text);
  /* Queued into the other stream: what faults its kernels have found so far is told by the next `synchronise`
   * of the stream beside, which must wait for an event behind; launches go on being counted. */
  int32_t (*noteFaults)(const DynDevice* device, uint32_t beside, DynDeviceText* text);
  /* An event that knows when it was done, and the time between two that are. cuEventElapsedTime */
  int32_t (*createTimedEvent)(const DynDevice* device, uint32_t* event, DynDeviceText* text);
  int32_t (*elapsedNs)(const DynDevice* device, uint32_t from, uint32_t to, int64_t* ns, DynDeviceText* text);
  /* What is put into the stream from `beginGraph` to `endGraph` (launches only) is not done, but kept as a
   * graph that can be put into the stream as often as one likes, with the same arguments. The launches of it
   * are counted as if each were called. cuStreamBeginCapture, cuStreamEndCapture and cuGraphInstantiate,
   * cuGraphLaunch, cuGraphExecDestroy */
  int32_t (*beginGraph)(const DynDevice* device, uint32_t stream, DynDeviceText* text);
  int32_t (*endGraph)(const DynDevice* device, uint32_t stream, uint64_t* graph, DynDeviceText* text);
  int32_t (*launchGraph)(const DynDevice* device, uint32_t stream, uint64_t graph, DynDeviceText* text);
  int32_t (*destroyGraph)(const DynDevice* device, uint64_t graph, DynDeviceText* text);
  /* How the library would do a product at these buffers: sets workspaceBytes, at most `mostBytes`.
   * DYN_UNAVAILABLE: there is no such library here, and why; asked alone where `product` is null.
   * DYN_UNSUPPORTED: it can not do this one.
   * cublasLtMatmulAlgoGetHeuristic; `launch` with it is cublasLtMatmul */
  int32_t (*planProduct)(const DynDevice* device, void* const* buffers, uint64_t mostBytes,
                         DynDeviceProduct* product, DynDeviceText* text);
} DynDeviceExtras;

/* A row. It and what it points at live as long as the process. */
struct DynDevice {
  const char* name;    /* "cpu" */
  const char* meaning; /* one line */
  const DynDeviceFunctions* functions;
  void* state;                   /* the row's own */
  int32_t codeFormat;            /* DynCodeFormat */
  int32_t sharesHostMemory;      /* 1: addresses are the host's, and all work is done when its call returns */
  const DynDeviceExtras* extras; /* null: nothing beyond the functions */
};

#ifdef __cplusplus
}
#endif
#endif
