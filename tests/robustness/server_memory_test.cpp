// A server whose memory gives out: allocation number k fails, on the thread that sends or on the one that
// runs, for every k until all succeed. Each request that is taken has one answer, right or an error; nothing
// is lost, and the next one is right.
#include <gtest/gtest.h>

#include <condition_variable>
#include <new>

#include "app/engine/model/loaded_model.h"
#include "app/engine/serving/served_program.h"
#include "app/engine/serving/server.h"
#include "tests/robustness/allocation_hook.h"

namespace dyn::robustness {
namespace {

constexpr const char* kRows = R"(fn @main(%x: Tensor[(n, 4), f32]) {
  %r = relu(%x)
  %y = softmax(%r) {axis = 1}
  return %y
})";

class ServerMemory : public testing::Test {
 protected:
  // False: no code generation.
  bool start(size_t most) {
    Result<std::unique_ptr<LoadedModel>> loaded =
        LoadedModel::fromText(kRows, "m.dyn", EngineOptions{.threadCount = 1}, nullptr);
    EXPECT_TRUE(loaded.ok());
    Result<VmModule> module = (*loaded)->newProgram();
    if (!module.ok()) return false;
    const ServingPolicy policy{.batching = Batching::always, .maxBatch = most};
    const std::shared_ptr<dyn_module> owned(module->release(), dyn_module_release);
    Result<std::shared_ptr<ServedProgram>> program =
        ServedProgram::of(**loaded, owned, EngineOptions{.threadCount = 1}, policy, {});
    EXPECT_TRUE(program.ok()) << program.error().message;
    program_ = *program;
    Result<std::unique_ptr<Server>> server = Server::start(policy);
    EXPECT_TRUE(server.ok());
    server_ = std::move(*server);
    EXPECT_TRUE(server_->add(program_).ok());
    const int64_t shape[] = {2, 4};
    const float data[] = {1, 2, 3, 4, -1, 0, 1, 0};
    Result<VmValue> value = program_->withContext([&](dyn_context* context) -> Result<VmValue> {
      dyn_value* made = nullptr;
      EXPECT_EQ(dyn_value_tensor(context, DYN_F32, 2, shape, data, sizeof data, &made), DYN_OK);
      return VmValue(made);
    });
    inputs_.push_back(std::move(*value));
    return true;
  }
  void stop() {
    server_.reset();
    program_.reset();
    inputs_.clear();
  }

  RequestPointer request(std::function<void(const ServedAnswer&)> more = nullptr) {
    auto made = std::make_shared<ServedRequest>();
    made->call = server_->call(0, shared(inputs_));
    made->answered = [this, more = std::move(more)](const ServedRequest& answered) {
      if (more) more(answered.call->answer);
      const std::lock_guard<std::mutex> lock(mutex_);
      ++answered_;
      changed_.notify_all();
    };
    return made;
  }
  void waitFor(int64_t answers) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return answered_ >= answers; });
    EXPECT_EQ(answered_, answers);
  }

  std::vector<VmValue> inputs_;
  std::shared_ptr<ServedProgram> program_;
  std::unique_ptr<Server> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t answered_ = 0;
};

TEST_F(ServerMemory, WhoSendsSeesItAndMayTryAgain) {
  if (!start(4)) GTEST_SKIP() << "no code generation";
  int64_t sent = 0, failures = 0;
  for (int64_t k = 0;; ++k) {
    bool taken = false;
    failAllocation(k, Failing::once);
    try {
      taken = server_->submit(request()) == Submission::taken;
    } catch (const std::bad_alloc&) {
    }
    const bool failed = stopFailing();
    EXPECT_EQ(taken, !failed);
    if (taken) ++sent;
    waitFor(sent);
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 5);
  EXPECT_EQ(server_->counts().count(AnswerKind::results), sent);
}

TEST_F(ServerMemory, RequestsThatRunFailOrAreRight) {
  for (int round = 0; round < 2; ++round) {
    const int64_t live = liveAllocations();
    if (!start(3)) GTEST_SKIP() << "no code generation";
    answered_ = 0;
    int64_t sent = 0, failures = 0;
    for (int64_t k = 0; k < 2000; ++k) {
      // The worker's thread waits in the first answer until the others are in the queue.
      std::atomic<bool> waits{false}, queued{false}, failed{false};
      std::atomic<int64_t> outstanding{3};
      server_->submit(request([&](const ServedAnswer&) {
        waits = true;
        while (!queued) std::this_thread::yield();
        failAllocation(k, Failing::once);
      }));
      while (!waits) std::this_thread::yield();
      for (int i = 0; i < 3; ++i)
        server_->submit(request([&](const ServedAnswer& answer) {
          if (--outstanding == 0) failed = stopFailing();
          if (answer.kind == AnswerKind::results) {
            EXPECT_FLOAT_EQ(static_cast<const float*>(dyn_value_data(answer.outputs.at(0).get()))[7],
                            0.17487773F);
          } else {
            EXPECT_EQ(answer.status, DYN_OUT_OF_MEMORY);
          }
        }));
      queued = true;
      sent += 4;
      waitFor(sent);
      if (!failed) break;
      ++failures;
    }
    EXPECT_GT(failures, 20);
    server_->submit(request([](const ServedAnswer& answer) { EXPECT_EQ(answer.kind, AnswerKind::results); }));
    waitFor(sent + 1);
    stop();
    if (round > 0) {
      EXPECT_EQ(liveAllocations(), live);  // what is made once is made in the first round
    }
  }
}

}  // namespace
}  // namespace dyn::robustness
