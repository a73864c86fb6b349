// Servers over a model that answers when the test lets it: what is joined, what is refused, and that each
// request has one answer.
#include "app/engine/serving/server.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <new>
#include <random>

namespace dyn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Calls have numbers, which their answers repeat; those of equal `kind` may be joined.
struct FakeCall : ServedCall {
  int64_t number = 0, kind = 0;
};

class FakeModel : public ServedModel {
 public:
  bool closed = false;  // runs wait for open()
  int64_t bytesPerCall = 0;
  std::optional<PredictedTime> predicted;
  std::function<void()> onGather, onRun;  // may throw

  Status prepare(size_t, int64_t) override { return {}; }
  std::unique_ptr<ServedCall> call(std::vector<VmValue>) override { return std::make_unique<FakeCall>(); }
  bool joins(ServedCall&) override { return true; }
  std::unique_ptr<Gathering> gather(ServedCall& first, const GatheringLimits& limits) override {
    if (onGather) onGather();
    return std::make_unique<FakeGathering>(*this, first, limits);
  }
  void run(size_t, const Gathering& gathering) override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      ++entered_;
      changed_.notify_all();
      std::vector<int64_t> numbers;
      for (const ServedCall* call : gathering.calls())
        numbers.push_back(static_cast<const FakeCall*>(call)->number);
      runs_.push_back(numbers);
      changed_.wait(lock, [&] { return !closed; });
    }
    if (onRun) onRun();
    for (ServedCall* call : gathering.calls())
      call->answer.message = std::to_string(static_cast<FakeCall*>(call)->number);
  }
  std::optional<PredictedTime> predictedTime(const ServedCall&) const override { return predicted; }
  void cancel(size_t) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++cancels_;
    closed = false;
    changed_.notify_all();
  }

  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed = false;
    changed_.notify_all();
  }
  void waitForRuns(int64_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return entered_ >= count; });
  }
  std::vector<std::vector<int64_t>> runs() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return runs_;
  }
  int64_t cancels() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return cancels_;
  }

 private:
  class FakeGathering : public Gathering {
   public:
    FakeGathering(FakeModel& model, ServedCall& first, const GatheringLimits& limits)
        : model_(model), limits_(limits) {
      calls_.push_back(&first);
    }
    bool add(ServedCall& next) override {
      const auto kind = [](const ServedCall* call) { return static_cast<const FakeCall*>(call)->kind; };
      if (isFull() || kind(calls_[0]) != kind(&next)) return false;
      const int64_t more = peakBytes() + model_.bytesPerCall;
      if (limits_.memoryBytes >= 0 && more > limits_.memoryBytes) return false;
      calls_.push_back(&next);
      return true;
    }
    bool isFull() const override { return calls_.size() == limits_.mostCalls; }
    int64_t peakBytes() const override {
      return model_.bytesPerCall < 0 ? -1 : model_.bytesPerCall * static_cast<int64_t>(calls_.size());
    }

   private:
    FakeModel& model_;
    GatheringLimits limits_;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int64_t entered_ = 0, cancels_ = 0;
  std::vector<std::vector<int64_t>> runs_;
};

class ServerTest : public testing::Test {
 protected:
  void start(ServingPolicy policy = {}, Server::Clock clock = steadyNs) {
    Result<std::unique_ptr<Server>> made = Server::start(policy, std::move(clock));
    ASSERT_TRUE(made.ok()) << made.error().message;
    server_ = std::move(*made);
    model_ = std::make_shared<FakeModel>();
    ASSERT_TRUE(server_->add(model_).ok());
  }
  ~ServerTest() override {
    if (model_) model_->open();
  }

