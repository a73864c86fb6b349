/* A server in a process: sends texts of many lengths at once, and prints what ran together:
 *   server bert.onnx
 * Threads may send at the same time; this program has one, to stay short. */
#include <stdio.h>

#include "dyn_server.h"

enum { kRequests = 24, kLongest = 64 };
static int64_t ids[kLongest], ones[kLongest];

static int fail(const char* what) {
  dyn_diagnostic fault = {.size = sizeof fault};
  dyn_diagnostic_get(0, &fault);
  return fprintf(stderr, "%s: %s: %s\n", what, fault.place, fault.message), 1;
}

int main(int argumentCount, char** arguments) {
  const dyn_model_options options = {.size = sizeof options, .path = argumentCount > 1 ? arguments[1] : ""};
  const dyn_server_policy policy = {.size = sizeof policy, .batching = DYN_BATCHING_ON, .max_batch = 8};
  dyn_model* model;
  dyn_server* server;
  int32_t bert;
  if (dyn_model_open(&options, &model) != DYN_OK) return fail("open");
  if (dyn_server_create(&policy, &server) != DYN_OK) return fail("create");
  if (dyn_server_add_model(server, model, &bert) != DYN_OK) return fail("add");
  dyn_model_release(model); /* the server needs it no more */
  const char* joining;
  if (dyn_server_joining(server, bert, &joining) == DYN_OK) printf("requests are joined %s\n", joining);

  for (int64_t i = 0; i < kLongest; ++i) ids[i] = i, ones[i] = 1;
  dyn_request* requests[kRequests] = {NULL};
  for (int i = 0; i < kRequests; ++i) {
    const int64_t shape[2] = {1, 40 + i};
    dyn_value* inputs[2];
    dyn_server_tensor(server, bert, DYN_I64, 2, shape, ids, sizeof *ids * (size_t)shape[1], &inputs[0]);
    dyn_server_tensor(server, bert, DYN_I64, 2, shape, ones, sizeof *ones * (size_t)shape[1], &inputs[1]);
    const dyn_server_request asked = {
        .size = sizeof asked, .model = bert, .inputs = inputs, .input_count = 2, .client = (uint64_t)i % 3};
    if (dyn_server_submit(server, &asked, &requests[i]) != DYN_OK) return fail("submit");
    dyn_value_release(inputs[0]), dyn_value_release(inputs[1]);
  }
  for (int i = 0; i < kRequests; ++i) {
    dyn_value* output;
    if (dyn_request_wait(requests[i], -1) != DYN_OK)
      return fprintf(stderr, "request %d: %s\n", i, dyn_request_message(requests[i])), 1;
    dyn_request_output(requests[i], 0, &output);
    if (dyn_value_shape(output)[1] != 40 + i) return fprintf(stderr, "request %d: a wrong shape\n", i), 1;
    dyn_value_release(output), dyn_request_release(requests[i]);
  }
  dyn_server_shut_down(server, DYN_SHUTDOWN_DRAIN);
  dyn_server_statistics said = {.size = sizeof said};
  dyn_server_get_statistics(server, &said);
  printf("%d requests in %d runs\n", (int)said.completed_count, (int)said.runs_count);
  return dyn_server_release(server), 0;
}
