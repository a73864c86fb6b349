// Runs and servers whose threads are shared: the same bits, and no threads of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/library/include/dyn.hpp"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

// Products, sums of rows and of columns: all that a run splits.
constexpr const char* kRows =
    R"(fn @main(%x: Tensor[(n, 96), f32], %w: Tensor[(96, 96), f32]) -> (Tensor[(n, 96), f32], Tensor[(96), f32]) {
  %h = matmul(%x, %w)
  %s = softmax(%h) {axis = 1}
  %y = matmul(add(%s, tanh(%h)), %w)
  %z = reduce_sum(%y, i64[1] [0]) {keepdims = 0}
  return %y, %z
}
)";
constexpr const char* kRowByRow = R"(fn @main(%x: Tensor[(b, 4096), f32]) -> (Tensor[(b, 4096), f32]) {
  %y = tanh(mul(%x, %x))
  return %y
}
)";

std::vector<float> numbers(size_t count, size_t seed) {
  std::vector<float> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = std::sin(static_cast<float>(i * 7 + seed * 31));
  return data;
}

std::string bytesOf(const dynapi::Value& value) {
  return {value.data<char>(), dyn_value_size_bytes(value.get())};
}

class ThreadPoolTest : public testing::Test {
 protected:
  std::unique_ptr<dynapi::Model> open(const std::string& text) {
    return std::make_unique<dynapi::Model>(folder_.write("m.dyn", text),
                                           dynapi::Options{{"cache-dir", "none"}, {"threads", "4"}});
  }
  test::TemporaryFolder folder_;
};

std::string run(const dynapi::Module& module, const dyn_options& options, int64_t rows) {
  dynapi::Context context(module, options);
  const std::vector<float> x = numbers(static_cast<size_t>(rows) * 96, 1), w = numbers(96 * 96, 2);
  context.set("x", dynapi::Value::tensor(context, DYN_F32, {rows, 96}, x.data()));
  context.set("w", dynapi::Value::tensor(context, DYN_F32, {96, 96}, w.data()));
  std::string bytes;
  for (int iteration = 0; iteration < 5; ++iteration) {
    context.run();
    bytes = bytesOf(context.output(0)) + bytesOf(context.output(1));
  }
  return bytes;
}

TEST_F(ThreadPoolTest, SharedThreadsGiveTheSameBits) {
  std::unique_ptr<dynapi::Module> module;
  try {
    module = std::make_unique<dynapi::Module>(open(kRows)->compile());
  } catch (const dynapi::Failure& failure) {  // without code generation there is nothing that runs
    ASSERT_EQ(failure.status(), DYN_UNSUPPORTED) << failure.what();
    GTEST_SKIP() << failure.what();
  }
  std::vector<std::string> wanted;  // by caller: with threads of its own
  const auto rowsOf = [](size_t caller) { return static_cast<int64_t>(37 + 150 * caller); };
  for (size_t caller = 0; caller < 8; ++caller) {
    dyn_options options{};
    options.thread_count = 1;
    wanted.push_back(run(*module, options, rowsOf(caller)));
    options.thread_count = 4;
    ASSERT_TRUE(run(*module, options, rowsOf(caller)) == wanted[caller]) << caller;
  }
  dynapi::ThreadPool pool(4);
  EXPECT_EQ(pool.threadCount(), 4);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (size_t caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      dyn_options options{};
      options.thread_pool = pool.get();
      for (int32_t threads : {0, 3}) {
        options.thread_count = threads;
        wrong += run(*module, options, rowsOf(caller)) != wanted[caller];
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadPoolTest, AServerOfManyWorkersKeepsThePool) {
  auto pool = std::make_unique<dynapi::ThreadPool>(3);
  dyn_server_policy policy{};
  policy.worker_count = 4;
  policy.thread_pool = pool->get();
  dynapi::Server server(policy);
  pool.reset();
  int32_t model = -1;
  try {
    model = server.add(*open(kRowByRow));
  } catch (const dynapi::Failure& failure) {
    ASSERT_EQ(failure.status(), DYN_UNSUPPORTED) << failure.what();
    GTEST_SKIP() << failure.what();
  }
  std::vector<dynapi::Request> requests;
  for (size_t i = 0; i < 24; ++i) {
    const std::vector<float> x = numbers(8 * 4096, i);
    std::vector<dynapi::Value> inputs;
    inputs.push_back(server.tensor(model, DYN_F32, {8, 4096}, x.data()));
    requests.push_back(server.submit(model, inputs));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::vector<float> x = numbers(8 * 4096, i);
    const dynapi::Value output = requests[i].output(0);
    for (size_t at = 0; at < x.size(); at += 997)
      EXPECT_NEAR(output.data<float>()[at], std::tanh(x[at] * x[at]), 1e-5) << i << " " << at;
  }
}

}  // namespace
}  // namespace dyn
