#include "app/engine/serving/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "app/engine/run/thread_start.h"

namespace dyn {

Server::Server(const ServingPolicy& policy, Clock clock)
    : policy_(policy), clock_(std::move(clock)), queue_(policy.maxQueue), running_(policy.workers) {}

Result<std::unique_ptr<Server>> Server::start(const ServingPolicy& policy, Clock clock) {
  constexpr size_t kMostWorkers = 1024;
  if (policy.maxBatch < 1 || policy.maxQueue < 1 || policy.workers < 1 || policy.workers > kMostWorkers)
    return makeError(DiagnosticId::usageError,
                     "a server has at least one request in a run, one in the queue, and 1 to 1024 workers");
  std::unique_ptr<Server> server(new Server(policy, std::move(clock)));
  for (size_t worker = 0; worker < policy.workers; ++worker) {
    std::thread thread;
    DYN_CHECK(startThread(thread, [made = server.get(), worker] { made->work(worker); }));
    server->threadIds_.push_back(thread.get_id());
    server->threads_.push_back(std::move(thread));
  }
  return server;
}

Server::~Server() { shutDown(Shutdown::refuse); }

Result<size_t> Server::add(std::shared_ptr<ServedModel> model) {
  DYN_CHECK(model->prepare(policy_.workers, policy_.memoryLimitBytes));
  const std::lock_guard<std::mutex> lock(mutex_);
  models_.push_back(std::move(model));
  return models_.size() - 1;
}

std::unique_ptr<ServedCall> Server::call(size_t model, std::vector<VmValue> inputs) {
  std::shared_ptr<ServedModel> served;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    served = models_[model];
  }
  return served->call(std::move(inputs));
}

bool Server::isInfeasible(ServedRequest& request, int64_t nowNs) const {
  if (policy_.admission != Admission::byDeadline || request.deadlineNs == INT64_MAX) return false;
  std::shared_ptr<ServedModel> served;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    served = models_[request.model];
  }
  const std::optional<PredictedTime> time = served->predictedTime(*request.call);
  const int64_t left = request.deadlineNs - nowNs;
  if (!time || time->leastNs <= left) return false;
  const auto text = [](int64_t ns) {
    const double value = static_cast<double>(ns);
    return value < 1e9 ? fmt::format("{:.4g} ms", value / 1e6) : fmt::format("{:.4g} s", value / 1e9);
  };
  request.call->answer.message = "it needs about " + text(time->ns) + ", at least " + text(time->leastNs) +
                                 ", and its deadline is in " + text(left);
  return true;
}

Submission Server::submit(const RequestPointer& request) {
  const int64_t now = clock_();
  const bool infeasible = request->deadlineNs > now && isInfeasible(*request, now);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto refused = [&](AnswerKind kind, Submission why) {
      ++counts_.submitted;
      ++counts_.answers[static_cast<size_t>(kind)];
      return why;
    };
    if (stopping_) return refused(AnswerKind::shutDown, Submission::shutDown);
    if (request->deadlineNs <= now) return refused(AnswerKind::expired, Submission::expired);
    if (infeasible) return refused(AnswerKind::infeasible, Submission::infeasible);
    request->arrivalNs = now;
    request->state = ServedRequest::State::waiting;
    if (!queue_.add(request)) return refused(AnswerKind::queueFull, Submission::queueFull);
    ++counts_.submitted;
  }
  wanted_.notify_one();
  return Submission::taken;
}

bool Server::cancel(const RequestPointer& request) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (request->state == ServedRequest::State::waiting) {
    RequestQueue::Requests removed;
    queue_.remove(*request, removed);
    refuse(removed, AnswerKind::cancelled, lock);
    return true;
  }
  if (request->state != ServedRequest::State::running) return false;
  request->call->cancelled = true;
  const Running& run = running_[request->worker];
  if (std::all_of(run.requests->begin(), run.requests->end(),
                  [](const RequestPointer& one) { return one->call->cancelled.load(); }))
    run.model->cancel(request->worker);
  return true;
}

bool Server::shutDown(Shutdown how) {
  if (std::find(threadIds_.begin(), threadIds_.end(), std::this_thread::get_id()) != threadIds_.end())
    return false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    stopping_ = true;
    if (how != Shutdown::drain) {
      RequestQueue::Requests removed;
      queue_.removeAll(removed);
      refuse(removed, AnswerKind::shutDown, lock);
    }
    if (how == Shutdown::cancel) cancelRuns(lock);
  }
  wanted_.notify_all();
  const std::lock_guard<std::mutex> lock(threadsMutex_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  return true;
}

// Returns when nothing runs. A run that has not quite begun does not hear of it, so it is told again.
void Server::cancelRuns(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kAgain(5);
  while (counts_.running > 0) {
    for (size_t worker = 0; worker < running_.size(); ++worker) {
      if (!running_[worker].model) continue;
      for (const RequestPointer& request : *running_[worker].requests) request->call->cancelled = true;
      running_[worker].model->cancel(worker);
    }
    wanted_.wait_for(lock, kAgain);
  }
}

ServingCounts Server::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  ServingCounts counts = counts_;
  counts.queued = static_cast<int64_t>(queue_.count());
  counts.longestQueue = static_cast<int64_t>(queue_.longestCount());
  return counts;
}

void Server::work(size_t worker) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const int64_t now = clock_();
    RequestQueue::Requests expired;
    queue_.removeExpired(now, expired);
    refuse(expired, AnswerKind::expired, lock);
    if (Batch batch = take(now); !batch.requests.empty()) {
      if (batch.hasMore) wanted_.notify_one();
      runBatch(worker, batch, lock);
      continue;
    }
    if (stopping_ && queue_.empty()) return;
    const int64_t until = std::min(queue_.nextDeadlineNs(), gatherAtNs_);
    if (until == INT64_MAX)
      wanted_.wait(lock);
    else
      wanted_.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(until - now, 1000)));
  }
}

