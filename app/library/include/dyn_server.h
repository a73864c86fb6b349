/* dyn_server.h: a server in a process: requests of any thread, which run together where they wait together.
 *
 * Example (error handling left out):
 *   dyn_server* server;  dyn_server_create(NULL, &server);
 *   int32_t bert;        dyn_server_add_model(server, model, &bert);
 *   dyn_value* ids;      dyn_server_tensor(server, bert, DYN_I64, 2, shape, data, sizeof data, &ids);
 *   dyn_server_request asked = {.size = sizeof asked, .model = bert, .inputs = &ids, .input_count = 1};
 *   dyn_request* request;
 *   if (dyn_server_submit(server, &asked, &request) == DYN_OK && dyn_request_wait(request, -1) == DYN_OK)
 *     dyn_request_output(request, 0, &output);
 *   dyn_request_release(request);
 *
 * Requests of a model are joined along the batch where the compiler proves that no row of a batch reads
 * another one. Requests of different lengths are joined where an input gives the length of each: the shorter
 * ones are padded with zeros, and the first joined run is compared with runs alone. All others run one by
 * one. A joined run that fails is run again request by request, so a bad request fails alone.
 *
 * Threads: every function may be called from any thread, except where it says otherwise.
 * Answers: each request that dyn_server_submit takes is answered once: by results or by a status.
 * Errors: dyn_diagnostic_get says what a call was refused for, dyn_request_message why a request failed. */
#ifndef DYN_SERVER_H
#define DYN_SERVER_H

#include "dyn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dyn_server dyn_server;
typedef struct dyn_request dyn_request;

/* Statuses of requests, beside those of dynvm.h. DYN_CANCELLED: by dyn_request_cancel. DYN_MEMORY_LIMIT: the
 * request needs more than dyn_server_policy.memory_limit_bytes. */
#define DYN_QUEUE_FULL ((dyn_status)32)      /* refused at once: max_queue requests wait */
#define DYN_DEADLINE_PASSED ((dyn_status)33) /* it did not run */
#define DYN_SHUT_DOWN ((dyn_status)34)       /* the server takes no requests, or refused those that waited */
#define DYN_NOT_ANSWERED ((dyn_status)35)    /* it waits or runs */
#define DYN_DEADLINE_INFEASIBLE ((dyn_status)36) /* refused at once: its run takes longer than that */

typedef enum dyn_batching DYN_OF_INT {
  DYN_BATCHING_AUTO, /* requests are joined where that takes less time, by the times of earlier runs */
  DYN_BATCHING_ON,   /* wherever they may be joined; dyn_server_add_model fails where they may not */
  DYN_BATCHING_OFF
} dyn_batching;

typedef enum dyn_admission DYN_OF_INT {
  DYN_ADMISSION_ALL,
  /* Deadline-aware: a request whose deadline is nearer than the time that its run takes at least is refused
   * by DYN_DEADLINE_INFEASIBLE. The time is that of the formula in the model's package, the lower end of its
   * interval; without a formula of this machine, device and number of threads, and without a deadline, no
   * request is refused. What waits before a request does not count. */
  DYN_ADMISSION_DEADLINE
} dyn_admission;

/* Zero means the default, for every member. */
typedef struct dyn_server_policy {
  size_t size; /* sizeof(dyn_server_policy) */
  dyn_batching batching;
  int32_t max_batch;          /* requests in one run; default 16 */
  int64_t max_wait_ns;        /* that a request waits for others to join it; default: none waits */
  int64_t max_batch_time_ns;  /* of a joined run, as far as earlier runs tell; default 100 ms */
  int64_t memory_limit_bytes; /* of all runs together, by their predicted peaks; default: no limit */
  int32_t max_queue;          /* requests that wait; default 1000 */
  int32_t worker_count;       /* runs at the same time; default 1. Each has the threads of its model. */
  /* Not null: all runs share these threads instead of having their own. The server keeps the pool. */
  dyn_thread_pool* thread_pool;
  dyn_admission admission; /* which requests are taken; default: all */
} dyn_server_policy;

/* --- servers --- */
/* `policy` may be null. */
DYN_API dyn_status dyn_server_create(const dyn_server_policy* policy, dyn_server** server);
/* Compiles the model, whose thread this must be, and gives its number in the server. The model may be changed
 * or released afterwards. A package has no graph to prove anything by: its requests run one by one. */
DYN_API dyn_status dyn_server_add_model(dyn_server* server, dyn_model* model, int32_t* index);
/* How requests of a model are joined: "along batch, of different seq by attention_mask"; or "one by one: "
 * and the reason. Borrowed until this thread's next call. */
