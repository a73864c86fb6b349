/* dyn_generate.h: a decoder continues prompts token by token; sequences join its steps and leave them.
 *
 * Example (error handling left out):
 *   dyn_generator_options options = {.size = sizeof options, .tokenizer = "tokenizer.json"};
 *   dyn_generator* generator;  dyn_generator_create(model, &options, &generator);
 *   dyn_prompt prompt = {.size = sizeof prompt, .text = "Shapes are", .max_new = 20};
 *   dyn_generator_submit(generator, &prompt, NULL);
 *   dyn_token token = {.size = sizeof token};
 *   while (dyn_generator_next(generator, &token) == DYN_OK) fputs(token.text, stdout);
 *   dyn_generator_release(generator);
 *
 * The model is a decoder by the names and shapes of its inputs and outputs (docs/generate.md). Sequences
 * share the steps where the compiler proves that no row of a batch reads another one; else they run one by
 * one.
 * A sequence that fails in a step of several runs again by itself, so that it fails alone.
 *
 * Threads: dyn_generator_next is called by one thread at a time, and runs the model on it and on the threads
 * of the model. All other functions may be called from any thread, dyn_generator_release last.
 * Errors: dyn_diagnostic_get says what a call was refused for, dyn_token.message why a sequence failed. */
#ifndef DYN_GENERATE_H
#define DYN_GENERATE_H

#include "dyn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dyn_generator dyn_generator;

/* Of dyn_generator_next, beside the statuses of dynvm.h: all sequences have ended, and their tokens were
 * given. */
#define DYN_NO_TOKEN ((dyn_status)36)

/* A value that is the same in all steps: what an encoder made of the source; the first one of a state. */
typedef struct dyn_generator_input {
  const char* name; /* of the input */
  dyn_dtype dtype;
  int32_t rank;
  const int64_t* shape; /* `rank` sizes; null where the rank is 0 */
  const void* data;     /* row-major, copied */
  size_t size_bytes;
} dyn_generator_input;

typedef struct dyn_generator_options {
  size_t size;           /* sizeof(dyn_generator_options) */
  const char* tokenizer; /* path of tokenizer.json, vocab.txt or vocab.json; null: prompts are ids */
  int32_t max_batch;     /* sequences in a step, others wait; 0: 16 */
  /* For one sequence: with inputs, sequences run one by one. */
  const dyn_generator_input* inputs;
  size_t input_count;
  /* "ROLE=NAME", what an input or output is for where its name does not say it (docs/generate.md). */
  const char* const* ports;
  size_t port_count;
  /* Tokens ahead that a step of one sequence runs, drafted from its own text; the same tokens in fewer steps;
   * 0: none, at most 256 */
  int32_t prompt_lookup;
  /* Where sequences run, a prompt of more tokens runs so many at a time, a part in each step; 0: whole */
  int32_t prefill_chunk;
} dyn_generator_options;

/* --- generators --- */
/* Compiles the model, whose thread this must be. The model may be changed or released afterwards. `options`
 * may be null. Errors: DYN_UNSUPPORTED, where the model is no decoder, or has inputs that a generator has no
 * values for; DYN_INVALID_ARGUMENT of an input or a port. */
DYN_API dyn_status dyn_generator_create(dyn_model* model, const dyn_generator_options* options,
                                        dyn_generator** generator);
/* Drops what waits and runs. Not while another call is under way. Null: nothing. */
DYN_API void dyn_generator_release(dyn_generator* generator);
/* How sequences share steps: "along batch", or "one by one: " and the reason. Borrowed from the generator. */
DYN_API const char* dyn_generator_sharing(const dyn_generator* generator);