  RequestPointer request(int64_t number, int64_t kind = 0) {
    auto made = std::make_shared<ServedRequest>();
    auto call = std::make_unique<FakeCall>();
    call->number = number;
    call->kind = kind;
    made->call = std::move(call);
    made->answered = [this, number](const ServedRequest& request) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const ServedAnswer& answer = request.call->answer;
      if (answer.kind == AnswerKind::results) {
        EXPECT_EQ(answer.message, std::to_string(number));
      }
      answers_[number].push_back(answer.kind);
      changed_.notify_all();
    };
    return made;
  }
  RequestPointer submit(int64_t number, int64_t kind = 0) {
    RequestPointer made = request(number, kind);
    EXPECT_EQ(server_->submit(made), Submission::taken);
    return made;
  }
  // Of a request, once it has one.
  AnswerKind answer(int64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return answers_.count(number) != 0; });
    EXPECT_THAT(answers_[number], SizeIs(1)) << number;
    return answers_[number][0];
  }
  // The first request runs until open().
  void occupy() {
    model_->closed = true;
    submit(0, -1);
    model_->waitForRuns(1);
  }
  int64_t count(AnswerKind kind) { return server_->counts().count(kind); }

  std::shared_ptr<FakeModel> model_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, std::vector<AnswerKind>> answers_;
  std::unique_ptr<Server> server_;  // last: its threads end before what they call
};

TEST_F(ServerTest, RequestsThatWaitTogetherRunTogether) {
  start({.batching = Batching::always, .maxBatch = 4});
  occupy();
  for (int64_t number = 1; number <= 6; ++number) submit(number, number == 2 ? 5 : 0);
  model_->open();
  ASSERT_TRUE(server_->shutDown(Shutdown::drain));
  EXPECT_THAT(model_->runs(),
              ElementsAre(ElementsAre(0), ElementsAre(1, 3, 4, 5), ElementsAre(2), ElementsAre(6)));
  const ServingCounts counts = server_->counts();
  EXPECT_EQ(counts.submitted, 7);
  EXPECT_EQ(counts.count(AnswerKind::results), 7);
  EXPECT_EQ(counts.runs, 4);
  EXPECT_EQ(counts.joinedRuns, 1);
  EXPECT_EQ(counts.ranRequests, 7);
  EXPECT_EQ(counts.longestQueue, 6);
  EXPECT_EQ(counts.queued + counts.running, 0);
  EXPECT_EQ(counts.latencies.count(), 7);
}

TEST_F(ServerTest, NoneIsJoinedWhereThePolicySaysSo) {
  start({.batching = Batching::never});
  occupy();
  for (int64_t number = 1; number <= 3; ++number) submit(number);
  model_->open();
  server_->shutDown(Shutdown::drain);
  EXPECT_EQ(model_->runs().size(), 4u);
}

TEST_F(ServerTest, AFullQueueRefusesAtOnce) {
  start({.maxQueue = 2});
  occupy();
  submit(1);
  submit(2);
  const RequestPointer more = request(3);
  EXPECT_EQ(server_->submit(more), Submission::queueFull);
  model_->open();
  server_->shutDown(Shutdown::drain);
  EXPECT_EQ(count(AnswerKind::queueFull), 1);
  EXPECT_EQ(answers_.count(3), 0u);
  EXPECT_EQ(answers_.size(), 3u);
}

TEST_F(ServerTest, CancelledWhileItWaits) {
  start();
  occupy();
  const RequestPointer first = submit(1);
  submit(2);
  EXPECT_TRUE(server_->cancel(first));
  EXPECT_EQ(answer(1), AnswerKind::cancelled);  // although nothing runs
  EXPECT_FALSE(server_->cancel(first));
  model_->open();
  EXPECT_EQ(answer(2), AnswerKind::results);
  EXPECT_EQ(model_->cancels(), 0);
}