DYN_API dyn_status dyn_server_joining(dyn_server* server, int32_t model, const char** text);
/* What admission by deadlines goes by: "time = 0.41 ms + 12.3 us*batch*seq"; or "all: " and the reason.
 * Borrowed until this thread's next call. */
DYN_API dyn_status dyn_server_admission(dyn_server* server, int32_t model, const char** text);
typedef enum dyn_shutdown DYN_OF_INT {
  DYN_SHUTDOWN_DRAIN,  /* requests that wait are run first */
  DYN_SHUTDOWN_REFUSE, /* they are answered by DYN_SHUT_DOWN; runs under way are finished */
  DYN_SHUTDOWN_CANCEL  /* likewise, and runs under way are cancelled */
} dyn_shutdown;
/* Takes no further requests, and returns when all are answered. Not from a callback: DYN_INVALID_ARGUMENT. */
DYN_API dyn_status dyn_server_shut_down(dyn_server* server, dyn_shutdown how);
/* Refuses what waits. Requests stay valid until they are released. Not from a callback. Null: nothing. */
DYN_API void dyn_server_release(dyn_server* server);

/* --- requests --- */
/* A tensor with a copy of `data`, as dyn_value_tensor makes it. Values of a context of any module will do as
 * inputs, too. */
DYN_API dyn_status dyn_server_tensor(dyn_server* server, int32_t model, int32_t dtype, int32_t rank,
                                     const int64_t* shape, const void* data, size_t size_bytes,
                                     dyn_value** value);
typedef struct dyn_server_request {
  size_t size; /* sizeof(dyn_server_request) */
  int32_t model;
  int32_t input_count;
  dyn_value* const* inputs; /* in the order of the model; shared, and not to be written until the answer */
  uint64_t client;          /* clients take turns; any number */
  int32_t priority;         /* higher ones run first; 0 is usual */
  int64_t deadline_ns;      /* from now; it does not start later. 0: none; negative: already passed */
  /* Called once when the request has its answer, on a thread of the server or on that of
   * dyn_request_cancel or dyn_server_shut_down; may be null. `request` is borrowed. It may submit and
   * cancel. */
  void (*answered)(void* user, dyn_request* request);
  void* user;
} dyn_server_request;
/* Anything but DYN_OK: the request was refused, `answered` is not called, and *request is null. `request` may
 * be null where there is a callback. */
DYN_API dyn_status dyn_server_submit(dyn_server* server, const dyn_server_request* asked,
                                     dyn_request** request);
/* Waits for the answer, at most so long; negative: as long as it takes. The status of the answer, or
 * DYN_NOT_ANSWERED. Not from a callback of the same server with a time other than 0. */
DYN_API dyn_status dyn_request_wait(dyn_request* request, int64_t timeout_ns);
/* One line: why the answer is not DYN_OK; "" before the answer. Borrowed from the request. */
DYN_API const char* dyn_request_message(const dyn_request* request);
DYN_API int32_t dyn_request_output_count(const dyn_request* request); /* 0 unless the answer is DYN_OK */
DYN_API dyn_status dyn_request_output(const dyn_request* request, int32_t index, dyn_value** value);
/* A request that waits is answered at once; a run under way ends if all its requests are cancelled. The
 * status is then DYN_CANCELLED. After the answer it does nothing. */
DYN_API void dyn_request_cancel(dyn_request* request);
/* Does not cancel. Null: nothing. */
DYN_API void dyn_request_release(dyn_request* request);

/* --- counters --- */
typedef struct dyn_server_statistics {
  size_t size;             /* sizeof(dyn_server_statistics), set by the caller */
  int64_t submitted_count; /* with the refused ones */
  int64_t completed_count, failed_count, cancelled_count, expired_count;
  int64_t queue_full_count, memory_refused_count, shut_down_count;
  int64_t queued_count, longest_queue_count, running_count;
  int64_t runs_count, joined_runs_count; /* joined: of two and more requests */
  int64_t ran_requests_count;            /* by runs_count: the mean size of a batch */
  int64_t p50_ns, p99_ns;                /* from the arrival of a request that ran to its answer */
  int64_t infeasible_count;              /* refused by DYN_ADMISSION_DEADLINE */
} dyn_server_statistics;
DYN_API dyn_status dyn_server_get_statistics(dyn_server* server, dyn_server_statistics* statistics);
/* The same and more as text for Prometheus (exposition format 0.0.4). Borrowed until this thread's next
 * call. */
DYN_API dyn_status dyn_server_metrics(dyn_server* server, const char** text);

#ifdef __cplusplus
}
#endif
#endif
