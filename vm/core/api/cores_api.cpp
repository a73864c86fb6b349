// The C API of simulated threads.
#include "vm/core/api/c_api.h"
#include "vm/include/dyn_cores.h"

using namespace dyn::vm;
using namespace dyn::vm::api;

dyn_status dyn_context_simulate_threads(dyn_context* context, int32_t enabled) {
  return guarded([&]() -> Status {
    if (!context) return failure(DYN_INVALID_ARGUMENT, "context is null");
    if (!context->threads)
      return failure(DYN_INVALID_ARGUMENT, "the context has one thread: there is nothing to simulate");
    context->threads->simulate(enabled != 0);
    return okStatus();
  });
}