/* --- prompts --- */
/* Zero means the default, for every member. */
typedef struct dyn_prompt {
  size_t size;        /* sizeof(dyn_prompt) */
  const char* text;   /* UTF-8; needs a tokenizer, which adds its special tokens. Null: `ids` */
  const int64_t* ids; /* copied; none is negative */
  size_t id_count;    /* above 0 */
  int64_t max_new;    /* tokens at most; default 32 */
  /* A sequence ends behind a stop token, which is given, or in front of a stop text, which is not. A stop
   * that is a token of the tokenizer is a stop token. Without a tokenizer there are no texts. */
  const char* const* stops;
  size_t stop_count;
  const int64_t* stop_ids; /* below the number of scores; none is negative */
  size_t stop_id_count;
  int32_t ignores_end_tokens; /* 0: it ends at those that the files beside model and tokenizer say, too */
  double temperature;         /* 0: the best token; above: one is drawn */
  int64_t top_k;              /* of the best K; 0: of all */
  double top_p;               /* of the best whose probabilities sum up to P; 0: 1 */
  double repetition_penalty;  /* of tokens that are there: scores above 0 are divided by it; 0: 1 */
  uint64_t seed, stream;      /* equal ones draw equally, whatever runs beside */
  /* Changes the scores [score_count] of the next token before the others apply: -INFINITY forbids one.
   * `tokens`: those of the prompt and the new ones. Called by dyn_generator_next on its thread; it may submit
   * and cancel. Anything but DYN_OK ends the sequence with that status. May be null. */
  dyn_status (*score)(void* user, int64_t sequence, const int64_t* tokens, size_t token_count, float* scores,
                      size_t score_count);
  void* user;
  /* Above 1: beam search, which gives the tokens of the most likely text when it has found it, and no draws;
   * a stop text cuts the text then. 0: 1 */
  int32_t beam_count;
  double length_penalty;  /* a text is ranked by its log probability / (its tokens)^this; 0: 1 */
  int32_t early_stopping; /* 1: the search ends when `beam_count` texts have ended */
} dyn_prompt;
/* Gives the number of the sequence, counted from 0; `sequence` may be null. It joins at the next step. */
DYN_API dyn_status dyn_generator_submit(dyn_generator* generator, const dyn_prompt* prompt,
                                        int64_t* sequence);
/* Ends a sequence before the next step. One that has ended, and a number of none, do nothing. */
DYN_API void dyn_generator_cancel(dyn_generator* generator, int64_t sequence);
/* Ends the step under way and all sequences; where none is under way, the next call of dyn_generator_next
 * ends them. */
DYN_API void dyn_generator_interrupt(dyn_generator* generator);

/* --- tokens --- */
typedef enum dyn_sequence_end DYN_OF_INT {
  DYN_SEQUENCE_RUNS,
  DYN_SEQUENCE_LENGTH, /* max_new */
  DYN_SEQUENCE_STOP_TOKEN,
  DYN_SEQUENCE_STOP_TEXT,
  DYN_SEQUENCE_CANCELLED,
  DYN_SEQUENCE_FAILED
} dyn_sequence_end;
typedef struct dyn_token {
  size_t size; /* sizeof(dyn_token), set by the caller */
  int64_t sequence;
  int64_t id;       /* -1: none, the sequence was cancelled or failed */
  const char* text; /* what it adds to the text, whole characters; "" without a tokenizer */
  dyn_sequence_end end;
  dyn_status status;   /* DYN_OK, DYN_CANCELLED, or what a failed one failed with */
  const char* message; /* of a failed one; else "" */
  double score;        /* of the text that a beam search has found, with its last token; else 0 */
} dyn_token;
/* The next token of any sequence, in the order in which they come; runs a step where none waits. Each
 * sequence has one token whose `end` is not DYN_SEQUENCE_RUNS, its last. Texts are borrowed until the next
 * call. DYN_NO_TOKEN: nothing is under way. */
DYN_API dyn_status dyn_generator_next(dyn_generator* generator, dyn_token* token);

/* --- counters --- */
typedef struct dyn_generator_statistics {
  size_t size;                                /* sizeof(dyn_generator_statistics), set by the caller */
  int64_t submitted_count, ended_count;       /* sequences */
  int64_t waiting_count, running_count;       /* of those not ended */
  int64_t tokens_count;                       /* new ones */
  int64_t steps_count;                        /* runs of the model, prompts included */
  int64_t rows_count;                         /* sequences in all of them: by steps_count, the mean batch */
  int64_t growing_caches_count, caches_count; /* growing: a step copies nothing of the past */
  int32_t shares_lengths;                     /* 0: only sequences of equal lengths share steps */
  int64_t shared_tokens_count;                /* of prompts, whose caches another prompt made */
  int64_t draft_tokens_count, accepted_tokens_count; /* by prompt lookup */
} dyn_generator_statistics;
DYN_API dyn_status dyn_generator_get_statistics(dyn_generator* generator,
                                                dyn_generator_statistics* statistics);

#ifdef __cplusplus
}
#endif
#endif
