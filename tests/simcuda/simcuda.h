/* simcuda.h — what the simulated libcuda.so.1 exports beside the driver's entry points. A program
   finds it by dlsym, or it is not there. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A part of device memory that a launch may touch. What it is for: */
enum {
  DYN_SIMCUDA_INPUT = 0,  /* read only: a write is a fault */
  DYN_SIMCUDA_OUTPUT = 1, /* counts as not written when the launch begins: a read before a write is a fault */
  DYN_SIMCUDA_INPUT_OUTPUT = 2 /* read and written */
};
typedef struct {
  uint64_t begin, end; /* device addresses; end is the first that does not belong to it */
  uint32_t writable;   /* one of the above */
} dyn_simcuda_buffer;

/* Declares the buffers of the next cuLaunchKernel that this thread calls: an access outside of all of
   them is a fault, even where the allocation goes on. Returns 0, or 1 when a range is empty or reversed.
   Without a call, all live allocations are in bounds. */
int dyn_simcuda_next_buffers(const dyn_simcuda_buffer* buffers, size_t count);

/* The last fault or load error as text (kernel, block, thread, PTX line, source line); "" when there
   was none. Valid until the next call. */
const char* dyn_simcuda_fault(void);

/* Sums over all launches since the library was loaded. */
typedef struct {
  uint64_t launches;
  uint64_t warp_instructions;
  uint64_t lane_instructions;
  uint64_t global_requests; /* of warps: loads, stores, atomics */
  uint64_t global_sectors;  /* of 32 bytes that they touch; 4 a request of 32 floats side by side */
  uint64_t shared_requests;
  uint64_t shared_ways; /* passes over the banks; as many as requests when there is no conflict */
  uint64_t barriers;    /* of blocks */
  uint64_t atomics;     /* of lanes */
} dyn_simcuda_counters_t;
void dyn_simcuda_counters(dyn_simcuda_counters_t* counters);

/* Device memory that is in use, in bytes, and the number of allocations: 0 when a program gave all back. */
void dyn_simcuda_memory(uint64_t* bytes, uint64_t* allocations);

/* Forgets everything, as a new process would: all handles and addresses become invalid, the environment is
   read anew. */
void dyn_simcuda_reset(void);

#ifdef __cplusplus
}
#endif
