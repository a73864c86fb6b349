// Servers: requests of any thread, as app/engine/serving answers them.
#include "app/engine/serving/server.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "app/engine/serving/served_program.h"
#include "app/library/include/dyn_server.h"
#include "app/library/model.h"
#include "app/session/records/latency_runs.h"
#include "app/session/session_state.h"

struct dyn_server {
  std::shared_ptr<dyn::Server> server;
  std::mutex mutex;  // guards `programs`
  std::vector<std::shared_ptr<dyn::ServedProgram>> programs;
};

// Held by the caller's handle and, until it is answered, by the server.
struct dyn_request : std::enable_shared_from_this<dyn_request> {
  std::weak_ptr<dyn::Server> server;
  std::shared_ptr<dyn::ServedRequest> request;
  std::shared_ptr<dyn_request> handle;  // the caller's
  void (*answered)(void* user, dyn_request* request) = nullptr;
  void* user = nullptr;
  mutable std::mutex mutex;
  std::condition_variable done;
  bool isAnswered = false;  // with the mutex; what the answer holds does not change afterwards
};

namespace dyn::library {

namespace {

dyn_status statusOfAnswer(const ServedAnswer& answer) {
  switch (answer.kind) {
    case AnswerKind::results:
      return DYN_OK;
    case AnswerKind::failed:
      return answer.status;
    case AnswerKind::cancelled:
      return DYN_CANCELLED;
    case AnswerKind::expired:
      return DYN_DEADLINE_PASSED;
    case AnswerKind::queueFull:
      return DYN_QUEUE_FULL;
    case AnswerKind::memoryRefused:
      return DYN_MEMORY_LIMIT;
    case AnswerKind::shutDown:
      return DYN_SHUT_DOWN;
    case AnswerKind::infeasible:
      return DYN_DEADLINE_INFEASIBLE;
  }
  return DYN_INTERNAL;
}

const char* messageOf(const ServedAnswer& answer) {
  switch (answer.kind) {
    case AnswerKind::results:
      return "";
    case AnswerKind::failed:
      return answer.message.c_str();
    case AnswerKind::cancelled:
      return "the request was cancelled";
    case AnswerKind::expired:
      return "its deadline passed before it ran";
    case AnswerKind::queueFull:
      return "the queue is full";
    case AnswerKind::memoryRefused:
      return "it needs more memory than memory_limit_bytes of the server";
    case AnswerKind::shutDown:
      return "the server was shut down";
    case AnswerKind::infeasible:
      return answer.message.c_str();
  }
  return "";
}

Result<ServingPolicy> policyOf(const dyn_server_policy* given) {
  ServingPolicy policy;
  if (!given) return policy;
  DYN_TRY(const dyn_server_policy asked, taken(*given, sizeof(dyn_server_policy), "dyn_server_policy"));
  if (asked.max_batch < 0 || asked.max_wait_ns < 0 || asked.max_batch_time_ns < 0 ||
      asked.memory_limit_bytes < 0 || asked.max_queue < 0 || asked.worker_count < 0)
    return badArgument("a member of the policy is negative");
  if (asked.batching < DYN_BATCHING_AUTO || asked.batching > DYN_BATCHING_OFF)
    return badArgument("batching is not a value of dyn_batching");
  if (asked.admission < DYN_ADMISSION_ALL || asked.admission > DYN_ADMISSION_DEADLINE)
    return badArgument("admission is not a value of dyn_admission");
  if (asked.admission == DYN_ADMISSION_DEADLINE) policy.admission = Admission::byDeadline;
  policy.batching = asked.batching == DYN_BATCHING_ON    ? Batching::always
                    : asked.batching == DYN_BATCHING_OFF ? Batching::never
                                                         : Batching::whereItPays;
  if (asked.max_batch > 0) policy.maxBatch = static_cast<size_t>(asked.max_batch);
  if (asked.max_batch_time_ns > 0) policy.maxBatchTimeNs = asked.max_batch_time_ns;
  if (asked.max_queue > 0) policy.maxQueue = static_cast<size_t>(asked.max_queue);
  if (asked.worker_count > 0) policy.workers = static_cast<size_t>(asked.worker_count);
  policy.maxWaitNs = asked.max_wait_ns;
  policy.memoryLimitBytes = asked.memory_limit_bytes;
  if (asked.thread_pool) {
    dyn_thread_pool_retain(asked.thread_pool);
    policy.threads.reset(asked.thread_pool, dyn_thread_pool_release);
  }
  return policy;
}

Result<std::shared_ptr<ServedProgram>> programOf(dyn_server* server, int32_t model) {
  if (!server) return badArgument("server is a null pointer");
  const std::lock_guard<std::mutex> lock(server->mutex);
  if (model < 0 || static_cast<size_t>(model) >= server->programs.size())
    return badArgument("the server has no model " + std::to_string(model) + ", it has " +
                       std::to_string(server->programs.size()));
  return server->programs[static_cast<size_t>(model)];
}

Result<std::shared_ptr<ServedProgram>> compile(dyn_model& model, const ServingPolicy& policy) {
  std::shared_ptr<ServedProgram> program;
  const Status done = model.session->visit([&](SessionState& state) -> Status {
    DYN_TRY(LoadedModel * loaded, state.model());
    for (const std::vector<Port>* ports : {&loaded->signature().inputs, &loaded->signature().outputs})
      for (const Port& port : *ports)
        if (!port.length.empty())
          return makeError(DiagnosticId::unsupportedFeature,
                           "unsupported: a server of a model with ragged tensors: " + port.info.name);
    state.progress("compiling " + loaded->info().path);
    DYN_TRY(VmModule module, loaded->newProgram());
    const std::shared_ptr<dyn_module> owned(module.release(), dyn_module_release);
    DYN_TRY(program, ServedProgram::of(*loaded, owned, state.now.options, policy,
                                       sequenceLengthsOf(loaded->signature())));
    giveLatency(state, *loaded, *program);
    return {};
  });
  if (!done.ok()) return Error{done.error()};
  return program;
}

Result<std::vector<VmValue>> inputsOf(const ServedProgram& program, const dyn_server_request& asked) {
  const std::vector<Port>& ports = program.signature().inputs;
  if (asked.input_count < 0 || static_cast<size_t>(asked.input_count) != ports.size() ||
      (!asked.inputs && !ports.empty()))
    return badArgument("the model has " + std::to_string(ports.size()) + " inputs, the request " +
                       std::to_string(asked.inputs ? asked.input_count : 0));
  std::vector<VmValue> inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!asked.inputs[i]) return badArgument("input " + ports[i].info.name + " is a null pointer");
    dyn_value_retain(asked.inputs[i]);
    inputs.emplace_back(asked.inputs[i]);
  }
  return inputs;
}

