#include "server.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "arrays.h"
#include "fault.h"
#include "interruption.h"
#include "thread_pool.h"
#include "unlocked.h"
#include "values.h"

namespace dynpython {

namespace {

// A request between its submission and the call that tells its answer.
struct Pending {
  uint64_t number = 0;
  std::shared_ptr<Answers> answers;
  std::vector<Lent> lent;
  std::vector<bool> optionalOutputs;
  dyn_status status = DYN_NOT_ANSWERED;
  std::string message;
  std::vector<Held> outputs;
};

}  // namespace

// Filled by threads of the server, emptied by Server::answers.
class Answers {
 public:
  void add(std::unique_ptr<Pending> one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ready_.push_back(std::move(one));
    changed_.notify_one();
  }
  void close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::deque<std::unique_ptr<Pending>> wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !ready_.empty(); });
    return std::exchange(ready_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Pending>> ready_;
  bool closed_ = false;
};

namespace {

// On a thread of the server, or on one that cancels or shuts down.
void answered(void* user, dyn_request* request) {
  std::unique_ptr<Pending> pending(static_cast<Pending*>(user));
  pending->status = dyn_request_wait(request, 0);
  pending->message = dyn_request_message(request);
  for (int32_t i = 0; i < dyn_request_output_count(request); ++i) {
    dyn_value* value = nullptr;
    if (dyn_request_output(request, i, &value) == DYN_OK) pending->outputs.emplace_back(value);
  }
  const std::shared_ptr<Answers> answers = pending->answers;
  answers->add(std::move(pending));
}

void check(dyn_status status) {
  if (status != DYN_OK) throw modelFault(status);
}

}  // namespace

void Request::cancel() {
  const Unlocked unlocked;
  dyn_request_cancel(request_);
}

Server::Server(int32_t batching, int32_t maxBatch, int64_t maxWaitNs, int64_t maxBatchTimeNs,
               int64_t memoryLimitBytes, int32_t maxQueue, int32_t workers, const ThreadPool* pool,
               int32_t admission)
    : answers_(std::make_shared<Answers>()) {
  dyn_server_policy policy{};
  policy.size = sizeof policy;
  policy.batching = static_cast<dyn_batching>(batching);
  policy.max_batch = maxBatch;
  policy.max_wait_ns = maxWaitNs;
  policy.max_batch_time_ns = maxBatchTimeNs;
  policy.memory_limit_bytes = memoryLimitBytes;
  policy.max_queue = maxQueue;
  policy.worker_count = workers;
  policy.admission = static_cast<dyn_admission>(admission);
  policy.thread_pool = pool ? pool->get() : nullptr;
  check(dyn_server_create(&policy, &server_));
}

// Without Unlocked after shutDown, as it then waits for nobody: an ending interpreter gives no lock back.
Server::~Server() {
  if (isShutDown_) {
    dyn_server_release(server_);
    return;
  }
  const Unlocked unlocked;
  dyn_server_release(server_);
}

int32_t Server::add(Model& model) {
  int32_t index = -1;
  model.call([&](dyn_model* one) { return dyn_server_add_model(server_, one, &index); });
  return index;
}

std::string Server::admission(int32_t model) {
  const char* text = nullptr;
  check(dyn_server_admission(server_, model, &text));
  return text;
}

std::string Server::joining(int32_t model) {
  const char* text = nullptr;
  check(dyn_server_joining(server_, model, &text));
  return text;
}

Request* Server::submit(int32_t model, Program& program, nb::list inputs, uint64_t number, uint64_t client,
                        int32_t priority, int64_t deadlineNs) {
  auto pending = std::make_unique<Pending>();
  pending->number = number;
  pending->answers = answers_;
  pending->optionalOutputs = program.optionalOutputs();
  const std::vector<Held> values = program.valuesOf(inputs, pending->lent);
  std::vector<dyn_value*> plain;
  for (const Held& value : values) plain.push_back(value.get());
  dyn_server_request asked{};
  asked.size = sizeof asked;
  asked.model = model;
  asked.input_count = static_cast<int32_t>(plain.size());
  asked.inputs = plain.data();
  asked.client = client;
  asked.priority = priority;
  asked.deadline_ns = deadlineNs;
  asked.answered = &answered;
  asked.user = pending.get();
  dyn_request* request = nullptr;
  {
    const Unlocked unlocked;
    check(dyn_server_submit(server_, &asked, &request));
    pending.release();  // NOLINT(bugprone-unused-return-value): `answered` has it
  }
  return new Request(request);
}

nb::list Server::answers() {
  std::deque<std::unique_ptr<Pending>> ready;
  {
    const Unlocked unlocked;
    ready = answers_->wait();
  }
  giveBack();
  nb::list told;
  for (const std::unique_ptr<Pending>& one : ready) {
    nb::list outputs;
    std::atomic<int64_t> copies{0};
    for (size_t i = 0; i < one->outputs.size(); ++i)
      outputs.append(
          finished(objectOf(std::move(one->outputs[i]), one->optionalOutputs.at(i), one->lent, copies)));
    told.append(nb::make_tuple(one->number, static_cast<int>(one->status), dyn_status_text(one->status),
                               textOf(one->message), outputs));
  }
  return told;
}

void Server::shutDown(int32_t how) {
  if (isShutDown_) return;
  workUnlocked([&] { check(dyn_server_shut_down(server_, static_cast<dyn_shutdown>(how))); },
               [&] { dyn_server_shut_down(server_, DYN_SHUTDOWN_CANCEL); }, [] {});
  isShutDown_ = true;
  answers_->close();
}

nb::dict Server::statistics() {
  dyn_server_statistics row{};
  row.size = sizeof row;
  check(dyn_server_get_statistics(server_, &row));
  nb::dict named;
  named["submitted_count"] = row.submitted_count;
  named["completed_count"] = row.completed_count;
  named["failed_count"] = row.failed_count;
  named["cancelled_count"] = row.cancelled_count;
  named["expired_count"] = row.expired_count;
  named["queue_full_count"] = row.queue_full_count;
  named["infeasible_count"] = row.infeasible_count;
  named["memory_refused_count"] = row.memory_refused_count;
  named["shut_down_count"] = row.shut_down_count;
  named["queued_count"] = row.queued_count;
  named["longest_queue_count"] = row.longest_queue_count;
  named["running_count"] = row.running_count;
  named["runs_count"] = row.runs_count;
  named["joined_runs_count"] = row.joined_runs_count;
  named["ran_requests_count"] = row.ran_requests_count;
  named["p50_ns"] = row.p50_ns;
  named["p99_ns"] = row.p99_ns;
  return named;
}

std::string Server::metrics() {
  const char* text = nullptr;
  check(dyn_server_metrics(server_, &text));
  return text;
}

}  // namespace dynpython