TEST_F(ServerTest, CancelledInAJoinedRunTheOthersGoOn) {
  start({.batching = Batching::always});
  occupy();
  const RequestPointer first = submit(1);
  submit(2);
  model_->onRun = [&] {
    if (model_->runs().size() == 2) {
      EXPECT_TRUE(server_->cancel(first));
    }
  };
  model_->open();
  EXPECT_EQ(answer(1), AnswerKind::cancelled);
  EXPECT_EQ(answer(2), AnswerKind::results);
  EXPECT_EQ(model_->cancels(), 0);
  EXPECT_THAT(model_->runs(), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST_F(ServerTest, ARunEndsWhenAllOfItAreCancelled) {
  start({.batching = Batching::always});
  occupy();
  const RequestPointer first = submit(1), second = submit(2);
  model_->onRun = [&] {
    if (model_->runs().size() == 2) {
      EXPECT_TRUE(server_->cancel(first));
      EXPECT_EQ(model_->cancels(), 0);  // the second still wants it
      EXPECT_TRUE(server_->cancel(second));
    }
  };
  model_->open();
  EXPECT_EQ(answer(1), AnswerKind::cancelled);
  EXPECT_EQ(answer(2), AnswerKind::cancelled);
  EXPECT_EQ(model_->cancels(), 1);
  server_->shutDown(Shutdown::drain);
  EXPECT_EQ(count(AnswerKind::cancelled), 2);
}

TEST_F(ServerTest, PastItsDeadlineItDoesNotRun) {
  std::atomic<int64_t> now{1000};
  start({}, [&] { return now.load(); });
  const RequestPointer late = request(9);
  late->deadlineNs = 1000;
  EXPECT_EQ(server_->submit(late), Submission::expired);
  occupy();
  const RequestPointer first = request(1), second = request(2);
  first->deadlineNs = 2000;
  second->deadlineNs = 3000;
  EXPECT_EQ(server_->submit(first), Submission::taken);
  EXPECT_EQ(server_->submit(second), Submission::taken);
  now = 2000;
  model_->open();
  EXPECT_EQ(answer(1), AnswerKind::expired);
  EXPECT_EQ(answer(2), AnswerKind::results);
  server_->shutDown(Shutdown::drain);
  EXPECT_EQ(count(AnswerKind::expired), 2);
}

TEST_F(ServerTest, ByItsDeadlineItIsRefusedAtOnce) {
  const auto submission = [&](int64_t number, int64_t deadlineNs) {
    const RequestPointer made = request(number);
    made->deadlineNs = deadlineNs;
    const Submission taken = server_->submit(made);
    if (taken == Submission::infeasible) {
      EXPECT_EQ(made->call->answer.message,
                "it needs about 5 ms, at least 4 ms, and its deadline is in 3.9 ms");
    }
    return taken;
  };
  for (const Admission admission : {Admission::byDeadline, Admission::all}) {
    start({.admission = admission}, [] { return int64_t{1000}; });
    const bool refuses = admission == Admission::byDeadline;
    EXPECT_EQ(submission(1, 3'901'000), Submission::taken);  // nothing is known of its time
    EXPECT_EQ(answer(1), AnswerKind::results);
    model_->predicted = {5'000'000, 4'000'000};
    EXPECT_EQ(submission(2, 3'901'000), refuses ? Submission::infeasible : Submission::taken);
    EXPECT_EQ(submission(3, 4'001'000), Submission::taken);
    EXPECT_EQ(submission(4, INT64_MAX), Submission::taken);
    EXPECT_EQ(submission(5, 1000), Submission::expired);
    for (const int64_t number : {3, 4}) EXPECT_EQ(answer(number), AnswerKind::results);
    server_->shutDown(Shutdown::drain);
    EXPECT_EQ(count(AnswerKind::infeasible), refuses ? 1 : 0);
    EXPECT_EQ(count(AnswerKind::expired), 1);
    EXPECT_THAT(prometheusText(server_->counts()),
                HasSubstr(std::string("dyn_requests_total{answer=\"infeasible\"} ") + (refuses ? "1" : "0")));
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_.clear();
  }
}

TEST_F(ServerTest, WaitsForOthersAsLongAsItMay) {
  std::atomic<int64_t> now{0};
  start({.batching = Batching::always, .maxBatch = 3, .maxWaitNs = 1000}, [&] { return now.load(); });
  submit(1);
  submit(2);
  EXPECT_EQ(model_->runs().size(), 0u);
  submit(3);  // these are enough
  EXPECT_EQ(answer(3), AnswerKind::results);
  submit(4);
  now = 1001;
  server_->wake();
  EXPECT_EQ(answer(4), AnswerKind::results);
  submit(5);
  server_->shutDown(Shutdown::drain);  // nobody comes any more
  EXPECT_EQ(answer(5), AnswerKind::results);
  EXPECT_THAT(model_->runs(), ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4), ElementsAre(5)));
}

