/* dyn_cores.h: simulates a run on more cores than the machine has. An addition to dynvm.h.
 *
 *   dyn_options options = {.thread_count = 32};
 *   dyn_context_create(module, &options, &context);
 *   dyn_context_simulate_threads(context, 1);
 *   dyn_context_run(context);  dyn_context_statistics(context, &statistics);   // run_ns: as with 32 threads
 *
 * Threads, ownership and errors are those of dynvm.h. */
#ifndef DYN_CORES_H
#define DYN_CORES_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* enabled != 0: from the next run on, the tasks of each kernel run one after the other on the calling thread.
 * `run_ns` and the times of the profile are those of a run with one core per task: the work of the calling
 * thread, the longest task of each launch, and the cost of starting tasks. Results have the same bits as with
 * threads.
 *
 * The simulation gives each core the caches and the memory of this one; it leaves out losses by shared
 * caches, memory or power. DYN_INVALID_ARGUMENT: the context has one thread. Must not be called during a run.
 * */
DYN_API dyn_status dyn_context_simulate_threads(dyn_context* context, int32_t enabled);

#ifdef __cplusplus
}
#endif
#endif
