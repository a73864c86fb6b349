/* dyn_results.h: results of the C API taken out of their context, to be written to. For bindings whose arrays
 * belong to the caller.
 *
 *   dyn_value* y;  dyn_context_take_output(context, 0, &y);
 *   if (dyn_value_is_exclusive(y)) memset((void*)dyn_value_data(y), 0, dyn_value_size_bytes(y));
 *
 * Threads, ownership and errors are those of dynvm.h. */
#ifndef DYN_RESULTS_H
#define DYN_RESULTS_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As dyn_context_get_output; the context lets go of the result, which then is null for other calls. */
DYN_API dyn_status dyn_context_take_output(dyn_context* context, int32_t index, dyn_value** value);
/* Nonzero: a tensor in memory of the runtime that nothing else refers to, such as weights, an input, another
 * output, or a context that still holds its result. The owner of the only handle may write to it. */
DYN_API int32_t dyn_value_is_exclusive(const dyn_value* value);
/* How many rows along its axis a tensor of dyn_value_growing has room for, or one that a program made by
 * appending to it; 0: it does not grow. */
DYN_API int64_t dyn_value_room(const dyn_value* value);
/* Replaces a tensor that grows by its first `rows` rows. Where nothing but this handle refers to its memory
 * (no other handle, no input of a context), the next rows that are appended take the place of those dropped;
 * else appending copies. DYN_INVALID_ARGUMENT: it does not grow, or has fewer rows; it stays as it is. */
DYN_API dyn_status dyn_value_truncate(dyn_value** value, int64_t rows);

#ifdef __cplusplus
}
#endif
#endif
