// The C API of threads that contexts share.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/unit/vm/vm_harness.h"
#include "vm/include/dyn_cores.h"

namespace dyn::vm::test {
namespace {

using dyn::test::ThreadPoolHandle;
using testing::HasSubstr;

const std::string kFill =
    std::string(kKernelRows) +
    "function f results 1\n const r0 100003\n const r1 42\n newtensor v0 i64 0 [r0]\n "
    "launch k1 r0 r0 [v0] [r1]\n ret [v0]\n"
    "function endless results 1\n const r0 1003\n const r1 1\n newtensor v0 i64 0 [r0]\n"
    "again: launch k1 r0 r0 [v0] [r1]\n jump again\n";

ThreadPoolHandle makePool(int32_t threadCount) {
  dyn_thread_pool* pool = nullptr;
  EXPECT_EQ(dyn_thread_pool_create(threadCount, &pool), DYN_OK) << dyn_last_message();
  return ThreadPoolHandle(pool);
}

std::ptrdiff_t threadsOfProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

bool isFilled(Machine& m) {
  const std::vector<int64_t> data = dataOf<int64_t>(m.output());
  return data.size() == 100003 && std::all_of(data.begin(), data.end(), [](int64_t x) { return x == 42; });
}

TEST(ThreadPools, EightContextsAtOnceOnAPoolOfFour) {
  ThreadPoolHandle pool = makePool(4);
  EXPECT_EQ(dyn_thread_pool_thread_count(pool.get()), 4);
  dyn_options options = {};
  options.thread_pool = pool.get();
  std::vector<std::unique_ptr<Machine>> machines;
  for (int32_t i = 0; i < 8; ++i) {
    options.thread_count = i;  // 0: that of the pool; 7: more than it has
    machines.push_back(std::make_unique<Machine>(kFill, options));
  }
  const std::ptrdiff_t before = threadsOfProcess();
  pool.reset();  // the contexts keep it
  std::atomic<uint32_t> wrong{0}, ready{0};
  std::atomic<std::ptrdiff_t> most{0};
  std::vector<std::thread> callers;
  for (const std::unique_ptr<Machine>& m : machines)
    callers.emplace_back([&] {
      for (int run = 0; run < 20; ++run) {
        wrong += m->call("f") != DYN_OK;
        wrong += !isFilled(*m);
      }
      ready.fetch_add(1);
      while (ready < 8) std::this_thread::yield();  // all callers are there while threads are counted
      std::ptrdiff_t now = threadsOfProcess(), seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      ready.fetch_add(1);
      while (ready < 16) std::this_thread::yield();
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_LE(most, before + 8 + 3);
  EXPECT_GE(most, 1 + 8 + 3);  // they were needed
}

TEST(ThreadPools, CancellingARunLeavesOthersAlone) {
  const ThreadPoolHandle pool = makePool(3);
  dyn_options options = {};
  options.thread_pool = pool.get();
  Machine endless(kFill, options), other(kFill, options);
  std::atomic<bool> finished{false};
  std::thread caller([&] {
    EXPECT_EQ(endless.call("endless"), DYN_CANCELLED) << endless.message;
    finished = true;
  });
  for (int run = 0; run < 20; ++run) {
    EXPECT_EQ(other.call("f"), DYN_OK) << other.message;
    EXPECT_TRUE(isFilled(other));
  }
  while (!finished) {
    dyn_context_cancel(endless.context());
    std::this_thread::yield();
  }
  caller.join();
  EXPECT_EQ(other.call("f"), DYN_OK) << other.message;
}

TEST(ThreadPools, APoolIsCountedByReferences) {
  dyn_thread_pool* pool = makePool(2).release();
  dyn_thread_pool_retain(pool);
  dyn_thread_pool_release(pool);
  EXPECT_EQ(dyn_thread_pool_thread_count(pool), 2);
  dyn_thread_pool_release(pool);
  dyn_thread_pool_retain(nullptr);
  dyn_thread_pool_release(nullptr);
  EXPECT_EQ(dyn_thread_pool_thread_count(nullptr), 0);
}

TEST(ThreadPools, ArgumentsAreChecked) {
  dyn_thread_pool* pool = nullptr;
  EXPECT_EQ(dyn_thread_pool_create(2, nullptr), DYN_INVALID_ARGUMENT);
  for (const int32_t count : {0, -1, 1025}) {
    EXPECT_EQ(dyn_thread_pool_create(count, &pool), DYN_INVALID_ARGUMENT);
    EXPECT_EQ(pool, nullptr);
    EXPECT_THAT(dyn_last_message(), HasSubstr("1 to 1024"));
  }
  const ThreadPoolHandle two = makePool(2), one = makePool(1);
  Machine m(kFill);
  alignas(64) static std::byte memory[4096];
  dyn_options options = {};
  options.thread_pool = two.get();
  options.memory = memory;
  options.memory_bytes = sizeof memory;
  dyn_context* context = nullptr;
  EXPECT_EQ(dyn_context_create(m.module(), &options, &context), DYN_UNSUPPORTED);
  options.thread_pool = one.get();  // nobody but the caller
  EXPECT_EQ(dyn_context_create(m.module(), &options, &context), DYN_OK) << dyn_last_message();
  dyn_context_release(context);
}

TEST(ThreadPools, SimulatedThreadsUseNone) {
  const ThreadPoolHandle pool = makePool(16);
  dyn_options options = {};
  options.thread_pool = pool.get();
  Machine m(kFill, options);
  const std::ptrdiff_t before = threadsOfProcess();
  ASSERT_EQ(dyn_context_simulate_threads(m.context(), 1), DYN_OK) << dyn_last_message();
  ASSERT_EQ(m.call("f"), DYN_OK) << m.message;
  EXPECT_TRUE(isFilled(m));
  EXPECT_LE(threadsOfProcess(), before);
}

}  // namespace
}  // namespace dyn::vm::test