void giveAnswer(dyn_request& request) {
  {
    const std::lock_guard<std::mutex> lock(request.mutex);
    request.isAnswered = true;
  }
  request.done.notify_all();
  if (request.answered) request.answered(request.user, &request);
}

// A request that waits holds its handle, and the handle the request: one that is not taken must not.
class UntilTaken {
 public:
  explicit UntilTaken(dyn_request& request) : request_(&request) {}
  ~UntilTaken() {
    if (!request_) return;
    request_->request->answered = nullptr;
    request_->handle = nullptr;
  }
  UntilTaken(const UntilTaken&) = delete;
  UntilTaken& operator=(const UntilTaken&) = delete;
  void isTaken() { request_ = nullptr; }

 private:
  dyn_request* request_;
};

dyn_status submit(dyn_server& server, const dyn_server_request& asked, dyn_request** target) {
  dyn_status status = DYN_OK;
  const dyn_status thrown = reporting([&]() -> Status {
    DYN_TRY(const dyn_server_request whole, taken(asked, sizeof(dyn_server_request), "dyn_server_request"));
    if (!target && !whole.answered)
      return badArgument("a request without a handle needs a callback, which gets its answer");
    DYN_TRY(const auto program, programOf(&server, whole.model));
    DYN_TRY(std::vector<VmValue> inputs, inputsOf(*program, whole));
    const auto made = std::make_shared<dyn_request>();
    made->server = server.server;
    made->answered = whole.answered;
    made->user = whole.user;
    made->request = std::make_shared<ServedRequest>();
    ServedRequest& request = *made->request;
    request.model = static_cast<size_t>(whole.model);
    request.client = whole.client;
    request.priority = whole.priority;
    const int64_t now = server.server->nowNs();
    if (whole.deadline_ns != 0 && __builtin_add_overflow(now, whole.deadline_ns, &request.deadlineNs))
      request.deadlineNs = INT64_MAX;
    request.call = program->call(std::move(inputs));
    request.answered = [made](ServedRequest&) { giveAnswer(*made); };  // which the server drops afterwards
    UntilTaken untilTaken(*made);
    if (target) made->handle = made;
    const Submission taken = server.server->submit(made->request);
    if (taken == Submission::taken) {
      untilTaken.isTaken();
      if (target) *target = made.get();
      return {};
    }
    ServedAnswer& answer = request.call->answer;
    answer.kind = taken == Submission::queueFull    ? AnswerKind::queueFull
                  : taken == Submission::expired    ? AnswerKind::expired
                  : taken == Submission::infeasible ? AnswerKind::infeasible
                                                    : AnswerKind::shutDown;
    status = statusOfAnswer(answer);
    noteDiagnostics({makeError(DiagnosticId::runtimeError, messageOf(answer)).diagnostic()});
    return {};
  });
  return thrown != DYN_OK ? thrown : status;
}