TEST_F(ServerTest, DrainsOrRefusesWhenItShutsDown) {
  for (const Shutdown how : {Shutdown::drain, Shutdown::refuse}) {
    answers_.clear();
    start({.maxBatch = 1});
    occupy();
    submit(1);
    submit(2);
    std::thread shutting([&] { server_->shutDown(how); });
    if (how == Shutdown::refuse) {
      EXPECT_EQ(answer(1), AnswerKind::shutDown);  // while the first still runs
      EXPECT_EQ(answer(2), AnswerKind::shutDown);
    }
    while (server_->submit(request(3)) == Submission::taken) {
    }
    model_->open();
    shutting.join();
    EXPECT_EQ(answer(0), AnswerKind::results);
    if (how == Shutdown::drain) {
      EXPECT_EQ(answer(1), AnswerKind::results);
      EXPECT_EQ(answer(2), AnswerKind::results);
    }
    EXPECT_EQ(server_->submit(request(4)), Submission::shutDown);
    EXPECT_TRUE(server_->shutDown(how));  // again: nothing
  }
}

TEST_F(ServerTest, CancelsWhatRunsWhenItMustEndNow) {
  start();
  occupy();
  submit(1);
  EXPECT_TRUE(server_->shutDown(Shutdown::cancel));  // although nobody opens the run
  EXPECT_GE(model_->cancels(), 1);
  EXPECT_EQ(answer(0), AnswerKind::cancelled);
  EXPECT_EQ(answer(1), AnswerKind::shutDown);
}

TEST_F(ServerTest, ACallbackMaySubmitAndMayNotShutDown) {
  start();
  const RequestPointer first = request(1);
  const auto usual = first->answered;
  first->answered = [&, usual](ServedRequest& answered) {
    EXPECT_FALSE(server_->shutDown(Shutdown::drain));
    submit(2);
    usual(answered);
  };
  EXPECT_EQ(server_->submit(first), Submission::taken);
  EXPECT_EQ(answer(1), AnswerKind::results);
  EXPECT_EQ(answer(2), AnswerKind::results);
}

TEST_F(ServerTest, RunsTakeNoMoreMemoryThanTheyMay) {
  start({.batching = Batching::always, .memoryLimitBytes = 1000, .workers = 4});
  model_->bytesPerCall = 300;
  std::atomic<int64_t> most{0};
  occupy();
  for (int64_t number = 1; number <= 20; ++number) submit(number, number % 2);
  model_->onRun = [&] { most = std::max(most.load(), server_->counts().reservedBytes); };
  model_->open();
  server_->shutDown(Shutdown::drain);
  for (int64_t number = 1; number <= 20; ++number) EXPECT_EQ(answer(number), AnswerKind::results);
  EXPECT_GT(most.load(), 0);
  EXPECT_LE(most.load(), 1000);
  for (const std::vector<int64_t>& run : model_->runs()) EXPECT_LE(run.size(), 3u);
  EXPECT_EQ(server_->counts().reservedBytes, 0);
}

TEST_F(ServerTest, ARequestThatNeedsMoreThanAllIsRefused) {
  start({.memoryLimitBytes = 1000});
  model_->bytesPerCall = 1001;
  submit(1);
  EXPECT_EQ(answer(1), AnswerKind::memoryRefused);
  model_->bytesPerCall = 1000;
  submit(2);
  EXPECT_EQ(answer(2), AnswerKind::results);
}

TEST_F(ServerTest, ARunOfUnknownMemoryHasAllOfIt) {
  start({.batching = Batching::never, .memoryLimitBytes = 1000, .workers = 3});
  model_->bytesPerCall = -1;
  std::atomic<int64_t> running{0}, most{0};
  model_->onRun = [&] {
    most = std::max(most.load(), ++running);
    std::this_thread::yield();
    --running;
  };
  for (int64_t number = 0; number < 50; ++number) submit(number);
  server_->shutDown(Shutdown::drain);
  EXPECT_EQ(most.load(), 1);
  EXPECT_EQ(count(AnswerKind::results), 50);
}

