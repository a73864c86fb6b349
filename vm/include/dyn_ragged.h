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
/* The rows as a tensor of the caller's (sequence i begins behind lengths[0] + ... + lengths[i - 1] of them),
 * and the lengths, borrowed, as long as the value lives. DYN_INVALID_ARGUMENT where the value is no ragged
 * one. */
DYN_API dyn_status dyn_value_ragged_parts(const dyn_value* value, dyn_value** rows, const int64_t** lengths,
                                          int64_t* sequence_count);
/* Sets the input of that name and the one that holds its lengths. Where several inputs share the latter, a
 * run ends with DYN_BAD_INPUT unless all were given the same lengths. DYN_INVALID_ARGUMENT where the input
 * is not ragged. */
DYN_API dyn_status dyn_context_set_ragged_input(dyn_context* context, const char* name, dyn_value* value);
/* An output of the last run whose lengths are linear in those of inputs (`2*len[b] + 1`), with these. One
 * with several axes of lengths, (b, h, len[b], more[b]), is its elements, sequence by sequence, with how many
 * each has as lengths: h * len * more, an array [h, len, more]. DYN_UNSUPPORTED where its sizes do not
 * follow from lengths so, as behind a stride: its rows are read with dyn_context_get_output. */
DYN_API dyn_status dyn_context_get_ragged_output(dyn_context* context, int32_t index, dyn_value** value);

/* Sequences for an input that takes them padded, [batch, longest, ...] as ONNX models do: of a ragged value
 * this makes that tensor, with zeros behind the end of each sequence, and the input that says how long they
 * are:
 *
 *   int64_t shape[1] = {7}, lengths[2] = {5, 2};   // seven ids
 *   dyn_value* ids;  dyn_value_ragged(context, DYN_I64, 1, shape, data, sizeof data, lengths, 2, &ids);
 *   dyn_context_set_padded_input(context, "input_ids", ids, NULL);        // [2, 5], and attention_mask
 *   dyn_context_run(context);
 *   dyn_value* hidden;  dyn_context_get_padded_output(context, 0, &hidden);   // ragged: rows [7, width]
 *
 * `lengths` names that input; NULL: there is one that could be it. It is a vector of whole numbers, one for
 * each sequence, or a mask of the first two axes, with "mask" in its name where it is not named here: 1 where
 * a sequence has a position. Where the second axis is the batch, as recurrences have it, sequences lie along
 * the first. A length that the program fixes, or wants to be a multiple, is filled up with zeros. Inputs with
 * the same such input must be given the same lengths, else a run ends with DYN_BAD_INPUT; who sets that input
 * afterwards has the last word on it. DYN_INVALID_ARGUMENT, with nothing set: the value is no ragged one, no
 * input or several could say how long the sequences are, one is longer than there is room. */
DYN_API dyn_status dyn_context_set_padded_input(dyn_context* context, const char* name, dyn_value* value,
                                                const char* lengths);
/* An output of the last run, [batch, longest, ...] as an input that was set so has it, without what stands
 * behind the end of each sequence: a ragged value. DYN_UNSUPPORTED where its first axes are no such. */
DYN_API dyn_status dyn_context_get_padded_output(dyn_context* context, int32_t index, dyn_value** value);

/* Of a dry run, for its next run: the elements of an input that has been set, such as lengths. Sizes that
 * follow from them, and small tensors in between, are then those of a run; others stay unknown. Strings are
 * no such input. */
DYN_API dyn_status dyn_context_dry_run_elements(dyn_context* context, int32_t input, const void* data,
                                                size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