std::string& borrowedText() {
  thread_local std::string text;
  return text;
}

}  // namespace

}  // namespace dyn::library

using namespace dyn;
using namespace dyn::library;

extern "C" {

dyn_status dyn_server_create(const dyn_server_policy* policy, dyn_server** server) {
  if (server) *server = nullptr;
  return reporting([&]() -> Status {
    if (!server) return badArgument("server is a null pointer");
    DYN_TRY(const ServingPolicy asked, policyOf(policy));
    auto made = std::make_unique<dyn_server>();
    DYN_TRY(made->server, Server::start(asked));
    *server = made.release();
    return {};
  });
}

dyn_status dyn_server_add_model(dyn_server* server, dyn_model* model, int32_t* index) {
  if (index) *index = -1;
  return reporting([&]() -> Status {
    if (!server || !model || !index) return badArgument("server, model or index is a null pointer");
    DYN_TRY(std::shared_ptr<ServedProgram> program, compile(*model, server->server->policy()));
    const std::lock_guard<std::mutex> lock(server->mutex);
    server->programs.reserve(server->programs.size() + 1);
    DYN_TRY(const size_t number, server->server->add(program));
    server->programs.push_back(std::move(program));
    *index = static_cast<int32_t>(number);
    return {};
  });
}

dyn_status dyn_server_joining(dyn_server* server, int32_t model, const char** text) {
  if (text) *text = nullptr;
  return reporting([&]() -> Status {
    if (!text) return badArgument("text is a null pointer");
    DYN_TRY(const auto program, programOf(server, model));
    borrowedText() = program->joiningText();
    *text = borrowedText().c_str();
    return {};
  });
}

dyn_status dyn_server_admission(dyn_server* server, int32_t model, const char** text) {
  if (text) *text = nullptr;
  return reporting([&]() -> Status {
    if (!text) return badArgument("text is a null pointer");
    DYN_TRY(const auto program, programOf(server, model));
    const bool isOn = server->server->policy().admission == Admission::byDeadline;
    borrowedText() = isOn ? program->admissionText() : "all: the policy refuses none by its deadline";
    *text = borrowedText().c_str();
    return {};
  });
}

dyn_status dyn_server_shut_down(dyn_server* server, dyn_shutdown how) {
  return reporting([&]() -> Status {
    if (!server) return badArgument("server is a null pointer");
    if (how < DYN_SHUTDOWN_DRAIN || how > DYN_SHUTDOWN_CANCEL)
      return badArgument("how is not a value of dyn_shutdown");
    const Shutdown shutdown = how == DYN_SHUTDOWN_DRAIN    ? Shutdown::drain
                              : how == DYN_SHUTDOWN_REFUSE ? Shutdown::refuse
                                                           : Shutdown::cancel;
    if (!server->server->shutDown(shutdown))
      return badArgument("a callback cannot shut down the server that called it");
    return {};
  });
}

void dyn_server_release(dyn_server* server) {
  // From a callback it would wait for itself: the server is kept, as it must not go before its threads.
  if (server && server->server->shutDown(Shutdown::refuse)) delete server;
}

dyn_status dyn_server_tensor(dyn_server* server, int32_t model, int32_t dtype, int32_t rank,
                             const int64_t* shape, const void* data, size_t size_bytes, dyn_value** value) {
  if (value) *value = nullptr;
  return reporting([&]() -> Status {
    if (!value) return badArgument("value is a null pointer");
    DYN_TRY(const auto program, programOf(server, model));
    DYN_TRY(VmValue made, program->withContext([&](dyn_context* context) -> Result<VmValue> {
      dyn_value* tensor = nullptr;
      const dyn_status status = dyn_value_tensor(context, dtype, rank, shape, data, size_bytes, &tensor);
      if (status == DYN_INVALID_ARGUMENT) return badArgument(dyn_last_message());
      if (status != DYN_OK) return vmError(status);
      return VmValue(tensor);
    }));
    *value = made.release();
    return {};
  });
}

dyn_status dyn_server_submit(dyn_server* server, const dyn_server_request* asked, dyn_request** request) {
  if (request) *request = nullptr;
  if (!server || !asked)
    return reporting([]() -> Status { return badArgument("server or request is a null pointer"); });
  return submit(*server, *asked, request);
}

dyn_status dyn_request_wait(dyn_request* request, int64_t timeout_ns) {
  if (!request) return DYN_INVALID_ARGUMENT;
  std::unique_lock<std::mutex> lock(request->mutex);
  const auto answered = [&] { return request->isAnswered; };
  if (timeout_ns < 0)
    request->done.wait(lock, answered);
  else
    request->done.wait_for(lock, std::chrono::nanoseconds(timeout_ns), answered);
  return request->isAnswered ? statusOfAnswer(request->request->call->answer) : DYN_NOT_ANSWERED;
}

const char* dyn_request_message(const dyn_request* request) {
  if (!request) return "";
  const std::lock_guard<std::mutex> lock(request->mutex);
  return request->isAnswered ? messageOf(request->request->call->answer) : "";
}

int32_t dyn_request_output_count(const dyn_request* request) {
  if (!request) return 0;
  const std::lock_guard<std::mutex> lock(request->mutex);
  return request->isAnswered ? static_cast<int32_t>(request->request->call->answer.outputs.size()) : 0;
}

dyn_status dyn_request_output(const dyn_request* request, int32_t index, dyn_value** value) {
  if (value) *value = nullptr;
  return reporting([&]() -> Status {
    if (!request || !value) return badArgument("request or value is a null pointer");
    const int32_t count = dyn_request_output_count(request);
    if (index < 0 || index >= count)
      return badArgument("the request has " + std::to_string(count) + " outputs");
    dyn_value* output = request->request->call->answer.outputs[static_cast<size_t>(index)].get();
    dyn_value_retain(output);
    *value = output;
    return {};
  });
}

void dyn_request_cancel(dyn_request* request) {
  if (!request) return;
  if (const std::shared_ptr<Server> server = request->server.lock()) server->cancel(request->request);
}

void dyn_request_release(dyn_request* request) {
  if (request) const std::shared_ptr<dyn_request> last = std::move(request->handle);
}

dyn_status dyn_server_get_statistics(dyn_server* server, dyn_server_statistics* statistics) {
  return reporting([&]() -> Status {
    if (!server) return badArgument("server is a null pointer");
    const ServingCounts counts = server->server->counts();
    dyn_server_statistics made{};
    made.submitted_count = counts.submitted;
    made.completed_count = counts.count(AnswerKind::results);
    made.failed_count = counts.count(AnswerKind::failed);
    made.cancelled_count = counts.count(AnswerKind::cancelled);
    made.expired_count = counts.count(AnswerKind::expired);
    made.queue_full_count = counts.count(AnswerKind::queueFull);
    made.memory_refused_count = counts.count(AnswerKind::memoryRefused);
    made.shut_down_count = counts.count(AnswerKind::shutDown);
    made.queued_count = counts.queued;
    made.longest_queue_count = counts.longestQueue;
    made.running_count = counts.running;
    made.runs_count = counts.runs;
    made.joined_runs_count = counts.joinedRuns;
    made.ran_requests_count = counts.ranRequests;
    made.p50_ns = counts.latencies.percentileNs(0.5);
    made.p99_ns = counts.latencies.percentileNs(0.99);
    made.infeasible_count = counts.count(AnswerKind::infeasible);
    return give(made, statistics);
  });
}

dyn_status dyn_server_metrics(dyn_server* server, const char** text) {
  if (text) *text = nullptr;
  return reporting([&]() -> Status {
    if (!server || !text) return badArgument("server or text is a null pointer");
    borrowedText() = prometheusText(server->server->counts());
    *text = borrowedText().c_str();
    return {};
  });
}

}  // extern "C"