// Decides about the request whose turn it is, and makes the gathering that it begins.
RequestQueue::Begin Server::begin(ServedRequest& first, int64_t nowNs, Batch& batch) {
  GatheringLimits limits;
  limits.waitingCount = queue_.countOf(first.model);
  limits.mostCalls = policy_.batching == Batching::never ? 1 : policy_.maxBatch;
  const bool mayWait = policy_.maxWaitNs > 0 && limits.waitingCount < limits.mostCalls && !stopping_ &&
                       nowNs - first.arrivalNs < policy_.maxWaitNs;
  const int64_t limit = policy_.memoryLimitBytes;
  if (limit > 0) limits.memoryBytes = limit - counts_.reservedBytes;
  try {
    if (mayWait && models_[first.model]->joins(*first.call)) {
      gatherAtNs_ = std::min(gatherAtNs_, first.arrivalNs + policy_.maxWaitNs);
      return RequestQueue::Begin::later;
    }
    batch.gathering = models_[first.model]->gather(*first.call, limits);
  } catch (const std::bad_alloc&) {
    return RequestQueue::Begin::alone;  // without one it is answered
  }
  const RequestQueue::Begin begins =
      batch.gathering->isFull() ? RequestQueue::Begin::alone : RequestQueue::Begin::yes;
  if (limit <= 0) return begins;
  const int64_t peak = batch.gathering->peakBytes();
  if (peak > limit) {
    batch.gathering.reset();
    batch.refusal = AnswerKind::memoryRefused;
    return RequestQueue::Begin::alone;
  }
  // What nobody can tell before may take all, and so has it alone. Others do not overtake the first, which
  // might wait forever.
  if (peak > limits.memoryBytes || (peak < 0 && counts_.reservedBytes > 0)) {
    batch.gathering.reset();
    return RequestQueue::Begin::stop;
  }
  return begins;
}

Server::Batch Server::take(int64_t nowNs) {
  Batch batch;
  gatherAtNs_ = INT64_MAX;
  const auto begins = [&](ServedRequest& first) { return begin(first, nowNs, batch); };
  const auto joins = [&](ServedRequest& next) {
    try {
      return batch.gathering->add(*next.call);
    } catch (const std::bad_alloc&) {
      return false;  // it runs on its own, later
    }
  };
  const size_t most = policy_.batching == Batching::never ? 1 : policy_.maxBatch;
  queue_.take(std::ref(begins), std::ref(joins), most, batch.requests);
  batch.hasMore = !queue_.empty();
  if (batch.gathering && policy_.memoryLimitBytes > 0) {
    const int64_t peak = batch.gathering->peakBytes();
    batch.reservedBytes = peak < 0 ? policy_.memoryLimitBytes : peak;
  }
  return batch;
}

void Server::runBatch(size_t worker, Batch& batch, std::unique_lock<std::mutex>& lock) {
  if (!batch.gathering) {
    for (const RequestPointer& request : batch.requests)
      if (batch.refusal == AnswerKind::failed)
        request->call->answer.setOutOfMemory();
      else
        request->call->answer.kind = batch.refusal;
    answer(batch.requests, lock);
    return;
  }
  const std::shared_ptr<ServedModel> model = models_[batch.requests.front()->model];
  for (const RequestPointer& request : batch.requests) {
    request->state = ServedRequest::State::running;
    request->worker = worker;
  }
  const size_t count = batch.requests.size();
  running_[worker] = {model.get(), &batch.requests};
  counts_.running += static_cast<int64_t>(count);
  counts_.reservedBytes += batch.reservedBytes;
  lock.unlock();
  const int64_t begin = clock_();
  try {
    model->run(worker, *batch.gathering);
  } catch (const std::bad_alloc&) {
    for (const RequestPointer& request : batch.requests) request->call->answer.setOutOfMemory();
  }
  batch.gathering.reset();
  const int64_t end = clock_();
  lock.lock();
  running_[worker] = {};
  counts_.running -= static_cast<int64_t>(count);
  counts_.reservedBytes -= batch.reservedBytes;
  if (batch.reservedBytes > 0 || stopping_) wanted_.notify_all();
  try {
    counts_.addRun(count, end - begin);
    for (const RequestPointer& request : batch.requests) counts_.latencies.add(end - request->arrivalNs);
  } catch (const std::bad_alloc&) {  // the times of one run are missing
  }
  for (const RequestPointer& request : batch.requests) {
    if (!request->call->cancelled) continue;
    request->call->answer.kind = AnswerKind::cancelled;
    request->call->answer.outputs.clear();
  }
  answer(batch.requests, lock);
}

// Comes and goes with the lock; while answers are given, it is open.
void Server::answer(RequestQueue::Requests& requests, std::unique_lock<std::mutex>& lock) {
  if (requests.empty()) return;
  for (const RequestPointer& request : requests) {
    request->state = ServedRequest::State::answered;
    ++counts_.answers[static_cast<size_t>(request->call->answer.kind)];
  }
  lock.unlock();
  for (const RequestPointer& request : requests)
    if (const auto answered = std::exchange(request->answered, nullptr)) answered(*request);
  requests.clear();
  lock.lock();
}

void Server::refuse(RequestQueue::Requests& requests, AnswerKind kind, std::unique_lock<std::mutex>& lock) {
  for (const RequestPointer& request : requests) request->call->answer.kind = kind;
  answer(requests, lock);
}

}  // namespace dyn
