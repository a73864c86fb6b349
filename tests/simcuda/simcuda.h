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

/* Of one launch, or sums over all since the library was loaded. */
typedef struct {
  uint64_t launches;
  uint64_t warp_instructions;
  uint64_t lane_instructions;
  uint64_t global_requests; /* of warps: loads, stores, atomics */
  uint64_t global_sectors;  /* of 32 bytes that they touch; 4 a request of 32 floats side by side */
  uint64_t shared_requests;
  uint64_t shared_ways;        /* passes over the banks; as many as requests when there is no conflict */
  uint64_t barriers;           /* of blocks */
  uint64_t atomics;            /* of lanes */
  uint64_t branches;           /* of warps */
  uint64_t divergent_branches; /* after which lanes of the warp go different ways */
} dyn_simcuda_counters_t;
void dyn_simcuda_counters(dyn_simcuda_counters_t* counters);

/* Launches have numbers from 1 on, in the order in which they were asked for, those of graphs included. */
typedef struct {
  const char* kernel;
  uint32_t grid[3], threads[3]; /* blocks, and threads of a block */
  uint32_t shared_bytes;        /* dynamic */
  uint32_t done;                /* 0: it still waits, and its counters are 0 */
  dyn_simcuda_counters_t counters;
} dyn_simcuda_launch_t;
uint64_t dyn_simcuda_launch_count(void);
/* 0, or 1 where that one is forgotten (the last 65536 are known) or was never asked for. What `launch` points
   at lives until dyn_simcuda_reset. */
int dyn_simcuda_launch_info(uint64_t number, dyn_simcuda_launch_t* launch);

/* --- stepping through a launch ---
   dyn_simcuda_keep_launch(n) before a program runs: the n-th launch from then on (1: the next) is kept with
   the memory that it begins with, which takes the memory of all allocations once more; 0: none, and what was
   kept is forgotten. Later, as often as wanted, dyn_simcuda_step_open begins that launch anew, for itself and
   with no effect on the program's memory, and stands before the first instruction of one warp. */
void dyn_simcuda_keep_launch(uint64_t n);
/* 0, or 1: nothing is kept, or there is no such block or warp; dyn_simcuda_fault says which. */
int dyn_simcuda_step_open(uint32_t block, uint32_t warp);

enum {
  DYN_SIMCUDA_INSTRUCTION = 0, /* one of PTX; at a barrier the other warps run until it opens */
  DYN_SIMCUDA_LINE = 1,        /* until the line of the source is another one */
  DYN_SIMCUDA_END = 2          /* until the warp ends */
};
/* 0, or 1: nothing is open, the warp has ended, or it ended in a fault, which the stop says. */
int dyn_simcuda_step(uint64_t count, int by);

typedef struct {
  const char* kernel;
  uint32_t grid[3], threads[3];
  uint32_t block, warp, warps; /* warps: of a block */
  uint32_t active, exists, ended,
      parked;       /* lanes: those that run next; parked: wait for others of the warp */
  uint32_t line;    /* of the PTX that runs next; 0: the warp has ended */
  const char* text; /* that line */
  const char* file; /* where it comes from; "" where it does not say */
  uint32_t source_line;
  uint32_t barriers;     /* that the block has passed */
  uint64_t instructions; /* that the warp has run since it was opened */
  const char* fault;     /* "": none */
  uint32_t shared_bytes;
  uint32_t registers; /* of a lane */
} dyn_simcuda_stop_t;
/* Where it stands; what it points at lives until the next step. 1: nothing is open. */
int dyn_simcuda_step_stop(dyn_simcuda_stop_t* stop);

typedef struct {
  const char* name;    /* "%r3" */
  uint32_t bits;       /* 1: a predicate */
  uint32_t used;       /* 1: the instruction that runs next reads or writes it */
  uint64_t values[32]; /* by lane */
} dyn_simcuda_register_t;
/* The index-th register. 1: there is none. */
int dyn_simcuda_step_register(uint32_t index, dyn_simcuda_register_t* value);
/* Bytes of shared memory of the block from `offset` on; `written` (may be null): which of them hold
   something. Returns how many there were. */
uint32_t dyn_simcuda_step_shared(uint32_t offset, uint32_t count, uint8_t* bytes, uint8_t* written);

/* Device memory that is in use, in bytes, and the number of allocations: 0 when a program gave all back. */
void dyn_simcuda_memory(uint64_t* bytes, uint64_t* allocations);

/* Forgets everything, as a new process would: all handles and addresses become invalid, the environment is
   read anew. */
void dyn_simcuda_reset(void);

/* --- libraries of others ---
   What a library beside the driver puts into a stream (cublaslt/) is a command of the device like a launch:
   it runs when something waits for it, is ordered with all others, found in races, captured in graphs.
   `touched`: all bytes that it reads or writes (DYN_SIMCUDA_INPUT, _OUTPUT, _INPUT_OUTPUT); they must lie in
   allocations, and in the buffers that dyn_simcuda_next_buffers declared before, where it did. Returns a code
   of the driver. `run` returns null, or what is wrong, in words that live on; `state` is released when nobody
   will run it again. */
typedef struct {
  const char* call; /* for DYN_SIMCUDA_FAIL and _SKIP: "cublasLtMatmul" */
  const char* name; /* for reports and the trace */
  const dyn_simcuda_buffer* touched;
  size_t count;
  const char* (*run)(void* state);
  void (*release)(void* state);
  void* state;
} dyn_simcuda_command_t;
int dyn_simcuda_command(void* stream, const dyn_simcuda_command_t* command);
/* Inside of `run` alone: the bytes behind an address of the device, which must lie in one buffer of that use.
   What is read must have been written; what is got for writing counts as written. Null: it may not,
   dyn_simcuda_fault says why, and the command fails. */
void* dyn_simcuda_bytes(uint64_t address, uint64_t bytes, int writes);
/* How many of such commands have run since the library was loaded. */
uint64_t dyn_simcuda_commands_run(void);

#ifdef __cplusplus
}
#endif
