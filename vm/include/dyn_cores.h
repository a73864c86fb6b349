/* dyn_cores.h: how a program would run on more cores than there are. An addition to dynvm.h.
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

/* From the next run on (enabled: not 0) each kernel is still cut into a task for each of the context's
 * threads, but the tasks run one after the other on the calling thread. `run_ns` and the times of the profile
 * are what would have passed had each task had a core of its own: what the calling thread computes, of the
 * tasks of a launch the longest, and what starting them takes. Results are those of the threads, to the bit.
 *
 * Each core is taken to have the caches and the memory of this one: what cores lose by sharing a cache, a
 * memory or power is not in it. DYN_INVALID_ARGUMENT where the context has one thread; not while it runs. */
DYN_API dyn_status dyn_context_simulate_threads(dyn_context* context, int32_t enabled);

#ifdef __cplusplus
}
#endif
#endif