TEST_F(ServerTest, WithoutMemoryARequestFailsAndTheNextIsRight) {
  start({.maxBatch = 1});
  bool fails = true;
  const auto failing = [&] {
    if (fails) throw std::bad_alloc();
  };
  model_->onGather = failing;
  submit(1);
  EXPECT_EQ(answer(1), AnswerKind::failed);
  model_->onGather = nullptr;
  model_->onRun = failing;
  const RequestPointer second = submit(2);
  EXPECT_EQ(answer(2), AnswerKind::failed);
  EXPECT_EQ(second->call->answer.status, DYN_OUT_OF_MEMORY);
  fails = false;
  submit(3);
  EXPECT_EQ(answer(3), AnswerKind::results);
}

// Threads that send, cancel and look while the server is shut down under them.
TEST_F(ServerTest, EachOfManyRequestsHasOneAnswer) {
  constexpr int64_t kThreads = 6, kEach = 300;
  for (const Shutdown how : {Shutdown::drain, Shutdown::refuse}) {
    answers_.clear();
    start({.batching = Batching::always, .maxBatch = 5, .maxQueue = 40, .workers = 3});
    std::atomic<int64_t> taken{0}, refused{0};
    std::vector<std::thread> threads;
    for (int64_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        std::mt19937 random(static_cast<unsigned>(thread));
        for (int64_t i = 0; i < kEach; ++i) {
          const RequestPointer made = request(thread * kEach + i, static_cast<int64_t>(random() % 3));
          made->client = static_cast<uint64_t>(thread);
          made->priority = static_cast<int32_t>(random() % 2);
          if (random() % 4 == 0) made->deadlineNs = server_->nowNs() + 50'000;
          const bool was = server_->submit(made) == Submission::taken;
          ++(was ? taken : refused);
          if (was && random() % 3 == 0) server_->cancel(made);
          if (i == kEach / 2 && thread == 0) server_->shutDown(how);
          (void)server_->counts();
        }
      });
    for (std::thread& thread : threads) thread.join();
    server_->shutDown(how);
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(static_cast<int64_t>(answers_.size()), taken.load());
    for (const auto& [number, kinds] : answers_) EXPECT_THAT(kinds, SizeIs(1)) << number;
    const ServingCounts counts = server_->counts();
    EXPECT_EQ(taken + refused, kThreads * kEach);
    EXPECT_EQ(counts.submitted, kThreads * kEach);
    int64_t sum = 0;
    for (const int64_t kind : counts.answers) sum += kind;
    EXPECT_EQ(sum, counts.submitted);
    EXPECT_EQ(counts.queued + counts.running, 0);
  }
}

TEST_F(ServerTest, APolicyWithoutWorkersIsRefused) {
  for (const ServingPolicy& policy : {ServingPolicy{.maxBatch = 0}, ServingPolicy{.maxQueue = 0},
                                      ServingPolicy{.workers = 0}, ServingPolicy{.workers = 5000}})
    EXPECT_FALSE(Server::start(policy).ok());
}

TEST(ServingCounts, TextForPrometheus) {
  ServingCounts counts;
  counts.submitted = 5;
  ++counts.answers[static_cast<size_t>(AnswerKind::queueFull)];
  counts.addRun(1, 2'000'000);
  counts.addRun(3, 4'000'000);
  counts.latencies.add(5'000'000);
  const std::string text = prometheusText(counts);
  EXPECT_THAT(text, HasSubstr("# TYPE dyn_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("dyn_requests_total{answer=\"queue_full\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("dyn_batch_size_bucket{le=\"2\"} 1\n"
                              "dyn_batch_size_bucket{le=\"4\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("dyn_batch_size_bucket{le=\"+Inf\"} 2\ndyn_batch_size_sum 4\n"));
  EXPECT_THAT(text, HasSubstr("dyn_request_seconds{quantile=\"0.99\"} 0.005\n"));
  EXPECT_THAT(text, HasSubstr("dyn_run_seconds_sum 0.006\ndyn_run_seconds_count 2\n"));
}

}  // namespace
}  // namespace dyn
