/* dyn_ragged.h: ragged tensors of the C API: batches of sequences of different lengths, without an object for
 * each sequence.
 *
 * A program that takes %x: Tensor[(b, len[b], 64), f32] has two inputs for it: "x", the rows [len.sum, 64]
 * of all sequences behind each other, and "len", the lengths [b]. Both may be set like any input; the calls
 * here keep them together.
 *
 *   int64_t shape[2] = {5, 64}, lengths[3] = {3, 0, 2};
 *   dyn_value* x;  dyn_value_ragged(context, DYN_F32, 2, shape, data, sizeof data, lengths, 3, &x);
 *   dyn_context_set_ragged_input(context, "x", x);  dyn_value_release(x);
 *   dyn_context_run(context);
 *   dyn_value* y;  dyn_context_get_ragged_output(context, 0, &y);
 *   dyn_value* rows;  const int64_t* of;  int64_t count;  dyn_value_ragged_parts(y, &rows, &of, &count);
 *
 * Threads, ownership and errors are those of dynvm.h. */
#ifndef DYN_RAGGED_H
#define DYN_RAGGED_H

#include "dynvm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A ragged tensor with a copy of its rows (shape [rows, ...], size_bytes must match) and of its lengths,
 * which must be 0 or more and sum up to the rows. It is a tuple of two tensors, rows and lengths. */
DYN_API dyn_status dyn_value_ragged(dyn_context* context, int32_t dtype, int32_t rank, const int64_t* shape,
                                    const void* data, size_t size_bytes, const int64_t* lengths,
                                    int64_t sequence_count, dyn_value** value);
/* The rows, as a tensor that the caller releases, and the lengths, borrowed as long as the value lives.
 * Sequence i begins at row lengths[0] + ... + lengths[i - 1]. DYN_INVALID_ARGUMENT: the value is not ragged.
 * */
DYN_API dyn_status dyn_value_ragged_parts(const dyn_value* value, dyn_value** rows, const int64_t** lengths,
                                          int64_t* sequence_count);
/* Sets the input of that name and the input of its lengths. Several inputs may share the input of lengths; a
 * run with different lengths ends with DYN_BAD_INPUT. DYN_INVALID_ARGUMENT: the input is not ragged. */
DYN_API dyn_status dyn_context_set_ragged_input(dyn_context* context, const char* name, dyn_value* value);
/* An output of the last run, with its lengths, which must be linear in the lengths of inputs (`2*len[b] +
1`).
 * An output with several ragged axes, (b, h, len[b], more[b]), gives its elements sequence by sequence; the
 * lengths are then counts of elements: h * len * more, an array [h, len, more]. DYN_UNSUPPORTED: the sizes
 * are not linear in lengths, for example after a stride; dyn_context_get_output gives the rows. */
DYN_API dyn_status dyn_context_get_ragged_output(dyn_context* context, int32_t index, dyn_value** value);

/* Sets a padded input [batch, longest, ...], as ONNX models have it, from a ragged value: the tensor has
zeros
 * after the end of each sequence. The call also sets the input that holds the lengths or the mask:
 *
 *   int64_t shape[1] = {7}, lengths[2] = {5, 2};   // seven ids
 *   dyn_value* ids;  dyn_value_ragged(context, DYN_I64, 1, shape, data, sizeof data, lengths, 2, &ids);
 *   dyn_context_set_padded_input(context, "input_ids", ids, NULL);        // [2, 5], and attention_mask
 *   dyn_context_run(context);
 *   dyn_value* hidden;  dyn_context_get_padded_output(context, 0, &hidden);   // ragged: rows [7, width]
 *
 * `lengths` names the input of lengths: a vector of integers, one per sequence, or a mask of the first two
 * axes, 1 at valid positions. NULL: the only input of this kind; a mask then has "mask" in its name. Where
 * the second axis is the batch, as in recurrences, sequences lie along the first. Zeros fill up a length that
 * the program fixes or requires to be a multiple. Inputs that share an input of lengths must have equal
 * lengths; otherwise a run ends with DYN_BAD_INPUT. A later call that sets the input of lengths replaces it.
 * DYN_INVALID_ARGUMENT, with nothing set: the value is not ragged, no input or several may hold the lengths,
 * or a sequence is too long. */
DYN_API dyn_status dyn_context_set_padded_input(dyn_context* context, const char* name, dyn_value* value,
                                                const char* lengths);
/* A padded output [batch, longest, ...] of the last run as a ragged value, without its padding.
 * DYN_UNSUPPORTED: its first two axes are not those of a padded input. */
DYN_API dyn_status dyn_context_get_padded_output(dyn_context* context, int32_t index, dyn_value** value);

/* Gives the next dry run the elements of an input that has been set, such as lengths. Sizes and small tensors
 * that follow from known values are then exact; others stay unknown. Inputs of strings are refused. */
DYN_API dyn_status dyn_context_dry_run_elements(dyn_context* context, int32_t input, const void* data,
                                                size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
