// Server: requests from any thread, answered by a few worker threads; those that wait together run together.
//
//   DYN_TRY(std::unique_ptr<Server> server, Server::start({.maxBatch = 8}));
//   const size_t model = server->add(program);            // served_program.h
//   auto request = std::make_shared<ServedRequest>();
//   request->call = server->call(model, std::move(inputs));
//   request->answered = [](ServedRequest& r) { use(r.call->answer); };
//   if (server->submit(request) != Submission::taken) ...  // at once: the queue is full, or it shuts down
//   server->shutDown(Shutdown::drain);
//
// Each request that is taken is answered once, whatever happens: `answered` is called on a worker's thread,
// or on that of cancel() or shutDown(). Every method may be called from any thread. `answered` may submit and
// cancel; it may not shut the server down or destroy it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "app/engine/serving/request_queue.h"
#include "app/engine/serving/serving_counts.h"
#include "app/engine/serving/serving_policy.h"
#include "compiler/support/clock.h"

namespace dyn {

enum class Submission : uint8_t { taken, queueFull, expired, shutDown, infeasible };
enum class Shutdown : uint8_t {
  drain,   // those that wait are run first
  refuse,  // those that wait are answered by `shutDown`; those that run are finished
  cancel,  // likewise, and those that run are cancelled
};

class Server {
 public:
  using Clock = std::function<int64_t()>;  // nanoseconds; tests have one of their own
  // Errors: usageError for a policy without requests or workers, runtimeError where no thread can be had.
  static Result<std::unique_ptr<Server>> start(const ServingPolicy& policy, Clock clock = steadyNs);
  ~Server();  // refuses what waits
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Result<size_t> add(std::shared_ptr<ServedModel> model);
  // Precondition: `model` is one that add() returned.
  std::unique_ptr<ServedCall> call(size_t model, std::vector<VmValue> inputs);
  // A request that is not taken is not answered. With Admission::byDeadline one that is infeasible has the
  // reason in its call's answer; what waits before it does not count.
  Submission submit(const RequestPointer& request);
  // A request that waits is answered by `cancelled` before this returns; one that runs, when its run ends,
  // which is soon unless others joined it. False: it has an answer.
  bool cancel(const RequestPointer& request);
  // Returns when all are answered. False: this is a worker's thread, and nothing was done.
  bool shutDown(Shutdown how);
  ServingCounts counts() const;
  int64_t nowNs() const { return clock_(); }
  // Looks at the clock again: for clocks that were set.
  void wake() { wanted_.notify_all(); }
  const ServingPolicy& policy() const { return policy_; }

 private:
  struct Batch {
    RequestQueue::Requests requests;
    std::unique_ptr<Gathering> gathering;  // null: it could not be made, and `refusal` is the answer
    AnswerKind refusal = AnswerKind::failed;
    int64_t reservedBytes = 0;
    bool hasMore = false;
  };
  struct Running {
    ServedModel* model = nullptr;
    const RequestQueue::Requests* requests = nullptr;
  };
  Server(const ServingPolicy& policy, Clock clock);
  bool isInfeasible(ServedRequest& request, int64_t nowNs) const;
  void work(size_t worker);
  Batch take(int64_t nowNs);
  RequestQueue::Begin begin(ServedRequest& first, int64_t nowNs, Batch& batch);
  void runBatch(size_t worker, Batch& batch, std::unique_lock<std::mutex>& lock);
  void answer(RequestQueue::Requests& requests, std::unique_lock<std::mutex>& lock);
  void refuse(RequestQueue::Requests& requests, AnswerKind kind, std::unique_lock<std::mutex>& lock);
  void cancelRuns(std::unique_lock<std::mutex>& lock);

  const ServingPolicy policy_;
  const Clock clock_;
  mutable std::mutex mutex_;  // guards all below but the threads
  std::condition_variable wanted_;
  RequestQueue queue_;
  std::vector<std::shared_ptr<ServedModel>> models_;
  std::vector<Running> running_;  // by worker
  ServingCounts counts_;
  int64_t gatherAtNs_ = INT64_MAX;  // when the first request that waits for others has waited enough
  bool stopping_ = false;
  std::mutex threadsMutex_;
  std::vector<std::thread> threads_;
  std::vector<std::thread::id> threadIds_;
};

}  // namespace dyn
